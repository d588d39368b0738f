"""Rows of the ledger's tables as they are found, before anyone believes them, and their seals."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from tacit.errors import CorruptLedgerError, InvalidInputError
from tacit.ledger.canonical import canonical_json, parse_json
from tacit.ledger.entry import Entry
from tacit.ledger.sketch import Sketch


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study's registration.

    Attributes:
        study: its name.
        n_records: how many ids it has.
        sketch: the hashes as canonical JSON: a list of those of typed ids, as 0.1 wrote it, or an
            object with those of normalised ids, too.
    """

    study: str
    n_records: int
    sketch: str

    @classmethod
    def of(cls, study: str, sketch: Sketch) -> StoredStudy:
        """The row of a new study."""
        return cls(study, sketch.n_records, canonical_json(_stored_sketch(sketch)))

    def seal(self, salt: bytes) -> str:
        """SHA-256 that the study's first entry names as the one before it.

        So a sketch, or the ledger's salt, that is edited later breaks the chain at entry 1. Empty,
        which no entry names, where a value has another type than was recorded.
        """
        content = asdict(self)
        if not _has_types(content, n_records=int):
            return ""
        return _sha256_of_json(content | {"salt": salt.hex()})

    def parsed(self) -> Sketch:
        """The sketch behind the row.

        Raises:
            CorruptLedgerError: there is none.
        """
        try:
            return _read_sketch(self.n_records, parse_json(self.sketch))
        except (CorruptLedgerError, InvalidInputError, TypeError, KeyError):
            pass
        raise CorruptLedgerError(
            f"the registration of study {self.study!r} is damaged: restore the ledger from a backup"
        )


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry; as ``Entry``, except that the body is canonical JSON."""

    study: str
    number: int
    kind: str
    time: str
    body: str
    payload: bytes
    previous: str
    hash: str = ""

    def sealed(self) -> StoredEntry:
        """The same entry with its hash."""
        return replace(self, hash=self.seal)

    @property
    def seal(self) -> str:
        """SHA-256 over everything but the hash.

        The body counts as the text that is stored, so that even a changed blank shows. Empty where
        a value has another type than was recorded.
        """
        content = asdict(self)
        if not _has_types(content, number=int, payload=bytes):
            return ""
        del content["hash"]
        return _sha256_of_json(content | {"payload": sha256(self.payload).hexdigest()})

    def entry(self) -> Entry:
        """The entry, its body parsed.

        Raises:
            CorruptLedgerError: the body is no JSON object.
        """
        body = parse_json(self.body)
        if not isinstance(body, dict):
            raise CorruptLedgerError(
                f"entry {self.number} of study {self.study!r} has a body that is no JSON object: "
                "restore the ledger from a backup"
            )
        return Entry(**(asdict(self) | {"body": body}))


def _stored_sketch(sketch: Sketch) -> object:
    if sketch.normalised is None:
        return list(sketch.smallest)
    return {
        "typed": list(sketch.smallest),
        "normalised": list(sketch.normalised.smallest),
        "n_normalised": sketch.normalised.n_records,
    }


def _read_sketch(n_records: int, stored: Any) -> Sketch:
    if isinstance(stored, list):
        return Sketch(n_records, tuple(stored))
    normalised = Sketch(stored["n_normalised"], tuple(stored["normalised"]))
    return Sketch(n_records, tuple(stored["typed"]), normalised)


def _has_types(content: dict[str, object], **types: type) -> bool:
    """Whether the values have these types, else text: SQLite lets an editor put any type."""
    return all(isinstance(value, types.get(name, str)) for name, value in content.items())


def _sha256_of_json(content: dict[str, object]) -> str:
    return sha256(canonical_json(content).encode()).hexdigest()
