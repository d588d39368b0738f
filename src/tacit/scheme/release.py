"""Releases: as designed, and as made."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tacit.arrays import Array
from tacit.limits import Parties
from tacit.markup import html_table
from tacit.problem import ViewKey
from tacit.scheme.memory import Step
from tacit.scheme.variable import Variable
from tacit.scheme.views import ClassOfX
from tacit.solution import Solution

EVERYONE_LETTERS = "everyone"
"""The view of a problem through which everyone's cap is met where states do not tell enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The best release for a request, before anything has changed.

    Attributes:
        party: who is to receive it.
        variable: what was asked.
        solution: the certified optimum.
        table: p(rhat | m, class of x), [m, class, rhat], m being the state of the memory now.
        class_of_x: class of each cell, [x].
        limits: bits that each coalition may hold after it, everybody's own included.
        keys: where ``solution`` speaks of each coalition in ``limits``.
        covered: coalitions whose limit is met through the bound on everyone, because their own
            law is not carried.
        caps: bits that the worst single answer of each coalition with a cap may have after it.
        source: number of the earlier step whose letters it hands on, from 0; ``None`` for letters
            of its own. ``table`` is then what the memory knows of them.
    """

    party: str
    variable: Variable
    solution: Solution
    table: Array
    class_of_x: ClassOfX
    limits: dict[Parties, float]
    keys: dict[Parties, ViewKey]
    covered: tuple[tuple[str, ...], ...]
    caps: dict[Parties, float]
    source: int | None = None

    @property
    def prices(self) -> dict[Parties, float]:
        """Coalition -> what one more bit for it would be worth, at most."""
        multipliers = self.solution.multipliers
        return {each: multipliers.get(self.keys[each], 0.0) for each in self.limits}

    @property
    def channel(self) -> Array:
        """p(rhat | m, x) on all cells, [m, x, rhat]; may be large, and is not kept."""
        return np.asarray(self.table[:, self.class_of_x])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(Step):
    """One answered request.

    Attributes:
        variable: what was asked.
        solution: the design, with its certificate.
        p_rhat_given_r: what the recipient may know, [r, rhat].
        covered: coalitions whose limit was met through the bound on everyone, because their own
            law is not carried.
        source: number of the earlier step whose letters these are, from 0; ``None`` for letters of
            its own. Its table is then that of the step, and the memory has not moved.
    """

    variable: Variable
    solution: Solution
    p_rhat_given_r: Array
    covered: tuple[tuple[str, ...], ...]
    source: int | None = field(default=None, kw_only=True)

    @property
    def value(self) -> float:
        """E d(Rhat, R); I(Rhat; R) in bits for information; n times a variance for shares."""
        return self.solution.value

    def __repr__(self) -> str:
        """Who received what, what it is worth, and what everyone holds after it."""
        return (
            f"Release({self.variable.name!r} to {self.party!r}: {self._worth}, "
            f"everyone holds {self.everyone_bits:.4f} bits)"
        )

    @property
    def _worth(self) -> str:
        problem = self.solution.problem
        unit = "bits of information" if problem.is_information else "distortion"
        unit = "/ n is the largest variance of a share" if problem.is_shares else unit
        return f"{self.value:.4f} {unit}"

    def _repr_html_(self) -> str:
        """What the recipient may know, p(rhat | r), as a table for notebooks."""
        letters = [str(letter) for letter in range(self.p_rhat_given_r.shape[1])]
        rows = [
            (str(letter), *(f"{share:.4f}" for share in law))
            for letter, law in zip(self.variable.letters, self.p_rhat_given_r, strict=True)
        ]
        return html_table(repr(self), (self.variable.name, *letters), rows)
