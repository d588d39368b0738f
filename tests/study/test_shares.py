"""Releases of a study that are judged by the variance of the shares estimated from them."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import CapError, InfeasibleError, InvalidInputError
from tacit.problem import Problem
from tacit.remark import Remark
from tacit.solvers import solve
from tacit.study import Study
from tests.redteam.replay import replay
from tests.study.clinic import entries_of, make_clinic
from tests.study.filled_clinic import assert_found
from tests.study.forging import forge_last

ASKED = {"utility": "shares", "analysable": True}
NORMAL_95 = 1.959964


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = make_clinic(tmp_path)
    made.set_limit("a", 0.3)
    made.set_limit("b", 0.3, times=2)
    return made


def test_a_release_is_what_the_engine_designs(study: Study, tmp_path: Path) -> None:
    quote = study.quote("a", "age", **ASKED)
    certificate = study.release("a", "age", out=tmp_path / "a.csv", **ASKED)
    receipt = study.receipt(certificate.entry)
    assert (receipt.value, receipt.blind, receipt.bound) == (quote.value, None, None)
    first, *_, intent = entries_of(tmp_path / "clinic")[:-1]
    level_of_cell = intent.body["question"]["letter_of_cell"]
    counts = np.bincount(level_of_cell, weights=first.body["counts"])
    law = np.diag(counts / counts.sum())
    best = solve(Problem(law, utility="shares", individual=0.3, analysable=True))
    assert receipt.value == pytest.approx(best.value, rel=1e-4)  # the reserve and rounding
    fair = solve(Problem(law, objective="worst-level", individual=0.3, analysable=True))
    inverse = np.linalg.inv(fair.p_rhat_given_r)
    q = law.sum(axis=0) @ fair.p_rhat_given_r
    others = np.einsum("ar,a,ar->r", inverse, q, inverse) - law.sum(axis=0)
    assert best.value < others.max()
    assert certificate.is_analysable
    assert f"{sqrt(receipt.value):.3g} / sqrt(n)" in receipt.in_words


def test_a_quote_says_how_wide_an_interval_is(study: Study) -> None:
    quote = study.quote("a", "age", **ASKED)
    [variant] = quote.variants
    assert variant.half_width == pytest.approx(NORMAL_95 * sqrt(quote.value / 200), rel=1e-6)


def test_the_same_letters_for_another_party_are_free(study: Study, tmp_path: Path) -> None:
    study.set_limit("c", 0.3)
    study.set_limit("everyone", 0.9)
    first = study.release("a", "age", out=tmp_path / "a.csv", **ASKED)
    together = next(
        each for each in study.quote("c", "age", **ASKED).coalitions if len(each.parties) == 2
    )
    assert together.added == 0
    again = study.release("c", "age", out=tmp_path / "c.csv", **ASKED)
    assert again.is_analysable
    assert again.p_rhat_given_r == first.p_rhat_given_r
    assert study.verify().problems == ()


def test_shares_of_what_was_told_with_another_utility(study: Study, tmp_path: Path) -> None:
    study.release("a", "age", out=tmp_path / "a.csv")
    study.set_limit("c", 0.3)
    assert study.release("c", "age", out=tmp_path / "c.csv", **ASKED).is_analysable
    assert study.verify().problems == ()


def test_a_study_with_such_releases_is_whole(study: Study, tmp_path: Path) -> None:
    study.set_limit("c", 0.3, times=2**1.5)  # the first answer leaves nothing of the cap of b
    numbers = [
        study.release(party, asked, out=tmp_path / f"{party}.csv", bits=0.1, **ASKED).entry
        for party, asked in (("a", "age"), ("b", "age"), ("c", "diagnosis"))
    ]
    found = study.verify()
    assert found.problems == ()
    assert found.proved_gaps == {}
    unproved = [note for note in found.notes if note.code == "judged_by_shares"]
    assert unproved == [Remark("judged_by_shares", {"release": number}) for number in numbers]
    (tmp_path / "receipt.html").write_text(study.receipt(numbers[0]).as_html(), encoding="utf-8")
    assert study.verify(tmp_path / "receipt.html").is_whole
    assert replay(tmp_path / "clinic").faults == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"value": 0.1}, "its answers are worth"),
        ({"blind": 1.0}, "a blind guess is worth None, not 1.0"),
        ({"bound": 0.1}, "no proof of that is known"),
    ],
)
def test_a_forged_worth_is_found(
    study: Study, tmp_path: Path, changed: dict[str, float], said: str
) -> None:
    study.release("a", "age", out=tmp_path / "a.csv", **ASKED)
    study.close()
    forge_last(tmp_path / "clinic", "intent", lambda body: body.update(changed))
    with Study.open(tmp_path / "clinic") as forged:
        assert_found(forged.verify(), said)


def test_what_makes_no_sense_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="ask for an analysable release"):
        study.quote("a", "age", utility="shares")
    with pytest.raises(InvalidInputError, match="shares has no error at each level"):
        study.quote("a", "age", objective="worst-level", **ASKED)
    with pytest.raises(InvalidInputError, match="shares has no mean error"):
        study.release("a", "age", max_error=0.1, out=tmp_path / "a.csv", **ASKED)
    with pytest.raises(InfeasibleError, match="no share with a 95 % interval narrower"):
        study.release("a", "age", bits=2e-6, out=tmp_path / "a.csv", **ASKED)


def test_shares_that_tell_nothing_are_refused(study: Study, tmp_path: Path) -> None:
    """A cap that is used up leaves an estimate that is wider than from 0 to 1."""
    study.set_limit("everyone", times=2**0.6)
    study.release("b", "diagnosis", out=tmp_path / "a.csv")
    before = study.status().head
    said = "b no share with a 95 % interval narrower than from 0 to 1"
    with pytest.raises(CapError, match=said):
        study.quote("b", "age", **ASKED)
    with pytest.raises(CapError, match=said):
        study.release("b", "age", out=tmp_path / "b.csv", **ASKED)
    assert study.status().head == before


def test_few_bits_buy_no_shares(study: Study) -> None:
    with pytest.raises(InfeasibleError, match="narrower than from 0 to 1, as if nothing was told"):
        study.quote("a", "age", bits=1e-4, **ASKED)
    assert study.quote("a", "age", bits=0.05, **ASKED).variants[0].half_width < 0.5
