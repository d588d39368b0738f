"""Kinds of ledger entries: those of tacit, and one that is added from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.errors import CorruptLedgerError, InvalidInputError, LedgerError
from tacit.ledger import Entry, Ledger
from tacit.scheme import Policy
from tacit.study import Study, verify_study
from tacit.study.books.records import PolicyRecord
from tacit.study.entry_kinds import KINDS, describe_entry, read_books, register_kind
from tacit.study.folder import Configuration, Layout
from tests.cli.clinic import done
from tests.study.clinic import entries_of, make_clinic
from tests.study.forging import forge
from tests.study.made_before import unpack_0_1
from tests.study.note import NOTE, NoteRecord
from tests.words import in_words


@pytest.fixture
def note_kind() -> Iterator[None]:
    """Entries of the kind "note" can be read."""
    register_kind(NOTE)
    yield
    del KINDS[NOTE.name]


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A study with three entries."""
    with make_clinic(tmp_path) as study:
        study.set_party("lab-a", 0.4)
        study.set_party("lab-b", 0.4)
    return tmp_path / "clinic"


def append_note(folder: Path, on: int, text: str, payload: bytes = b"") -> Entry:
    study = Configuration.read(folder).study
    body = NoteRecord(on=on, text=text).model_dump(mode="json")
    with Ledger.open(Layout(folder).ledger) as ledger:
        return ledger.append(study, NOTE.name, body, payload, head=ledger.head(study))


@pytest.mark.usefixtures("note_kind")
def test_a_kind_from_outside_is_read_verified_described_and_shown(clinic: Path) -> None:
    append_note(clinic, 2, "agreed by telephone")
    with Study.open(clinic) as study:
        study.set_party("lab-c", 0.1)
        receipt = study.receipt(4)
    assert [entry.kind for entry in entries_of(clinic)][2:] == ["party", "note", "party"]
    assert verify_study(clinic).problems == ()
    assert receipt.in_words == "on entry 2: agreed by telephone"

    page = clinic.parent / "note.html"
    assert "on entry 2: agreed by telephone" in done("receipt", clinic, 4, "--html", page).out
    assert done("receipt", clinic, 4, "--json").json["kind"] == "note"
    assert done("verify", clinic, "--receipt", page).code == 0


@pytest.mark.usefixtures("note_kind")
def test_a_kind_from_outside_is_checked_by_its_own_rule(clinic: Path) -> None:
    append_note(clinic, 9, "too early")
    append_note(clinic, 1, "with a table", b"table")
    assert in_words(verify_study(clinic).problems) == [
        "entry 4: it is a remark on entry 9, which is not before it",
        "entry 5: it carries bytes beside its body, which such an entry has not",
    ]


@pytest.mark.usefixtures("note_kind")
def test_a_kind_says_whether_it_may_follow_the_end_of_a_study(clinic: Path) -> None:
    with Study.open(clinic) as study:
        study.destroy_key()
    append_note(clinic, 4, "the contract has ended")
    assert verify_study(clinic).problems == ()


def test_a_kind_that_is_not_registered_is_refused(clinic: Path) -> None:
    append_note(clinic, 2, "agreed by telephone")
    with pytest.raises(LedgerError, match="of the kind 'note', which this version of tacit does"):
        Study.open(clinic)


@pytest.mark.usefixtures("note_kind")
def test_a_name_is_registered_once() -> None:
    with pytest.raises(InvalidInputError, match="there is a kind 'note'"):
        register_kind(NOTE)


def test_a_study_begins_only_once(clinic: Path) -> None:
    first, *others = entries_of(clinic)
    with pytest.raises(LedgerError, match=r"makes no sense .*a study begins only once"):
        read_books([first, *others, first])


def test_every_kind_of_tacit_is_described(tmp_path: Path) -> None:
    entries = entries_of(unpack_0_1(tmp_path) / "closed")
    described = {entry.kind: describe_entry(entry) for entry in entries}
    assert described.keys() == KINDS.keys() - {
        "rollback",
        "renamed",
        "removed",
        "approval",
        "erasure",
        "erased",
        "cohort",
        "copy",
        "superseded",
    }
    assert all(described.values())


def test_names_are_described_and_forged_ones_refused(clinic: Path, tmp_path: Path) -> None:
    with Study.open(clinic) as study:
        study.rename_party("lab-a", "A")
        study.set_party("lab-c", 0.1)
        study.set_approval("lab-c", is_required=True)
        study.remove_party("lab-c")
        study.set_party("lab-c", 0.1)
        assert not study.statement("lab-c").needs_approval  # another party of this name
        study.set_approval("A", is_required=True)
        assert study.statement("lab-a").needs_approval
        assert study.set_approval("lab-a", is_required=True)[0].code == "unchanged"
        study.release("lab-a", "age", bits=0.1, out=tmp_path / "a.csv")
        assert study.verify().problems == ()
        said = {each.kind: each.in_words for each in study.log()}
    assert said["renamed"] == "lab-a is called A from now on"
    assert said["removed"] == "lab-c is removed: it held nothing"
    assert said["approval"] == "a custodian has to approve each request that lab-a makes"
    *entries, last = entries_of(clinic)
    forgeries = {
        "renamed": [{"party": "lab-z", "name": "Z"}, {"party": "lab-b", "name": "A"}],
        "removed": [{"party": "lab-a"}],
        "approval": [{"party": "lab-z", "is_required": True}],
    }
    forgeries["renamed"].append({"party": "lab-a", "name": "lab-b"})
    for kind, bodies in forgeries.items():
        for body in bodies:
            with pytest.raises(LedgerError, match="makes no sense"):
                read_books([*entries, last, replace(last, kind=kind, body=body)])


def test_the_words_of_a_stored_policy_are_those_of_the_policy() -> None:
    policy = Policy(sizes={1: 0.2}, groups={("B", "a"): 0.3})
    described = KINDS["policy"].describe(PolicyRecord.of_policy(policy))
    assert described == "limits on coalitions: any single party: 0.2 bits; B + a: 0.3 bits"


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
        "'party', has fields that this version of tacit does not know (until): up",
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
        study.set_party("lab-a", 0.3)
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
