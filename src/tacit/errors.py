"""The one exception tree of tacit. Every message names what was seen and what to do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to do about an error, as data: a front turns it into a command, a button or JSON.

    Attributes:
        action: what to do, by the name of the method: ``"release"``, ``"set_limit"``,
            ``"create"``, ``"open"``, ``"verify"``, or ``"restore"`` of ``tacit.study.backup``.
        arguments: what to do it with, by the names of the method's parameters, as plain data: a
            table of costs is its rows. Whoever follows the suggestion chooses what is ``None``, and
            the rest.
        is_answered: whether a request that is made so would be answered now.
    """

    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_answered: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"action": self.action, **self.arguments}


class TacitError(Exception):
    """Root of everything that tacit raises on purpose.

    Attributes:
        suggestions: what would help; all of them together where there are several.
    """

    def __init__(self, message: str = "", *, suggestions: Iterable[Suggestion] = ()) -> None:
        super().__init__(message)
        self.suggestions = tuple(suggestions)


class InvalidInputError(TacitError, ValueError):
    """Outside data that cannot be used as it is."""


class InfeasibleError(TacitError):
    """What was asked does not fit within a limit; nothing was changed or spent.

    Attributes:
        coalition: whose limit it is: parties, sorted; for a ``Problem`` the key of the view, as in
            ``Problem.coalitions`` or ``Problem.views``, where the tuple of all earlier axes stands
            for full collusion.
        limit_bits: that limit.
        held_bits: what they hold already, at most.
        bits_short: how many bits the limit would have to grow to cover what is held.
        limited_by: on whom a study's limit was set: the parties themselves, others with them, any
            so many, or everyone; ``None`` where it is a limit that is about to be set.
    """

    def __init__(
        self,
        coalition: Hashable,
        limit_bits: float,
        held_bits: float,
        *,
        reason: str | None = None,
        limited_by: str | None = None,
        suggestions: Iterable[Suggestion] = (),
    ) -> None:
        self.coalition: Any = coalition
        self.limit_bits = limit_bits
        self.held_bits = held_bits
        self.bits_short = max(0.0, held_bits - limit_bits)
        self.limited_by = limited_by
        super().__init__(reason or self._holds_too_much(), suggestions=suggestions)

    def _holds_too_much(self) -> str:
        enough = ceil(self.held_bits * 1e9) / 1e9  # rounded up, so that pasting it works
        return (
            f"coalition {self.coalition!r} already holds {self.held_bits:.6g} bits about a record, "
            f"{self.bits_short:.3g} more than its limit of {self.limit_bits:.6g}: "
            f"raise the limit to at least {enough:.9f} or leave that coalition out"
        )


class CapError(InfeasibleError):
    """An answer that was given already says more about a record than its cap allows.

    ``limit_bits`` and ``held_bits`` are of the worst single answer: its factor is 2 to these bits.
    """

    def _holds_too_much(self) -> str:
        enough = ceil(self.held_bits * 1e9) / 1e9
        return (
            f"coalition {self.coalition!r} already has an answer that makes a record "
            f"{2.0**self.held_bits:.6g} times as likely as before ({self.held_bits:.6g} bits), "
            f"above its cap of {self.limit_bits:.6g} bits: raise the cap to at least "
            f"{enough:.9f} or leave it out"
        )


class CeilingError(InfeasibleError):
    """No release within the limits errs as little at every level as was asked.

    Limits on bits are not at fault by themselves: ``bits_short`` is 0.

    Attributes:
        level: a level of R whose ceiling is in the way: its number in a problem, its label in a
            study.
        ceiling: the largest error that was allowed there.
        reachable: an error that can be met there, if every ceiling is raised by as much.
        raised: level -> a ceiling that can be kept, where all are known.
    """

    def __init__(
        self,
        level: int | str,
        ceiling: float,
        reachable: float,
        *,
        raised: Mapping[str, float] | None = None,
        suggestions: Iterable[Suggestion] = (),
    ) -> None:
        self.level: Any = level
        self.ceiling = ceiling
        self.reachable = reachable
        self.raised = dict(raised or {})
        if self.raised:
            kept = ", ".join(f"{name}={most:g}" for name, most in self.raised.items())
            change = f"raise them to {kept}"
        else:
            enough = ceil(reachable * 1e4 - 1e-6) / 1e4
            more = ceil((reachable - ceiling) * 1e4 - 1e-6) / 1e4
            change = f"raise this one to {enough:.4f} and each other one by {max(0.0, more):.4f}"
        reason = (
            f"no release within the limits has an error of at most {ceiling:.6g} at level "
            f"{level!r} and meets the other ceilings: {change}, or leave some out"
        )
        super().__init__((), inf, 0.0, reason=reason, suggestions=suggestions)


class AcceptanceError(TacitError):
    """What was asked has a consequence that has to be accepted first; nothing was changed.

    Whoever has read the message asks again with the code among what is accepted: ``accept=`` of
    the method, ``--accept`` of the command.

    Attributes:
        code: names the consequence, in one word.
        figures: how large it is, as plain data.
    """

    def __init__(self, code: str, message: str, **figures: Any) -> None:
        self.code = code
        self.figures = figures
        super().__init__(message)


class UnconvergedError(TacitError):
    """A design whose certified gap stayed above what was asked; it must not be released."""


class KeyFileError(TacitError):
    """A study's key that is missing, damaged, readable by others, or not this study's."""


class LedgerError(TacitError):
    """A ledger that cannot be opened, reached or written to; nothing was recorded."""


class HeadMovedError(LedgerError):
    """Somebody else appended first: read on, design again, and append to the new head."""


class CorruptLedgerError(LedgerError):
    """A ledger whose entries are not what was once appended."""


class RolledBackError(LedgerError):
    """A ledger that has lost entries, so that what they spent would be spent again."""


class DeliveryError(TacitError):
    """A release that is recorded but whose file could not be written; asking again is free."""
