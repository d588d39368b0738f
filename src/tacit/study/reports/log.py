"""The log of a study: who got what, when and why, and which call of ``Study`` does the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of the ledger, for people.

    Attributes:
        number: of the entry.
        time: when it was recorded.
        kind: of the entry.
        in_words: what it says.
        party: whom it concerns; ``None`` where it is no single one.
        reason: why it was released, where somebody said so.
        by: who made the entry; ``None`` where nobody was named.
        action: the method of ``Study`` that does the same; ``None`` where there is none.
        arguments: what that method is given, by the names of its parameters, as plain data.
    """

    number: int
    time: str
    kind: str
    in_words: str
    party: str | None
    reason: str | None
    by: str | None
    action: str | None
    arguments: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "number": self.number,
            "time": self.time,
            "kind": self.kind,
            "in_words": self.in_words,
            "party": self.party,
            "reason": self.reason,
            "by": self.by,
            "action": self.action,
            "arguments": dict(self.arguments),
        }
