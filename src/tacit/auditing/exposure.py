"""What a coalition has learned, by every leakage measure: exact from its law, or bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tacit.arrays import Array
from tacit.information.measures import MEASURES, QUANTILES, Bounds


@dataclass(frozen=True, slots=True)
class Exposure:
    """What a coalition has learned about one record.

    Every figure is also an attribute, as ``exposure.maximal_leakage``.

    Attributes:
        is_exact: whether the figures are exact (double precision), or upper bounds on them.
        figures: name of each measure in ``tacit.information.measures.MEASURES`` -> its figure.
    """

    is_exact: bool
    figures: Mapping[str, float]

    def __getattr__(self, name: str) -> float:
        """A figure by its name."""
        if name.startswith("_") or name == "figures" or name not in self.figures:
            raise AttributeError(f"an exposure has no {name!r}: it has {', '.join(MEASURES)}")
        return self.figures[name]

    @property
    def pointwise_quantiles(self) -> Mapping[float, float]:
        """Quantile -> pointwise maximal leakage, over the outcomes y by p(y)."""
        return MappingProxyType({q: self.figures[f"pointwise_{100 * q:g}"] for q in QUANTILES})


def exact_exposure(law: Array) -> Exposure:
    """Every measure of a law p(y, x), [y, x]."""
    return Exposure(True, {name: row.of_joint(law.T) for name, row in MEASURES.items()})


def bounded_exposure(bounds: Bounds) -> Exposure:
    """Upper bounds on every measure, for a coalition whose law is not carried."""
    return Exposure(False, {name: row.bound(bounds) for name, row in MEASURES.items()})
