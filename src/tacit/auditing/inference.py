"""What a coalition can tell about one variable of a record, such as an attribute.

The variable R depends on the record only: R - X - Y. So its law with what the coalition holds is
p(r, y) = Σ_x p(r | x) p(x, y), and what bounds the leakage about X bounds that about R, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.auditing.exposure import Exposure, bounded_exposure, exact_exposure
from tacit.information.measures import Bounds
from tacit.scheme import Variable
from tacit.scheme.views import ClassOfX, class_sums

WHOLE = "all levels together"
"""What the record itself is called among the variables that are inferred."""

_SOME = ("some combination",)
"""One letter for all combinations of levels."""

_CERTAIN = 1 - 1e-6
"""A level that is at least so likely counts as certain: it is wrong once in a million times."""


@dataclass(frozen=True, slots=True)
class Inference:
    """What a coalition can tell about a variable.

    Attributes:
        about: name of the variable.
        exposure: every leakage measure, about this variable.
        certain: level -> share of the records for which what was received leaves no other level;
            empty where no answer settles anything, ``None`` where that is not known.
    """

    about: str
    exposure: Exposure
    certain: Mapping[str, float] | None

    @property
    def gain(self) -> float:
        """By how much the chance of a right guess grew, at most."""
        return self.exposure.guess_after - self.exposure.guess_before

    @property
    def times_as_likely(self) -> float:
        """The largest p(r | answers) / p(r), at most."""
        return float(2**self.exposure.pointwise_max)

    @property
    def certain_share(self) -> float:
        """Share of the records whose level is known for certain, as far as that is known."""
        return sum((self.certain or {}).values())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        exposure = self.exposure
        return {
            "about": self.about,
            "is_exact": exposure.is_exact,
            "mutual_information": exposure.mutual_information,
            "chance_of_right_guess": {
                "before": exposure.guess_before,
                "after": exposure.guess_after,
            },
            "times_as_likely": self.times_as_likely,
            "certain": None if self.certain is None else dict(self.certain),
        }


def infer_whole(known: Array | Bounds) -> Inference:
    """What is told about the whole record: by a law p(y, x), [y, x], or at most, by bounds."""
    if isinstance(known, Bounds):
        return Inference(WHOLE, bounded_exposure(known), _nothing(known, known.p_x))
    return Inference(WHOLE, exact_exposure(known), _certain(_SOME, known, known.sum(axis=1)))


def infer_record(known: Array | Bounds, p_x: Array, class_of_x: ClassOfX) -> Inference:
    """What is told about the whole record, from what is told about its class.

    Given the class, what was received does not depend on the cell, so that only figures about
    guesses differ: a guess names the likeliest cell of a class.

    Args:
        known: a law p(y, class), [y, class], or bounds.
        p_x: law of the cells.
        class_of_x: class of each cell.
    """
    if isinstance(known, Bounds):
        return infer_whole(replace(known, p_x=p_x))
    likeliest = np.zeros(known.shape[1])
    np.maximum.at(likeliest, class_of_x, p_x)
    p_class = class_sums(class_of_x, p_x)
    heavy = known * (likeliest / np.where(p_class > 0, p_class, 1.0))
    before = float(p_x.max())
    after = min(1.0, max(before, float(heavy.max(axis=1).sum())))  # sums may round past either
    guesses = {
        "guess_before": before,
        "guess_after": after,
        "min_entropy_leakage": log2(after / before),
    }
    exposure = Exposure(True, dict(exact_exposure(known).figures) | guesses)
    return Inference(WHOLE, exposure, _certain(_SOME, heavy, known.sum(axis=1)))


def class_variable(variable: Variable, p_x: Array, class_of_x: ClassOfX) -> Variable:
    """A variable as a function of the class: the mean of its law over the cells of each."""
    p_class = class_sums(class_of_x, p_x)
    sums = [class_sums(class_of_x, p_x * p_r) for p_r in variable.p_r_given_x.T]
    rows = np.stack(sums, axis=1) / np.where(p_class > 0, p_class, 1.0)[:, None]
    return Variable(variable.name, rows, variable.letters)


def infer(variable: Variable, known: Array | Bounds) -> Inference:
    """The same about a variable."""
    if not isinstance(known, Bounds):
        joint = known @ variable.p_r_given_x
        certain = _certain(variable.letters, joint, joint.sum(axis=1))
        return Inference(variable.name, exact_exposure(joint), certain)
    p_r = known.p_x @ variable.p_r_given_x
    most = min(known.pointwise_max, -log2(p_r[p_r > 0].min()))
    exposure = bounded_exposure(replace(known, p_x=p_r, pointwise_max=most))
    return Inference(variable.name, exposure, _nothing(known, p_r))


def certain_levels(variable: Variable, told: Array) -> dict[str, float]:
    """Level -> share of the records that some answer says have it for certain.

    Args:
        variable: with p(level, class), [class, level], in the place of its law.
        told: p(answer | class), [answer, class].
    """
    joint = told @ variable.p_r_given_x
    return _certain(variable.letters, joint, joint.sum(axis=1))


def _nothing(bounds: Bounds, p_r: Array) -> dict[str, float] | None:
    """That no level is certain, where bounds say so; ``None`` where they do not.

    If a level is certain after some answers y, then p(y | x) / p(y | x') >= p(y | r) / p(y | not r)
    for some cells x and x', and this is at least (1 / p(r) - 1) / (1 / _CERTAIN - 1).
    """
    most = p_r.max()
    if most >= _CERTAIN:
        return {}  # it was certain before
    least = log2((1 / most - 1) / (1 / _CERTAIN - 1))
    return {} if bounds.local_dp_epsilon < least else None


def _certain(letters: Sequence[object], joint: Array, p_y: Array) -> dict[str, float]:
    """Level -> share of the records that are known to have it, from p(y, r), [y, r], and p(y).

    All levels together where there is one letter for them all.
    """
    if joint.sum(axis=0).max() >= _CERTAIN:
        return {}  # it was certain before
    level = joint.argmax(axis=1)
    is_certain = (p_y > 0) & (joint.max(axis=1) >= _CERTAIN * p_y)
    if len(letters) == 1:
        level = np.zeros_like(level)
    return {
        str(letters[r]): float(p_y[is_certain & (level == r)].sum())
        for r in sorted(set(level[is_certain].tolist()))
    }
