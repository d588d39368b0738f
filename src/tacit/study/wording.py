"""Figures in words that a custodian can pass on."""

from __future__ import annotations

from tacit.scheme.policy import Parties
from tacit.study.utilities import Measure


def coalition_name(coalition: Parties, everyone: Parties) -> str:
    """How people call a coalition."""
    if coalition == everyone and len(everyone) > 1:
        return "everyone"
    return " + ".join(sorted(coalition))


def value_in_words(measure: Measure, value: float, blind: float) -> str:
    """What answers are worth, beside a blind guess."""
    if measure.is_information:
        return f"each answer tells {value:.3f} bits about what was asked; a blind guess tells none"
    if measure.kind == "hamming":
        return f"about {_of_ten(1 - value)} values correct; a blind guess gets {_of_ten(1 - blind)}"
    what = {"absolute": "levels off", "squared": "levels off, squared"}.get(measure.kind, "cost")
    return f"on average {value:.3g} {what}; a blind guess: {blind:.3g}"


def _of_ten(share: float) -> str:
    """A share as so many of 10, of 100 where ten is too coarse to say it."""
    if abs(share * 10 - round(share * 10)) < 0.15 and 0 < round(share * 10) < 10:
        return f"{round(share * 10)} of 10"
    return f"{round(share * 100)} of 100"
