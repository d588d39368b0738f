"""What a party could tell after a release, before it is recorded: the same as the audit later."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import pytest

from tacit.auditing.text import risk_in_words
from tacit.policy import Policy
from tacit.study import Study
from tacit.study.books.records import Measure
from tacit.study.requests.draft import draft
from tacit.study.requests.risk import infer_after
from tests.cli.clinic import write_patients

HAMMING = Measure.of_utility("hamming")


def test_a_draft_tells_what_the_audit_will_tell(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv", 2_000)
    private = ["diagnosis", "income"]
    with Study.create(
        tmp_path / "study", table, id="patient_id", private=private, ledger="folder"
    ) as study:
        study.set_collusion(Policy(sizes={2: 0.6}))
        for party in ("a", "b"):
            study.set_party(party, 0.5)
        study.release("a", "diagnosis", bits=0.3, out=tmp_path / "a.csv")
        study.release("b", "income", bits=0.1, out=tmp_path / "b1.csv")
        books = study._journal.refresh()
        request = study._request(
            books, "b", "diagnosis", None, Measure.of_utility("hamming"), 0.2, False
        )
        told = infer_after(books, draft(books, request), study._variables(books))
        study.release("b", "diagnosis", bits=0.2, out=tmp_path / "b2.csv")
        audited = study.audit(records=100).of("b").told
    assert [each.about for each in told] == [each.about for each in audited]
    for early, late in zip(told, audited, strict=True):
        assert early.exposure.is_exact == late.exposure.is_exact
        assert early.exposure.figures == pytest.approx(late.exposure.figures, abs=1e-9)
        assert early.certain == late.certain


def test_the_risk_of_an_exact_answer_is_said_in_a_line(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv", 2_000)
    with Study.create(
        tmp_path / "study", table, id="patient_id", private=["income"], ledger="folder"
    ) as study:
        study.set_party("a", 3)
        books = study._journal.refresh()
        request = study._request(
            books, "a", None, "income = 'high'", Measure.of_utility("hamming"), None, False
        )
        told = infer_after(books, draft(books, request), study._variables(books))
    counts = books.counts
    [income] = books.created.attributes
    high = int(counts[income.labels.index("high")])
    said = risk_in_words(told, 2_000)
    guess = 100 * (high + max(set(counts.tolist()) - {high})) / 2_000
    assert said.startswith(f"chance to guess income right: {100 * counts.max() / 2_000:.2f} -> ")
    assert f"-> {guess:.2f} of 100; chance to guess all levels together right: " in said
    assert f"worst single answer: {ceil(200_000 / high) / 100:.2f} times" in said
    assert f"income is certain for {high} records" in said
