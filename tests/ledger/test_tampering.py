"""Whoever changes the database by hand is found out, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest

from tacit.errors import CorruptLedgerError
from tacit.ledger import Entry, Ledger
from tacit.ledger.entry import StoredEntry, canonical_json
from tests.ledger.chains import STUDY, chain, tamper

CHANGED = "entry {} was changed: its content does not give its hash"
MISPLACED = "entry {} does not follow entry {}: one of the two was replaced"
REGISTRATION = "entry 1 does not follow the study's registration: one of the two was replaced"

OF_3 = "UPDATE tacit_entries SET {} WHERE number = 3"
NUMBERED = "an entry has the number {}: entries are numbered 1, 2, 3 and so on"
RENUMBER = "UPDATE tacit_entries SET number = {1} WHERE number = {0}"
DELETE = "DELETE FROM tacit_entries WHERE {}"

EDITS: dict[str, tuple[list[str], list[str]]] = {
    "kind": ([OF_3.format("kind = 'refusal'")], [CHANGED.format(3)]),
    "time": ([OF_3.format("time = '1999' || time")], [CHANGED.format(3)]),
    "body": ([OF_3.format("body = '{}'")], [CHANGED.format(3)]),
    "a blank in the body": ([OF_3.format("body = body || ' '")], [CHANGED.format(3)]),
    "a body that is no JSON": ([OF_3.format("body = 'scribble'")], [CHANGED.format(3)]),
    "payload": (
        [OF_3.format("payload = (SELECT salt FROM tacit_ledger)")],
        [CHANGED.format(3)],
    ),
    "previous": (
        [OF_3.format("previous = 'f'")],
        [MISPLACED.format(3, 2), CHANGED.format(3)],
    ),
    "hash": ([OF_3.format("hash = 'f'")], [CHANGED.format(3), MISPLACED.format(4, 3)]),
    "number": (
        [RENUMBER.format(5, 7)],
        ["entries 5 to 6 are missing", CHANGED.format(7)],
    ),
    "a negative number": ([RENUMBER.format(3, -3)], [NUMBERED.format(-3), "entry 3 is missing"]),
    "number 0": ([RENUMBER.format(5, 0)], [NUMBERED.format(0)]),
    "one removed": ([DELETE.format("number = 3")], ["entry 3 is missing"]),
    "two removed": ([DELETE.format("number IN (2, 3)")], ["entries 2 to 3 are missing"]),
    "the first removed": ([DELETE.format("number = 1")], ["entry 1 is missing"]),
    "all removed": ([DELETE.format("number > 0")], ["every entry is missing"]),
    "one removed and the rest moved up": (
        [DELETE.format("number = 3"), RENUMBER.format(4, 3), RENUMBER.format(5, 4)],
        [MISPLACED.format(3, 2), CHANGED.format(3), CHANGED.format(4)],
    ),
    "two in each other's place": (
        [RENUMBER.format(2, 9), RENUMBER.format(3, 2), RENUMBER.format(9, 3)],
        [
            MISPLACED.format(2, 1),
            CHANGED.format(2),
            MISPLACED.format(3, 2),
            CHANGED.format(3),
            MISPLACED.format(4, 3),
        ],
    ),
    "the sketch": (["UPDATE tacit_studies SET sketch = '[\"0000000000000000\"]'"], [REGISTRATION]),
    "the number of records": (["UPDATE tacit_studies SET n_records = 7"], [REGISTRATION]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_every_edit_is_named(ledger: Ledger, url: str, edit: str) -> None:
    statements, found = EDITS[edit]
    chain(ledger, 5)
    tamper(url, *statements)
    assert ledger.verify(STUDY) == found
    with pytest.raises(CorruptLedgerError, match=f"not what was appended .{found[0]}"):
        ledger.entries(STUDY)


def test_reading_on_checks_the_link_to_what_was_read(ledger: Ledger, url: str) -> None:
    chain(ledger, 5)
    tamper(url, OF_3.format("hash = 'f'"))
    with pytest.raises(CorruptLedgerError, match="entry 4 does not follow entry 3"):
        ledger.entries(STUDY, after=3)
    assert [entry.number for entry in ledger.entries(STUDY, after=4)] == [5]


def test_an_entry_put_into_another_study_is_missed_and_found(ledger: Ledger, url: str) -> None:
    chain(ledger, 3)
    chain(ledger, 2, "other")
    tamper(url, OF_3.format("study = 'other'"))
    assert ledger.verify("other") == [MISPLACED.format(3, 2), CHANGED.format(3)]


def test_a_forged_entry_with_the_right_hash_does_not_fit(ledger: Ledger, url: str) -> None:
    forged = _forged(chain(ledger, 5)[2])
    tamper(url, OF_3.format(f"body = '{forged.body}', hash = '{forged.hash}'"))
    assert ledger.verify(STUDY) == [MISPLACED.format(4, 3)]


def test_a_study_that_is_removed_is_missed(ledger: Ledger, url: str) -> None:
    chain(ledger, 3)
    tamper(url, DELETE.format("number > 0"), "DELETE FROM tacit_studies")
    assert ledger.verify(STUDY) == ["study 'clinic' is not registered in this ledger"]


def test_another_salt_breaks_every_study(ledger: Ledger, url: str) -> None:
    chain(ledger, 2)
    chain(ledger, 2, "other")
    tamper(url, f"UPDATE tacit_ledger SET salt = {_bytes(url, b'another' + b'.' * 25)}")
    with Ledger.open(url) as again:
        assert again.verify(STUDY) == again.verify("other") == [REGISTRATION]


@pytest.mark.parametrize(
    "change", ["UPDATE tacit_ledger SET salt = {}", "DELETE FROM tacit_ledger"]
)
def test_a_lost_salt_is_said(ledger: Ledger, url: str, change: str) -> None:
    tamper(url, change.format(_bytes(url, b"short")))
    with pytest.raises(CorruptLedgerError, match="has lost its salt"):
        Ledger.open(url)


@pytest.mark.parametrize("sketch", ["scribble", "7", "[7]", '["z"]', "[]"])
def test_a_damaged_registration_is_said(ledger: Ledger, url: str, sketch: str) -> None:
    mine = chain(ledger, 1)[0]
    tamper(url, f"UPDATE tacit_studies SET sketch = '{sketch}'")
    with pytest.raises(CorruptLedgerError, match="the registration of study 'clinic' is damaged"):
        chain(ledger, 1, "other")
    assert ledger.contains(STUDY, 1, mine.hash)


def test_a_body_that_was_sealed_as_another_type_is_said(ledger: Ledger, url: str) -> None:
    forged = _forged(chain(ledger, 3)[2], body="[]")
    tamper(url, OF_3.format(f"body = '{forged.body}', hash = '{forged.hash}'"))
    assert ledger.verify(STUDY) == []  # whoever can seal can cheat; yet it is no entry of ours
    with pytest.raises(CorruptLedgerError, match="entry 3 of study 'clinic' has a body that is no"):
        ledger.entries(STUDY)


def test_a_cut_off_end_is_found_by_a_receipt(ledger: Ledger, url: str) -> None:
    entries = chain(ledger, 5)
    tamper(url, DELETE.format("number > 3"))
    assert ledger.verify(STUDY) == []
    assert ledger.contains(STUDY, 3, entries[2].hash)
    assert not ledger.contains(STUDY, 5, entries[4].hash)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("payload = 'text'", [CHANGED.format(3)]),
        ("body = x'7b7d'", [CHANGED.format(3)]),
        ("body = CAST(x'ff' AS TEXT)", [CHANGED.format(3)]),
        ("kind = CAST(x'ff' AS TEXT)", [CHANGED.format(3)]),
        ("previous = x'00'", [MISPLACED.format(3, 2), CHANGED.format(3)]),
        ("hash = x'00'", [CHANGED.format(3), MISPLACED.format(4, 3)]),
        ("number = 2.5", [NUMBERED.format(2.5), "entry 3 is missing"]),
        ("number = 3.5", [NUMBERED.format(3.5), "entry 3 is missing"]),
        ("number = '3x'", ["entry 3 is missing", NUMBERED.format("'3x'")]),
        ("number = x'33'", ["entry 3 is missing", NUMBERED.format("b'3'")]),
    ],
    ids=str,
)
def test_sqlite_lets_an_editor_change_types(sqlite_url: str, edit: str, found: list[str]) -> None:
    with Ledger.create(sqlite_url) as ledger:
        chain(ledger, 5)
        tamper(sqlite_url, OF_3.format(edit))
        assert ledger.verify(STUDY)[: len(found)] == found


@pytest.mark.parametrize("edit", ["n_records = 'many'", "sketch = x'00'"])
def test_sqlite_lets_an_editor_change_types_of_a_registration(sqlite_url: str, edit: str) -> None:
    with Ledger.create(sqlite_url) as ledger:
        chain(ledger, 2)
        tamper(sqlite_url, f"UPDATE tacit_studies SET {edit}")
        assert ledger.verify(STUDY) == [REGISTRATION]


def _forged(entry: Entry, body: str | None = None) -> StoredEntry:
    """Another body, sealed as the ledger would."""
    return StoredEntry(
        entry.study,
        entry.number,
        entry.kind,
        entry.time,
        body or canonical_json({"bits": 0}),
        entry.payload,
        entry.previous,
    ).sealed()


def _bytes(url: str, value: bytes) -> str:
    """A literal in the database's own SQL."""
    return f"x'{value.hex()}'" if url.startswith("sqlite") else f"'\\x{value.hex()}'"
