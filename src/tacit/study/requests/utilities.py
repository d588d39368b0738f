"""How answers are judged: a measure that has a name, or a table of costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.problem import Utility
from tacit.study.books.records import MeasureRecord

WORDS = ("hamming", "absolute", "squared", "information")

_MOST_LISTED = 10


@dataclass(frozen=True, slots=True, init=False)
class Costs:
    """What each answer costs where each level is true.

    Attributes:
        rows: numbers >= 0, a row for each answer and a column for each true level.
    """

    rows: tuple[tuple[float, ...], ...]

    def __init__(self, rows: ArrayLike) -> None:
        """Check a table of costs, given as nested sequences or as an array [rhat, r]."""
        try:
            table = np.array(rows, dtype=float)
        except (ValueError, TypeError):
            raise _no_costs("rows of different lengths, or something that is no number") from None
        if table.ndim != 2 or table.size == 0:
            raise _no_costs("no rows of numbers")
        if not (np.isfinite(table) & (table >= 0)).all():
            raise _no_costs("a number that is below 0, infinite or NaN")
        object.__setattr__(self, "rows", tuple(map(tuple, table.tolist())))


@dataclass(frozen=True, slots=True)
class Measure:
    """How answers are judged.

    Attributes:
        kind: one of ``WORDS``, or ``"costs"``.
        costs: what answering row rhat costs where column r is true, for ``"costs"``.
    """

    kind: str
    costs: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def of(cls, utility: str | Costs) -> Measure:
        """As it is asked for: one of ``WORDS``, or a table of costs."""
        if isinstance(utility, Costs):
            return cls("costs", utility.rows)
        if utility not in WORDS:
            raise InvalidInputError(
                f"utility {utility!r} is none of {', '.join(WORDS)}: give one of these words, or a "
                "table of costs as tacit.Costs"
            )
        return cls(utility)

    @classmethod
    def of_record(cls, record: MeasureRecord) -> Measure:
        """As it stands in the ledger."""
        return cls(record.kind, record.costs)

    @property
    def record(self) -> MeasureRecord:
        """As it stands in the ledger."""
        return MeasureRecord(kind=self.kind, costs=self.costs)

    @property
    def is_information(self) -> bool:
        """Whether answers are judged by I(Rhat; R) rather than by a mean cost."""
        return self.kind == "information"

    def utility(self, labels: tuple[str, ...], numbers: tuple[float | None, ...] | None) -> Utility:
        """As the engine wants it.

        Args:
            labels: letters of R.
            numbers: where each letter lies on a scale, ``None`` for a missing value; ``None``
                altogether if the letters have no order.
        """
        if self.costs is not None:
            if any(len(row) != len(labels) for row in self.costs):
                raise InvalidInputError(
                    f"the table of costs has rows of {len(self.costs[0])} and the request has "
                    f"{len(labels)} levels: give one column for each of {_listed(labels)}"
                )
            return np.array(self.costs)
        if self.kind in ("absolute", "squared"):
            if numbers is None:
                raise InvalidInputError(
                    f"utility {self.kind!r} needs levels that are numbers or bins, and "
                    f"{_listed(labels)} have no order: use hamming, information or a table of costs"
                )
            return _distances(numbers) ** (2 if self.kind == "squared" else 1)
        return "information" if self.is_information else "hamming"


def _listed(labels: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, labels[:_MOST_LISTED]))
    more = len(labels) - _MOST_LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _distances(numbers: tuple[float | None, ...]) -> Array:
    """|a - b| between letters; a missing value is as far from all others as any two are."""
    known = [number for number in numbers if number is not None]
    farthest = max(known, default=0.0) - min(known, default=0.0)
    place = np.array([np.nan if number is None else number for number in numbers])
    apart = np.abs(place[:, None] - place)
    is_missing = np.isnan(place)
    apart[is_missing[:, None] ^ is_missing] = farthest
    apart[is_missing[:, None] & is_missing] = 0.0
    return np.asarray(apart)


def _no_costs(seen: str) -> InvalidInputError:
    return InvalidInputError(
        f"the table of costs has {seen}: give numbers >= 0, one row for each answer and one column "
        "for each true level"
    )
