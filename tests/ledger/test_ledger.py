"""What every ledger does, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy.exc import DBAPIError

from tacit.errors import HeadMovedError, InvalidInputError, LedgerError
from tacit.ledger import Head, Ledger
from tests.ledger.chains import STUDY, TABLES, chain, execute, sketch_of

ODD_BODY = {
    "text": 'Ω "quoted" \\ \x00 \ud800 \U0001f600',
    "small": 5e-324,
    "tenth": 0.1,
    "big": 2**80,
    "none": None,
    "nested": [{"z": True, "a": [1, 1.0, -0.0]}, {}],
    "": "empty key",
}


def test_what_is_appended_is_read_back(ledger: Ledger, url: str) -> None:
    first = ledger.register(STUDY, sketch_of("abc"), {"made": "here"}, b"\x00\xff")
    second = ledger.append(STUDY, "Anfrage ü", ODD_BODY, bytes(range(256)), head=first.head)
    assert ledger.entries(STUDY) == [first, second]
    assert second.body == ODD_BODY
    assert second.payload == bytes(range(256))
    with Ledger.open(url) as again:
        assert again.entries(STUDY) == [first, second]
        assert again.salt == ledger.salt
        assert len(again.salt) == 32


def test_entries_are_numbered_and_linked(ledger: Ledger) -> None:
    entries = chain(ledger, 5)
    assert [entry.number for entry in entries] == [1, 2, 3, 4, 5]
    assert entries[0].kind == "created"
    assert [entry.previous for entry in entries[1:]] == [entry.hash for entry in entries[:-1]]
    assert ledger.head(STUDY) == Head(5, entries[-1].hash)
    assert ledger.verify(STUDY) == []


def test_the_time_is_utc_with_microseconds(ledger: Ledger) -> None:
    before = datetime.now(UTC)
    entry = chain(ledger, 1)[0]
    assert before <= datetime.fromisoformat(entry.time) <= datetime.now(UTC)
    assert len(entry.time) == len("2026-01-01T00:00:00.000000+00:00")


@pytest.mark.parametrize("after", range(4))
def test_reading_on_gives_the_later_entries(ledger: Ledger, after: int) -> None:
    entries = chain(ledger, 3)
    assert ledger.entries(STUDY, after) == entries[after:]


def test_studies_have_chains_of_their_own(ledger: Ledger) -> None:
    ours, theirs = chain(ledger, 3, "ours"), chain(ledger, 2, "theirs")
    assert ledger.studies() == ["ours", "theirs"]
    assert ledger.entries("ours") == ours
    assert ledger.entries("theirs") == theirs
    assert ledger.verify("ours") == ledger.verify("theirs") == []


@pytest.mark.parametrize("stale", [1, 2, 4])
def test_another_head_is_refused(ledger: Ledger, stale: int) -> None:
    entries = chain(ledger, 3)
    head = entries[stale - 1].head if stale < 3 else Head(stale, "0" * 64)
    with pytest.raises(HeadMovedError, match=f"ends at entry 3 .* not at {stale}"):
        ledger.append(STUDY, "release", {}, head=head)
    assert ledger.entries(STUDY) == entries


def test_a_head_of_the_same_number_and_another_hash_is_refused(ledger: Ledger) -> None:
    entries = chain(ledger, 3)
    with pytest.raises(HeadMovedError):
        ledger.append(STUDY, "release", {}, head=Head(3, "0" * 64))
    assert ledger.entries(STUDY) == entries


def test_an_unknown_study_is_named(ledger: Ledger) -> None:
    chain(ledger, 2)
    head = Head(0, "0" * 64)
    for ask in (
        lambda: ledger.head("nobody"),
        lambda: ledger.entries("nobody"),
        lambda: ledger.append("nobody", "release", {}, head=head),
    ):
        with pytest.raises(LedgerError, match="study 'nobody' is not in the ledger"):
            ask()
    assert ledger.verify("nobody") == ["study 'nobody' is not registered in this ledger"]
    with pytest.raises(LedgerError, match="entry 9 of study 'clinic' is not in the ledger"):
        ledger.entries(STUDY, after=9)


def test_a_receipt_is_found(ledger: Ledger) -> None:
    second = chain(ledger, 3)[1]
    assert ledger.contains(STUDY, 2, second.hash)
    assert not ledger.contains(STUDY, 3, second.hash)
    assert not ledger.contains(STUDY, 4, second.hash)
    assert not ledger.contains(STUDY, 2**80, second.hash)
    assert not ledger.contains("nobody", 2, second.hash)


@pytest.mark.parametrize(
    "body",
    [
        {"bits": float("nan")},
        {"bits": float("inf")},
        {1: "a key that is no text"},
        {"pair": (1, 2)},
        {"raw": b"bytes"},
        {"set": {1}},
    ],
    ids=str,
)
def test_a_body_that_is_no_json_is_refused(ledger: Ledger, body: dict[str, object]) -> None:
    entries = chain(ledger, 2)
    with pytest.raises(InvalidInputError, match="a ledger entry"):
        ledger.append(STUDY, "release", body, head=entries[-1].head)
    assert ledger.entries(STUDY) == entries


@pytest.mark.parametrize("name", ["", "two\nlines", "nul\x00", "lone \ud800", "long" * 51])
def test_a_name_that_cannot_be_shown_is_refused(ledger: Ledger, name: str) -> None:
    head = chain(ledger, 1)[0].head
    with pytest.raises(InvalidInputError, match=r"study is .*printable"):
        ledger.register(name, sketch_of("abc"), {})
    with pytest.raises(InvalidInputError, match=r"kind is .*printable"):
        ledger.append(STUDY, name, {}, head=head)


def test_a_study_is_registered_once(ledger: Ledger) -> None:
    entries = chain(ledger, 2)
    with pytest.raises(LedgerError, match=r"study 'clinic' is in the ledger .* open it"):
        ledger.register(STUDY, sketch_of("abc"), {}, accepting=[STUDY])
    assert ledger.entries(STUDY) == entries


STARTS = {"first": 0, "half": 50, "apart": 1000}


def test_shared_records_are_refused_unless_accepted(ledger: Ledger) -> None:
    sketches = {name: sketch_of(range(start, start + 100)) for name, start in STARTS.items()}
    first = ledger.register("first", sketches["first"], {})
    ledger.register("apart", sketches["apart"], {})
    assert [(o.study, o.share) for o in ledger.overlapping(sketches["half"])] == [("first", 0.5)]
    for said in (r"nothing was released: .* make it anew", r"study 'first' overlap: about 50% of"):
        with pytest.raises(LedgerError, match=said):
            ledger.register("half", sketches["half"], {})
        ledger.append("first", "intent", {}, head=first.head)
        first = ledger.entries("first")[-1]
    assert ledger.studies() == ["apart", "first"]
    entry = ledger.register("half", sketches["half"], {}, accepting=["first"])
    assert ledger.entries("half") == [entry]


def test_accepting_one_study_accepts_no_other(ledger: Ledger) -> None:
    same = sketch_of(range(100))
    ledger.register("first", same, {})
    ledger.register("second", same, {}, accepting=["first"])
    with pytest.raises(LedgerError, match="overlap with those of a study made on"):
        ledger.register("third", same, {}, accepting=["first"])


def test_a_study_that_another_takes_the_place_of_overlaps_no_more(ledger: Ledger) -> None:
    same = sketch_of(range(100))
    head = ledger.register("first", same, {}).head
    moved = ledger.append("first", "intent", {}, head=head).head
    with pytest.raises(HeadMovedError):  # something was released meanwhile
        ledger.register("second", same, {}, superseding={"first": head})
    assert ledger.studies() == ["first"]
    ledger.register("second", same, {}, superseding={"first": moved})
    assert ledger.entries("first")[-1].body == {"successor": "second"}
    assert [each.study for each in ledger.overlapping(same)] == ["second"]


def test_a_refused_first_entry_registers_nothing(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError):
        ledger.register(STUDY, sketch_of("abc"), {"bits": float("nan")})
    assert ledger.studies() == []


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("change", ["UPDATE {0} SET {1} = {1}", "DELETE FROM {0}"])
def test_the_database_forbids_changes(ledger: Ledger, url: str, table: str, change: str) -> None:
    column = {"tacit_ledger": "salt", "tacit_studies": "sketch", "tacit_entries": "body"}[table]
    entries = chain(ledger, 3)
    with pytest.raises(DBAPIError, match=f"{table} is append-only"):
        execute(url, change.format(table, column))
    assert ledger.entries(STUDY) == entries


@pytest.mark.parametrize("column", ["number", "hash"])
def test_sqlite_forbids_replacing(sqlite_url: str, column: str) -> None:
    values = "study, number, kind, time, '{}', payload, previous, hash"
    other = values.replace("hash", "'f'") if column == "number" else values.replace("number", "9")
    with Ledger.create(sqlite_url) as ledger:
        entries = chain(ledger, 3)
        with pytest.raises(DBAPIError, match="tacit_entries is append-only"):
            execute(
                sqlite_url,
                f"INSERT OR REPLACE INTO tacit_entries SELECT {other} FROM tacit_entries",
            )
        assert ledger.entries(STUDY) == entries


def test_postgresql_forbids_emptying(postgres_url: str) -> None:
    with Ledger.create(postgres_url) as ledger:
        entries = chain(ledger, 3)
        with pytest.raises(DBAPIError, match="tacit_entries is append-only"):
            execute(postgres_url, "TRUNCATE tacit_entries")
        assert ledger.entries(STUDY) == entries
