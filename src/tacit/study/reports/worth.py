"""What answers are worth, in words: by the kind of their measure, beside a blind guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from tacit.problem import DISTORTIONS, INFORMATION, MEAN, SHARES, Distortion


@dataclass(frozen=True, slots=True)
class _Words:
    """How values of a measure are said.

    Attributes:
        unit: a value with its unit.
        worth: what answers of a value are.
        guess: what a blind guess of a value does.
    """

    unit: Callable[[float], str]
    worth: Callable[[float], str]
    guess: Callable[[float], str]


_COSTS = _Words(
    unit=lambda value: f"a cost of {value:.4f} on average",
    worth=lambda value: f"answers cost {value:.3g} on average",
    guess=lambda blind: f"costs {blind:.3g}",
)

_OTHERS = {
    INFORMATION: _Words(
        unit=lambda value: f"{value:.4f} bits about what was asked",
        worth=lambda value: f"each answer tells {value:.3f} bits about what was asked",
        guess=lambda _: "tells none",
    ),
    SHARES: _Words(
        unit=lambda value: f"{sqrt(value):.4f} / sqrt(n), the largest standard error of a share",
        worth=lambda value: (
            "the share of every level among n records is estimated with a standard error of at "
            f"most {sqrt(value):.3g} / sqrt(n)"
        ),
        guess=lambda _: "estimates none",
    ),
}


def _words_of(kind: str) -> _Words:
    named = DISTORTIONS.get(kind)
    return _OTHERS.get(kind, _COSTS) if named is None else _words_of_distortion(named)


def _words_of_distortion(named: Distortion) -> _Words:
    return _Words(
        unit=lambda value: named.in_words.format(value=f"{value:.4f}"),
        worth=lambda value: f"answers are {named.in_words.format(value=f'{value:.3g}')}",
        guess=lambda blind: named.guess_in_words.format(value=f"{blind:.3g}"),
    )


def value_in_units(kind: str, value: float) -> str:
    """What answers are worth, with its unit."""
    return _words_of(kind).unit(value)


def value_in_words(kind: str, value: float, blind: float | None, objective: str = MEAN) -> str:
    """What answers are worth, beside a blind guess; ``None`` where that is worth nothing."""
    worth = worth_in_words(kind, value, blind, objective)
    if blind is not None and _is_share(kind):
        n = _out_of(1 - value, 1 - blind)
        return f"{worth}; a blind guess gets {round(n * (1 - blind)):,} of {n:,}"
    return f"{worth}; a blind guess {_words_of(kind).guess(blind or 0.0)}"


def worth_in_words(kind: str, value: float, blind: float | None, objective: str = MEAN) -> str:
    """What answers are worth; as fine as it takes to tell them from a blind guess."""
    if objective != MEAN:
        return f"at the worst level, {worth_in_words(kind, value, blind)}"
    if blind is not None and _is_share(kind):
        n = _out_of(1 - value, 1 - blind)
        return f"about {round(n * (1 - value)):,} of {n:,} values correct"
    return _words_of(kind).worth(value)


def _is_share(kind: str) -> bool:
    """Whether a value is the share of wrong answers."""
    return kind in DISTORTIONS and DISTORTIONS[kind].is_share


def _out_of(share: float, guess: float) -> int:
    """10, or the power of 10 that tells both shares well enough, and from each other."""
    tens = all(abs(10 * each - round(10 * each)) < 0.15 for each in (share, guess))
    for n in (10, 100, 1_000) if tens else (100, 1_000):
        is_told_apart = round(n * share) != round(n * guess)
        if is_told_apart and (0 < round(n * share) < n or share in (0, 1)):
            return n
    return 10_000
