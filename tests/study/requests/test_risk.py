"""What a party could tell after a release, before it is recorded: the same as the audit later."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import pytest

from tacit.study import Risk, Study
from tacit.study.disclosures import list_variables
from tacit.study.requests.risk import tell_risks
from tests.cli.clinic import write_patients

ROUNDING = 1e-9
"""Sums of some hundred doubles."""


def test_a_quote_tells_what_the_release_and_the_audit_tell_later(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv", 2_000)
    with Study.create(
        tmp_path / "study", table, id="patient_id", private=["diagnosis", "income"], ledger="folder"
    ) as study:
        study.set_limit("any 2", 0.35)
        for party in ("a", "b"):
            study.set_limit(party, 0.5)
        study.release("a", "diagnosis", bits=0.2, out=tmp_path / "a.csv")
        study.release("b", "income", bits=0.05, out=tmp_path / "b1.csv")
        quoted = study.quote("b", sql="income = 'high'", bits=0.05).risks
        study.release("b", sql="income = 'high'", bits=0.05, out=tmp_path / "b2.csv")
        released = tell_risks(study._journal.refresh())
        audited = study.audit(records=100)
    assert [risk.parties for risk in quoted] == [("b",), ("a", "b")]
    assert [risk.name for risk in quoted] == ["b", "a + b"]
    for early, late in zip(quoted, released, strict=True):
        assert_same_risk(early, late)
        for told, found in zip(early.told, audited.of(early.parties).told, strict=True):
            exposure = found.exposure
            assert (told.about, told.is_exact) == (found.about, exposure.is_exact)
            assert told.guess_before == pytest.approx(exposure.guess_before, abs=ROUNDING)
            assert told.guess_after == pytest.approx(exposure.guess_after, abs=ROUNDING)
            assert told.times_as_likely == pytest.approx(found.times_as_likely, abs=ROUNDING)
    assert "income = 'high'" in [told.about for told in quoted[0].told]


def assert_same_risk(one: Risk, other: Risk) -> None:
    assert (one.parties, one.records) == (other.parties, other.records)
    for early, late in zip(one.told, other.told, strict=True):
        assert early.about == late.about
        assert early.guess_after == pytest.approx(late.guess_after, abs=ROUNDING)
        assert early.times_as_likely == pytest.approx(late.times_as_likely, abs=ROUNDING)


def test_risks_that_differ_are_told_apart(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv", 600)
    with Study.create(
        tmp_path / "study", table, id="patient_id", private=["income"], ledger="folder"
    ) as study:
        study.set_limit("a", 0.5)
        [one] = study.quote("a", "income", bits=0.2).risks
        [other] = study.quote("a", "income", bits=0.3).risks
    with pytest.raises(AssertionError):
        assert_same_risk(one, other)


def test_the_risk_of_an_exact_answer_is_said_in_lines(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv", 2_000)
    with Study.create(
        tmp_path / "study", table, id="patient_id", private=["income"], ledger="folder"
    ) as study:
        study.set_limit("a", 3)
        [risk] = study.quote("a", sql="income = 'high'").risks
        books = study._journal.refresh()
    counts = books.counts
    [income] = books.created.attributes
    high = int(counts[income.labels.index("high")])
    guess = 100 * (high + max(set(counts.tolist()) - {high})) / 2_000
    chance = f"chance to guess income right: {100 * counts.max() / 2_000:.2f} -> {guess:.2f} of 100"
    assert risk.in_words.startswith(f"{chance}; whole combination: ")
    assert f"worst single answer: {ceil(200_000 / high) / 100:.2f} times as likely" in risk.in_words
    [other] = risk.others_in_words
    assert other == (
        f"income = 'high': {100 * max(high, 2_000 - high) / 2_000:.2f} -> 100.00 of 100; worst "
        f"answer {ceil(200_000 / high) / 100:.2f} times"
    )


def test_every_column_that_was_asked_is_a_variable(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv", 600)
    with Study.create(
        tmp_path / "study", table, id="patient_id", private=["income", "age"], ledger="folder"
    ) as study:
        names = [each.name for each in list_variables(study._journal.refresh())]
    assert names == ["income", "age"]
