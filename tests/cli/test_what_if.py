"""``tacit what-if`` and ``tacit audit --parties`` print what the study finds."""

from __future__ import annotations

from pathlib import Path

from tacit.study import Study
from tests.cli.clinic import done, unchanged


def test_other_limits_are_tried_and_not_set(used: Path) -> None:
    with Study.open(used) as study:
        before, head = study.limits(), study.status().head
        found = study.trace_surface("lab-a", ["diagnosis"], limit=0.35, everyone=0.8)
    told = done("what-if", used, "lab-a", "diagnosis", "--limit", "0.35", "--everyone", "0.8")
    asked = ("what-if", used, "lab-a", "diagnosis", "--limit", "0.35", "--everyone", "0.8")
    assert done(*asked, "--json").json == found.as_dict() | {
        "individual": list(found.individual),
        "collusion": list(found.collusion),
        "values": [list(row) for row in found.values],
    }
    assert "with 0.35 bits for lab-a and 0.8 for everyone" in told.out
    assert found.alone is not None
    assert f"{found.alone:.4f}" in told.out
    with Study.open(used) as study:
        assert (study.limits(), study.status().head) == (before, head)


def test_limits_that_leave_nothing(used: Path) -> None:
    said = done("what-if", used, "lab-a", "diagnosis", "--limit", "0.000001").out
    assert "these limits leave nothing" in said


def test_what_parties_would_know_together(used: Path) -> None:
    with Study.open(used) as study:
        holders = [each.name for each in study.status().parties if each.held > 0]
        found = study.risk(holders)
    answer = done("audit", used, "--parties", ",".join(holders))
    for each in found.told:
        assert f"\n{each.about} " in answer.out
    assert done("audit", used, "--parties", ",".join(holders), "--json").json == found.as_dict()
    assert "is unknown" in unchanged(4, "audit", used, "--parties", "nobody")


def test_the_table_of_a_coalition_says_the_figures_of_the_line_above_it(used: Path) -> None:
    lines = done("audit", used, "--parties", "lab-a").out.splitlines()
    said = " ".join(line.strip() for line in lines)
    [whole] = [line.split() for line in lines if line.startswith("all levels together")]
    assert f"whole combination: {whole[3]} -> {whole[4]} of 100" in said
