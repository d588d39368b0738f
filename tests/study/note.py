"""A kind of entry from outside tacit: a remark by the custodian on an earlier entry."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.ledger import Entry
from tacit.study.books.books import Books
from tacit.study.books.records import Record
from tacit.study.entry_kinds import EntryKind
from tacit.study.proofs.replay import Replay


class NoteRecord(Record):
    """What the custodian remarks, and on which entry."""

    on: int
    text: str


def _apply(books: Books, record: NoteRecord, entry: Entry) -> Books:
    return books


def _check(replay: Replay, after: Books, record: NoteRecord) -> Iterator[str]:
    if not 1 <= record.on < after.head.number:
        yield f"it is a remark on entry {record.on}, which is not before it"


def _describe(record: NoteRecord) -> str:
    return f"on entry {record.on}: {record.text}"


NOTE = EntryKind("note", NoteRecord, _apply, _describe, _check, may_follow_close=True)
