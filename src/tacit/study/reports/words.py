"""Figures in words that a custodian can pass on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line loads these words before anything else of tacit
    from tacit.policy import Limit, Parties
    from tacit.problem import Distortion

DIGITS = 4
"""Decimals of a bit that people are shown."""

ROLLBACK_ACCEPTED = (
    "a rollback of the ledger was accepted: what it has lost is not counted, and whoever holds it "
    "may hold more than is shown"
)
"""Said of a study whose ledger has lost entries for good."""


def coalition_name(coalition: Parties, everyone: Parties) -> str:
    """How people call a coalition."""
    if coalition == everyone and len(everyone) > 1:
        return "everyone"
    return " + ".join(sorted(coalition))


def bits_up(bits: float, digits: int = DIGITS) -> str:
    """What is held, or would be learned: the figure shown is never below it."""
    return _rounded(Decimal(bits), digits, ROUND_CEILING)


def bits_down(bits: float, digits: int = DIGITS) -> str:
    """What is left, or may be asked for: the figure shown is never above it."""
    # By the shortest text of the float: 0.3 is meant as 0.3, though the float is a hair below.
    return _rounded(Decimal(repr(float(bits))), digits, ROUND_FLOOR)


def external_in_words(name: str) -> str:
    """What an answer about an external column is: the channel reads the private attributes only."""
    return f"{name} is predicted from the private attributes; nobody's own {name} is read"


def limit_in_words(bits: float) -> str:
    """A limit as it was given."""
    return f"{bits:.12g}"


def whom_in_words(limits: Sequence[Limit]) -> str:
    """Whom limits are on."""
    return " and ".join(limit.in_words for limit in limits)


def bits_of(limits: Sequence[Limit], coalition: Parties) -> str:
    """The bits of limits that are equal, and whose they are, said of a coalition."""
    shown = limit_in_words(limits[0].bits)
    if all(limit.parties == coalition for limit in limits):
        return f"{'its' if len(coalition) == 1 else 'their'} {shown} bits"
    return f"the {shown} bits that {whom_in_words(limits)} may hold"


def is_used_up(bits: float, limit: float) -> bool:
    """Whether what is held is shown as no less than its limit."""
    return float(bits_up(bits)) >= limit


def time_in_words(time: str) -> str:
    """When an entry was recorded, to the second; as it stands there if that is no time."""
    try:
        when = datetime.fromisoformat(time)
    except ValueError:
        return time
    if when.utcoffset() != timedelta(0):
        return time
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def value_in_units(kind: str, value: float) -> str:
    """What answers are worth, with its unit."""
    named = _distortion(kind)
    if named is not None:
        return named.in_words.format(value=f"{value:.4f}")
    if kind == "information":
        return f"{value:.4f} bits about what was asked"
    return f"a cost of {value:.4f} on average"


def _distortion(kind: str) -> Distortion | None:
    """The distortion of that name; tables of costs and information are none."""
    # Here, because the command line loads these words first, and NumPy takes its time.
    from tacit.problem import DISTORTIONS

    return DISTORTIONS.get(kind)


def _rounded(bits: Decimal, digits: int, rounding: str) -> str:
    return f"{bits.quantize(Decimal(1).scaleb(-digits), rounding):f}"


def value_in_words(kind: str, value: float, blind: float) -> str:
    """What answers are worth, beside a blind guess."""
    worth = worth_in_words(kind, value, blind)
    named = _distortion(kind)
    if kind == "information":
        return f"{worth}; a blind guess tells none"
    if named is None:
        return f"{worth}; a blind guess costs {blind:.3g}"
    if named.is_share:
        n = _out_of(1 - value, 1 - blind)
        return f"{worth}; a blind guess gets {round(n * (1 - blind)):,} of {n:,}"
    return f"{worth}; a blind guess {named.guess_in_words.format(value=f'{blind:.3g}')}"


def worth_in_words(kind: str, value: float, blind: float) -> str:
    """What answers are worth; as fine as it takes to tell them from a blind guess."""
    named = _distortion(kind)
    if kind == "information":
        return f"each answer tells {value:.3f} bits about what was asked"
    if named is None:
        return f"answers cost {value:.3g} on average"
    if named.is_share:
        n = _out_of(1 - value, 1 - blind)
        return f"about {round(n * (1 - value)):,} of {n:,} values correct"
    return f"answers are {named.in_words.format(value=f'{value:.3g}')}"


def _out_of(share: float, guess: float) -> int:
    """10, or the power of 10 that tells both shares well enough, and from each other."""
    tens = all(abs(10 * each - round(10 * each)) < 0.15 for each in (share, guess))
    for n in (10, 100, 1_000) if tens else (100, 1_000):
        is_told_apart = round(n * share) != round(n * guess)
        if is_told_apart and (0 < round(n * share) < n or share in (0, 1)):
            return n
    return 10_000
