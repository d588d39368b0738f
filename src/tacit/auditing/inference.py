"""What a coalition can tell about one variable of a record, such as an attribute.

The variable R depends on the record only: R - X - Y. So its law with what the coalition holds is
p(r, y) = Σ_x p(r | x) p(x, y), and what bounds the leakage about X bounds that about R, too.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Inference:
    """What a coalition can tell about a variable.

    Attributes:
        about: name of the variable.
        exposure: every leakage measure, about this variable.
    """

    about: str
    exposure: Exposure

    @property
    def gain(self) -> float:
        """By how much the chance of a right guess grew, at most."""
        return self.exposure.guess_after - self.exposure.guess_before

    @property
    def times_as_likely(self) -> float:
        """The largest p(r | answers) / p(r), at most."""
        return float(2**self.exposure.pointwise_max)

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
        }


def infer_whole(known: Array | Bounds) -> Inference:
    """What is told about the whole record: by a law p(y, x), [y, x], or at most, by bounds."""
    if isinstance(known, Bounds):
        return Inference(WHOLE, bounded_exposure(known))
    return Inference(WHOLE, exact_exposure(known))


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
    return Inference(WHOLE, Exposure(True, dict(exact_exposure(known).figures) | guesses))


def class_variable(variable: Variable, p_x: Array, class_of_x: ClassOfX) -> Variable:
    """A variable as a function of the class: the mean of its law over the cells of each."""
    p_class = class_sums(class_of_x, p_x)
    sums = [class_sums(class_of_x, p_x * p_r) for p_r in variable.p_r_given_x.T]
    rows = np.stack(sums, axis=1) / np.where(p_class > 0, p_class, 1.0)[:, None]
    return Variable(variable.name, rows, variable.letters)


def infer(variable: Variable, known: Array | Bounds) -> Inference:
    """The same about a variable."""
    if not isinstance(known, Bounds):
        return Inference(variable.name, exact_exposure(known @ variable.p_r_given_x))
    p_r = known.p_x @ variable.p_r_given_x
    most = min(known.pointwise_max, -log2(p_r[p_r > 0].min()))
    return Inference(variable.name, bounded_exposure(replace(known, p_x=p_r, pointwise_max=most)))
