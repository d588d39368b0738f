"""The one exception tree of tacit. Every message names what was seen and what to do."""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil


class TacitError(Exception):
    """Root of everything that tacit raises on purpose."""


class InvalidInputError(TacitError, ValueError):
    """Outside data that cannot be used as it is."""


class InfeasibleError(TacitError):
    """A limit that no release can meet, because more has leaked already.

    Attributes:
        coalition: key of the view whose limit is too low, as in ``Problem.coalitions`` or
            ``Problem.views``; the tuple of all earlier axes stands for full collusion.
        bits_short: how many bits the limit would have to grow to become feasible.
    """

    def __init__(self, coalition: Hashable, limit_bits: float, leaked_bits: float) -> None:
        self.coalition = coalition
        self.limit_bits = limit_bits
        self.leaked_bits = leaked_bits
        self.bits_short = leaked_bits - limit_bits
        enough = ceil(leaked_bits * 1e9) / 1e9  # rounded up, so that pasting it works
        super().__init__(
            f"coalition {coalition!r} already holds {leaked_bits:.6g} bits about a record, "
            f"{self.bits_short:.3g} more than its limit of {limit_bits:.6g}: "
            f"raise the limit to at least {enough:.9f} or leave that coalition out"
        )


class RefusedError(InfeasibleError):
    """A release that some coalition's limit does not allow; nothing was changed.

    Attributes:
        coalition: the parties whose limit is too low, sorted.
        bits_asked: the limit that was asked for, or that a standing policy sets.
        bits_left: what that leaves; negative.
        largest_individual: the largest ``individual`` that the other limits allow.
    """

    coalition: tuple[str, ...]

    def __init__(
        self,
        coalition: tuple[str, ...],
        bits_asked: float,
        bits_held: float,
        largest_individual: float,
    ) -> None:
        super().__init__(coalition, bits_asked, bits_held)
        self.bits_asked = bits_asked
        self.bits_left = bits_asked - bits_held
        self.largest_individual = largest_individual


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


class NotWithinLimitsError(TacitError):
    """A request to a study that its limits do not allow; nothing was spent.

    Attributes:
        coalition: the parties whose limit stands in the way, sorted.
        limit_bits: that limit.
        held_bits: what they hold already, at most.
        fits: the nearest command that would be answered; ``None`` if there is none.
        limited_by: on whom that limit was set: the parties themselves, others with them, any so
            many, or everyone; ``None`` where it is a limit that is about to be set.
    """

    def __init__(
        self,
        reason: str,
        coalition: tuple[str, ...],
        limit_bits: float,
        held_bits: float,
        fits: str | None,
        limited_by: str | None = None,
    ) -> None:
        self.coalition = coalition
        self.limit_bits = limit_bits
        self.held_bits = held_bits
        self.fits = fits
        self.limited_by = limited_by
        super().__init__(reason + (f"; what fits: {fits}" if fits else ""))
