"""Entries of a study's chain: what each one says, what seals it, and what breaks the chain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256

from tacit.errors import CorruptLedgerError, InvalidInputError

FIRST_KIND = "created"

RELEASES = frozenset({"intent", "copy"})
"""Kinds of entries that record a release."""

SUPERSEDED = "superseded"
"""Kind of the entry that ends a study of which nothing was released: another took its place."""
"""Kind of the entry that is recorded together with a study's registration."""

REGISTRATION = "registration"
"""Field of an entry's body: seal of the registration that the study has from this entry on."""

LONGEST_NAME = 200


def canonical_json(value: object) -> str:
    """The value as ASCII JSON with sorted keys and no blanks; floats read back exactly.

    Raises:
        InvalidInputError: the value would be read back as another one: NaN, infinity, keys that
            are not text, tuples, or anything that JSON does not know.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
        is_faithful = json.loads(text) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"a ledger entry cannot hold this value: {error}") from error
    if not is_faithful:
        raise InvalidInputError(
            "a ledger entry would read back as another value: "
            "use text as keys and lists instead of tuples"
        )
    return text


def parse_json(text: str) -> object:
    """The value behind a stored text.

    Raises:
        CorruptLedgerError: the text is no JSON.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptLedgerError(
            f"the ledger holds a text that is no JSON ({error}): restore it from a backup"
        ) from error
    return value


@dataclass(frozen=True, slots=True)
class Head:
    """Where a study's chain ends: the number and hash of its last entry."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened in a study.

    Attributes:
        study: whose chain it belongs to.
        number: 1, 2, ... within the study.
        kind: what happened, in a word.
        time: when it was appended, ISO-8601 in UTC with microseconds.
        body: a JSON object.
        payload: bytes that are no JSON, such as an integer channel.
        previous: hash of the entry before; for the first, of the study's registration.
        hash: SHA-256 over everything above.
        head: the end of the chain while this entry is the last.
    """

    study: str
    number: int
    kind: str
    time: str
    body: Mapping[str, object]
    payload: bytes
    previous: str
    hash: str
    head: Head = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "head", Head(self.number, self.hash))


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study's registration, which its first entry follows.

    Attributes:
        study: its name.
        n_records: how many ids it has.
        sketch: hashes of its ids, see ``Sketch.as_text``.
    """

    study: str
    n_records: int
    sketch: str

    def seal(self, salt: bytes) -> str:
        """SHA-256 that the study's first entry names as the one before it.

        A registration that replaces it, because records were erased, is named by an entry's field
        ``REGISTRATION``. So a sketch, or the ledger's salt, that is edited otherwise breaks the
        chain. Empty, which no entry names, where a value has another type than was recorded.
        """
        content = asdict(self)
        if not _has_types(content, n_records=int):
            return ""
        return _sha256_of_json(content | {"salt": salt.hex()})


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

    @property
    def registration(self) -> str | None:
        """Seal of the study's registration, where this entry names it."""
        if self.number == 1:
            return self.previous
        try:
            is_named = f'"{REGISTRATION}":' in self.body
            named = self.entry().body.get(REGISTRATION) if is_named else None
        except (CorruptLedgerError, TypeError):  # an editor can put any type
            return None
        return named if isinstance(named, str) else None

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


def seal_entry(
    study: str, head: Head, kind: str, body: Mapping[str, object], payload: bytes
) -> StoredEntry:
    """The entry that follows ``head``, made now."""
    return StoredEntry(
        study=study,
        number=head.number + 1,
        kind=check_name("kind", kind),
        time=datetime.now(UTC).isoformat(timespec="microseconds"),
        body=canonical_json(dict(body)),
        payload=payload,
        previous=head.hash,
    ).sealed()


def check_name(what: str, name: str) -> str:
    """The name, if both databases can hold it and any terminal can show it."""
    if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidInputError(f"{what} is {name!r}: use 1 to {LONGEST_NAME} printable characters")
    return name


def _has_types(content: dict[str, object], **types: type) -> bool:
    """Whether the values have these types, else text: SQLite lets an editor put any type."""
    return all(isinstance(value, types.get(name, str)) for name, value in content.items())


def _sha256_of_json(content: dict[str, object]) -> str:
    return sha256(canonical_json(content).encode()).hexdigest()


def faults(rows: Iterable[StoredEntry], start: Head) -> Iterator[str]:
    """Everything that is wrong with rows that should follow ``start``, ordered by number.

    After the study's registration, the last entry that names a registration must name this one.

    A chain cannot show that its last entries were cut off, nor that all of them were computed
    anew from some entry on: for that, compare it with a receipt that was kept elsewhere.
    """
    last, registering, registered = start, 0, start.hash
    for row in rows:
        if not _is_number(row.number):
            yield f"an entry has the number {row.number!r}: entries are numbered 1, 2, 3 and so on"
            continue
        if start.number == 0 and row.registration is not None:
            registering, registered = row.number, row.registration
        yield from _faults_of_place(row, last)
        if row.hash != row.seal:
            yield f"entry {row.number} was changed: its content does not give its hash"
        last = Head(row.number, row.hash)
    if last.number == 0:
        yield "every entry is missing"
    if registered != start.hash:
        does = "follow" if registering == 1 else "name"
        yield (
            f"entry {registering} does not {does} the study's registration: one of the two was "
            "replaced"
        )


def _is_number(number: object) -> bool:
    """Whether an entry can have it: SQLite lets an editor put 1.5, or a text."""
    return isinstance(number, int) and number > 0


def _faults_of_place(row: StoredEntry, last: Head) -> Iterator[str]:
    """At most one: the row has no place here, or does not name the entry before it."""
    expected = last.number + 1
    if row.number == expected:
        if last.number and row.previous != last.hash:
            yield (
                f"entry {row.number} does not follow entry {last.number}: one of the two was "
                "replaced"
            )
    elif row.number == expected + 1:
        yield f"entry {expected} is missing"
    elif row.number > expected:
        yield f"entries {expected} to {row.number - 1} are missing"
    else:
        yield f"entry {row.number} stands where entry {expected} should be"
