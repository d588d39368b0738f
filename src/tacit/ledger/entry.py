"""An entry of a study's chain, as the rest of tacit sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
