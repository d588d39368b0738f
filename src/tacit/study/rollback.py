"""Whether a ledger has lost entries that were once in it, as far as the study's folder shows.

A restored ledger has forgotten what was released since: its bits would be spent twice. The folder
shows it by its high-water mark, the last entry that the ledger had when it was last changed from
here, and by states of releases that the ledger does not know; a release file shows it by its
certificate.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInputError, RolledBackError
from tacit.ledger import Head, Ledger
from tacit.storage import atomic_file, locked
from tacit.study.books.books import Books
from tacit.study.books.records import RollbackRecord
from tacit.study.folder import Layout
from tacit.tables.delivery.engine import Engine

_LARGEST_NUMBER = 2**63 - 1
"""That a ledger can hold."""

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, RecursionError)
"""What reading a file raises that is damaged, or no JSON of ours."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What a folder and a file show of the ledger's entries, whether or not it still has them.

    Attributes:
        entries: the file that names each -> the entry.
        states: names of state files.
    """

    entries: dict[Path, Head]
    states: tuple[str, ...]

    @staticmethod
    def find(
        layout: Layout, engine: Engine[Any], study: str, certificate: Path | None = None
    ) -> Traces:
        """All there are.

        Read them before the ledger: an entry is in the ledger before there is a trace of it.

        Args:
            layout: of the study's folder.
            engine: what keeps its states.
            study: its id.
            certificate: of a release file that may be there already.

        Raises:
            InvalidInputError: the high-water mark is damaged.
        """
        found = {layout.high_water: _read_mark(layout.high_water)}
        if certificate is not None:
            found[certificate] = _read_certificate(certificate, study)
        entries = {file: head for file, head in found.items() if head is not None}
        return Traces(entries, tuple(engine.remembered(layout.states)))

    def lost(self, books: Books, ledger: Ledger, study: str) -> Traces:
        """Those that the ledger does not know, and that no rollback has been accepted for."""
        known = {intent.state_name for intent in books.intents.values()} | books.accepted
        return Traces(
            {
                file: head
                for file, head in self.entries.items()
                if head.hash not in books.accepted
                and not ledger.contains(study, head.number, head.hash)
            },
            tuple(name for name in self.states if name not in known),
        )

    def __bool__(self) -> bool:
        return bool(self.entries or self.states)

    @property
    def in_words(self) -> list[str]:
        """Each trace, for people."""
        entries = [f"{file.name} shows entry {head.number}" for file, head in self.entries.items()]
        return entries + [
            f"states/{name}.npy is of a release that it lacks" for name in self.states
        ]

    @property
    def record(self) -> RollbackRecord:
        """For the ledger, once it is accepted."""
        entries = {(head.number, head.hash) for head in self.entries.values()}
        return RollbackRecord(entries=tuple(sorted(entries)), states=self.states)


def rolled_back(lost: Traces, ledger_shown: str, head: Head, layout: Layout) -> RolledBackError:
    """The error for a ledger that has lost entries."""
    folder = str(layout.folder)
    verify = ["tacit", "verify", folder]
    for paper in lost.entries.keys() - {layout.high_water}:
        verify += ["--receipt", str(paper)]
    return RolledBackError(
        f"the ledger {ledger_shown} ends at entry {head.number} and has lost entries that "
        f"{folder} was used with ({'; '.join(lost.in_words)}): see {shlex.join(verify)}, and put "
        f"the newest backup back with {shlex.join(['tacit', 'restore', 'FILE', folder])}. If there "
        "is none, tacit release, party add, collusion set and close go on with --accept-rollback: "
        "what the lost entries released is then not counted, so that whoever received it may hold "
        "more than the limits say"
    )


def raise_mark(layout: Layout, head: Head, accepted: frozenset[str] = frozenset()) -> None:
    """Remember that the ledger has had this entry.

    Must be on disk before anything is drawn. A mark is lowered only where the entry that it names
    is among those that the custodian has ``accepted`` as lost.
    """
    with locked(layout.configuration):
        mark = _read_mark(layout.high_water)
        if mark is None or mark.number < head.number or mark.hash in accepted:
            with atomic_file(layout.high_water, mode=0o600) as file:
                file.write(json.dumps({"number": head.number, "hash": head.hash}).encode() + b"\n")


def _read_mark(path: Path) -> Head | None:
    try:
        stored = json.loads(path.read_bytes())
        return _head(stored["number"], stored["hash"])
    except FileNotFoundError:
        return None
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"{path} is damaged ({error}): it says which entry of the ledger was the last; compare "
            "the ledger with your newest receipt by tacit verify --receipt, then remove the file"
        ) from error


def _read_certificate(path: Path, study: str) -> Head | None:
    """The entry that a certificate of this study names; ``None`` for any other file."""
    try:
        stored = json.loads(path.read_bytes())
        is_ours = stored["study"] == study
        return _head(stored["entry"], stored["hash"]) if is_ours else None
    except _UNREADABLE:
        return None


def _head(number: object, sealed: object) -> Head:
    """The entry of this number and hash, if a ledger can have one."""
    if type(number) is not int or not 1 <= number <= _LARGEST_NUMBER:
        raise ValueError(f"{str(number)[:20]!r} is no number of an entry")
    return Head(number, str(sealed))
