"""``tacit estimate``: what a recipient reads from a file and its certificate."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time

import pytest

from tacit.study.reports.receipts import PAPER_FORMAT
from tests.cli.clinic import done, refused


def shares(answer: dict[str, object]) -> dict[str, dict[str, float]]:
    levels = answer["levels"]
    assert isinstance(levels, list)
    return {level["level"]: level for level in levels}


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_estimates_find_the_truth(coins: Path, name: str) -> None:
    done("release", coins, "lab", "side", "--out", name)
    sure = ["--confidence", 1 - 1e-9]  # the key, and so the noise, is another one every time
    heads = shares(done("estimate", name, *sure, "--json").json)["heads"]
    assert heads["low"] < 0.3 < heads["high"]
    assert heads["high"] - heads["low"] < 0.2
    said = done("estimate", name, "--confidence", 0.5).out.splitlines()
    assert said[0] == "side: 20,000 records, 50 % intervals"
    assert said[-1].startswith("note: analysable: the same law holds in every subgroup")


def test_levels_that_are_told_only_together(used: Path) -> None:
    """A release of few bits leaves letters out: then there are bounds, and sums that are told."""
    done("release", used, "lab-a", "diagnosis", "--bits", 0.01, "--out", "a.csv")
    found = done("estimate", "a.csv", "--json").json
    unknown = [level for level in found["levels"] if level["share"] is None]
    assert unknown
    [contrast, *_] = found["contrasts"]
    assert set(contrast["weights"]) <= {level["level"] for level in found["levels"]}
    assert 0 <= contrast["low"] <= contrast["high"] <= 1
    said = done("estimate", "a.csv").out
    assert f" = {contrast['value']:.4f} ({contrast['low']:.4f} to {contrast['high']:.4f})" in said
    assert "told together, as sums of shares:" in said
    assert "note: some levels are told only together with others" in said
    for level in found["levels"]:
        assert 0 <= level["low"] <= level["high"] <= 1


def test_files_that_cannot_be_estimated_from(coins: Path) -> None:
    done("release", coins, "lab", "side", "--out", "r.csv")
    assert "there is no file none.csv" in refused(4, "estimate", "none.csv")
    Path("lonely.csv").write_bytes(Path("r.csv").read_bytes())
    assert "lonely.csv.certificate.json is not beside lonely.csv" in refused(
        4, "estimate", "lonely.csv"
    )
    for confidence in (0, 1, -1, "nan"):
        assert "confidence" in refused(4, "estimate", "r.csv", "--confidence", confidence)
    certificate = Path("r.csv.certificate.json")
    stored = json.loads(certificate.read_text())
    for damage in (
        "{",
        "\0\xff",
        json.dumps(stored | {"digest_key": "xyz"}),
        json.dumps(stored | {"p_rhat_given_r": [[1.0]]}),
    ):
        certificate.write_text(damage)
        assert "is no certificate of this version of tacit" in refused(4, "estimate", "r.csv")
    certificate.write_text(json.dumps(stored))
    Path("r.csv").write_text("record,rhat\n1,edge\n")
    assert "r.csv has the entry 'edge'" in refused(4, "estimate", "r.csv")
    Path("r.csv").write_text("a,b\n1,2\n")
    assert "r.csv has the columns a, b" in refused(4, "estimate", "r.csv")


def test_a_file_that_was_changed_is_not_estimated_from(coins: Path) -> None:
    done("release", coins, "lab", "side", "--out", "r.csv")
    text = Path("r.csv").read_text()
    Path("r.csv").write_text(text.replace("heads", "tails", 1))
    said = refused(4, "estimate", "r.csv")
    assert "r.csv is not the file that the certificate was made for: do not rely on it" in said


def test_a_hostile_certificate_is_refused_at_once(coins: Path) -> None:
    """20,000 labels never ended."""
    done("release", coins, "lab", "side", "--out", "r.csv")
    certificate = Path("r.csv.certificate.json")
    stored = json.loads(certificate.read_text())
    labels = [str(n) for n in range(20_000)]
    law = stored["p_rhat_given_r"][0]
    start = process_time()
    certificate.write_text(
        json.dumps(stored | {"labels": labels, "p_rhat_given_r": [law] * 20_000})
    )
    assert "has 20,000 levels and 2 letters, too many" in refused(4, "estimate", "r.csv")
    for change in (
        {"p_rhat_given_r": [[0.5, 0.6], [0.5, 0.5]]},
        {"p_rhat_given_r": [[1.5, -0.5], [0.5, 0.5]]},
        {"p_rhat_given_r": [["NaN", 1], [0.5, 0.5]]},
        {"p_rhat_given_r": [[1e308, 1e308], [0.5, 0.5]]},
        {"p_rhat_given_r": [], "labels": []},
        {"letters": [], "p_rhat_given_r": [[], []]},
    ):
        certificate.write_text(json.dumps(stored | change))
        assert "is no certificate of this version of tacit" in refused(4, "estimate", "r.csv")
    certificate.write_text(json.dumps(stored | {"format": PAPER_FORMAT + 1}))
    assert f"reads {PAPER_FORMAT} only" in refused(4, "estimate", "r.csv")
    assert process_time() - start < 20
