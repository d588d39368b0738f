"""An entry of a study's chain, as the rest of tacit sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tacit.errors import CorruptLedgerError, InvalidInputError


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
    """

    study: str
    number: int
    kind: str
    time: str
    body: Mapping[str, object]
    payload: bytes
    previous: str
    hash: str

    @property
    def head(self) -> Head:
        """The end of the chain while this entry is the last."""
        return Head(self.number, self.hash)
