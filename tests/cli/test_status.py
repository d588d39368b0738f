"""``tacit status``: what is held, of which limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import done, unchanged


def test_nothing_shown_promises_too_much(used: Path) -> None:
    """What is held is shown rounded up, what is left rounded down."""
    status = done("status", used, "--json").json
    lines = done("status", used).out.splitlines()[2:]
    for each, line in zip(status["parties"] + status["coalitions"], lines, strict=True):
        shown = line.removeprefix(each["name"]).split()
        assert float(shown[1]) >= each["held"] > float(shown[1]) - 1.001e-4
        assert float(shown[2]) == each["limit"]
        assert float(shown[3]) <= each["left"] < float(shown[3]) + 1.001e-4


def test_status_names_a_disclosure_first(coins: Path) -> None:
    done("limit", coins, "lab", "--bits", 1)
    done("release", coins, "lab", "side", "--bits", 0.1, "--out", "a.csv")
    assert done("status", coins, "--json").json["disclosures"] == []
    again = ["release", coins, "lab", "side", "--out", "b.csv", "--again"]
    said = "lab would name 6,000 of the 6,000 with side = heads, 100 % sure"
    assert said in unchanged(3, *again)
    assert done(*again, "--accept", "disclosure").out.startswith(
        f"! {said}".replace("would", "can")
    )
    assert done("status", coins).out.splitlines()[1] == f"! {said}".replace("would", "can")
    [disclosed] = done("status", coins, "--json").json["disclosures"]
    assert disclosed == {
        "column": "side",
        "level": "heads",
        "people": pytest.approx(6_000),
        "of": 6_000,
        "sure": pytest.approx(1),
        "whom": ["lab"],
        "cohort": None,
    }
    receipt = done("receipt", coins, 6).out  # the worst answer, rounded as in the status
    assert receipt.splitlines()[1] == f"  ! {said}".replace("would", "can")
    assert "3.34 times as likely" in " ".join(receipt.split())
    assert "3.34x" in done("status", coins).out


def test_status_and_party_say_which_limit_holds(fresh: Path) -> None:
    done("limit", fresh, "any 2", "--bits", 0.25)
    done("limit", fresh, "lab-a+lab-b", "--bits", 0.2)
    remark = (
        "the limit on lab-a + lab-b, 0.2 bits, is below the own limit of {} and holds for {}, too"
    )
    said = done("limit", fresh, "lab-a", "--bits", "0.5").out
    assert f"note: {remark.format('lab-a', 'lab-a')}" in said.splitlines()
    said = done("status", fresh).out
    assert f"note: {remark.format('lab-a, lab-b', 'each of them')}" in said.splitlines()
    parties = done("status", fresh, "--json").json["parties"]
    assert [(each["limit"], each["limited_by"]) for each in parties] == [(0.2, "lab-a + lab-b")] * 2
