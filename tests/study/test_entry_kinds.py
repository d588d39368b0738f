"""Kinds of ledger entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from tacit.errors import CorruptLedgerError, LedgerError
from tacit.ledger import Entry, Ledger
from tacit.study import Study, verify_study
from tacit.study.entry_kinds import describe_entry, read_books
from tacit.study.folder import Configuration, Layout
from tests.study.clinic import entries_of, make_clinic
from tests.study.forging import forge
from tests.words import in_words


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A study with three entries."""
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.4)
        study.set_limit("lab-b", 0.4)
    return tmp_path / "clinic"


def append(folder: Path, kind: str, body: dict[str, object], payload: bytes = b"") -> None:
    study = Configuration.read(folder).study
    with Ledger.open(Layout(folder).ledger) as ledger:
        ledger.append(study, kind, body, payload, head=ledger.head(study))


def test_a_payload_where_none_belongs_is_found(clinic: Path) -> None:
    body = {"whom": "lab-c", "bits": 0.1, "times": None, "title": "lab-c"}
    append(clinic, "limit", body, b"table")
    assert in_words(verify_study(clinic).problems) == [
        "entry 4: it carries bytes beside its body, which such an entry has not"
    ]


def test_a_kind_that_nobody_knows_is_refused(clinic: Path) -> None:
    append(clinic, "note", {"text": "agreed by telephone"})
    with pytest.raises(LedgerError, match="of the kind 'note', which this version of tacit does"):
        Study.open(clinic)


def test_a_study_begins_only_once(clinic: Path) -> None:
    first, *others = entries_of(clinic)
    with pytest.raises(LedgerError, match=r"makes no sense .*a study begins only once"):
        read_books([first, *others, first])


def test_every_entry_is_described(clinic: Path) -> None:
    with Study.open(clinic) as study:
        study.destroy_key()
    entries = entries_of(clinic)
    assert {entry.kind for entry in entries} >= {"created", "limit", "closed"}
    assert all(map(describe_entry, entries))


def test_parties_are_described_and_forged_ones_refused(clinic: Path, tmp_path: Path) -> None:
    with Study.open(clinic) as study:
        study.set_limit("lab-a", title="Institute A")
        study.set_limit("lab-c", 0.1)
        study.set_approval("lab-c", is_required=True)
        study.set_limit("lab-c", inf)
        study.set_limit("lab-c", 0.1)
        assert not study.statement("lab-c").needs_approval  # another party of this name
        study.set_approval("lab-a", is_required=True)
        assert study.set_approval("lab-a", is_required=True)[0].code == "unchanged"
        study.set_limit("lab-a+lab-c", 0.2, 4)
        study.set_limit("lab-a+lab-c", inf, inf)
        study.release("lab-a", "age", bits=0.1, out=tmp_path / "a.csv")
        assert study.verify().problems == ()
        said = [each.in_words for each in study.log()]
    for words in (
        "Institute A (lab-a) may learn 0.4 bits about a record",
        "lab-c is removed: it held nothing",
        "a custodian has to approve each request that lab-a makes",
        (
            "limit on lab-a + lab-c: 0.2 bits, and after any answer, no combination of levels is "
            "more than 4 times as likely as before"
        ),
        "the limit on lab-a + lab-c is taken away",
    ):
        assert words in said
    *entries, last = entries_of(clinic)
    nothing = {"bits": None, "times": None, "title": None}
    for kind, body in (
        ("limit", nothing | {"whom": "lab-a"}),
        ("limit", nothing | {"whom": "any 3"}),
        ("limit", nothing | {"whom": "lab-a+lab-z", "bits": 0.3}),
        ("approval", {"party": "lab-z", "is_required": True}),
    ):
        with pytest.raises(LedgerError, match="makes no sense"):
            read_books([*entries, last, replace(last, kind=kind, body=body)])


# -- entries of another version -------------------------------------------------------------------


def of_kind(entries: list[Entry]) -> list[Entry]:
    return [*entries[:-1], replace(entries[-1], kind="merger")]


def first_of_kind(entries: list[Entry]) -> list[Entry]:
    return [replace(entries[0], kind="founded"), *entries[1:]]


def with_field(entries: list[Entry]) -> list[Entry]:
    body = dict(entries[-1].body) | {"until": "2030"}
    return [*entries[:-1], replace(entries[-1], body=body)]


def first_with_field(entries: list[Entry]) -> list[Entry]:
    first = replace(entries[0], body=dict(entries[0].body) | {"cohorts": []})
    return [first, *entries[1:]]


def with_time(text: str) -> Callable[[list[Entry]], list[Entry]]:
    return lambda entries: [*entries[:-1], replace(entries[-1], time=text)]


UNKNOWN: dict[str, tuple[Callable[[list[Entry]], list[Entry]], str]] = {
    "kind": (of_kind, "is of the kind 'merger', which this version of tacit does not know: update"),
    "first kind": (first_of_kind, "is of the kind 'founded', which this version of tacit does not"),
    "field": (
        with_field,
        "'limit', has fields that this version of tacit does not know (until): up",
    ),
    "first field": (first_with_field, "'created', has fields that this version of tacit does not"),
    "day": (with_time("2025-13-01T00:00:00.000000+00:00"), "has the time '2025-13-01T00:00:00.00"),
    "zone": (with_time("2025-01-01T00:00:00.000000+01:00"), "which is no ISO-8601 in UTC"),
    "seconds": (with_time("2025-01-01T00:00:00Z"), "which is no ISO-8601 in UTC"),
    "epoch": (with_time("1735689600"), "has the time '1735689600'"),
}


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_entries_of_another_version_are_named(tmp_path: Path, unknown: str) -> None:
    edit, said = UNKNOWN[unknown]
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.3)
    forge(tmp_path / "clinic", edit)
    number = 1 if unknown.startswith("first") else 2
    with pytest.raises(LedgerError) as refused:
        Study.open(tmp_path / "clinic")
    assert str(refused.value).startswith(f"entry {number} of study ")
    assert said in str(refused.value)
    assert "update tacit" in str(refused.value)
    assert isinstance(refused.value, CorruptLedgerError) == (said.startswith(("has the", "which")))
    found = in_words(verify_study(tmp_path / "clinic").problems)
    assert any(str(refused.value) in problem for problem in found)
