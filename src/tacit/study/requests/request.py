"""A request to a study: who asks for what, judged how, for how many bits."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.problem import DISTORTIONS, INFORMATION, Utility
from tacit.study.books.records import MeasureRecord
from tacit.study.requests.question import Question

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
        kind: one of ``measure_names()``, or ``"costs"``.
        costs: what answering row rhat costs where column r is true, for ``"costs"``.
    """

    kind: str
    costs: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def of(cls, utility: str | Costs) -> Measure:
        """As it is asked for: one of ``measure_names()``, or a table of costs."""
        if isinstance(utility, Costs):
            return cls("costs", utility.rows)
        if utility not in measure_names():
            raise InvalidInputError(
                f"utility {utility!r} is none of {', '.join(measure_names())}: give one of these "
                "words, or a table of costs as tacit.Costs"
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
        return self.kind == INFORMATION

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
        if self.is_information:
            return INFORMATION
        named = DISTORTIONS[self.kind]
        if numbers is None and named.needs_numbers:
            raise InvalidInputError(
                f"utility {self.kind!r} needs levels that are numbers or bins, and "
                f"{_listed(labels)} have no order: use hamming, information or a table of costs"
            )
        places = range(len(labels)) if numbers is None else numbers
        return named.matrix(np.array([np.nan if at is None else at for at in places], dtype=float))


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A question with all that makes it a request: who asks, judged how, for how many bits.

    Attributes:
        party: who asks.
        question: what for.
        measure: how the answer is judged.
        bits: what the party may learn from it; ``None`` for all that is left to it.
    """

    party: str
    question: Question
    measure: Measure
    bits: float | None

    @property
    def utility(self) -> Utility:
        """As the engine wants it."""
        return self.measure.utility(self.question.labels, self.question.numbers)

    @property
    def identity(self) -> str:
        """Two requests with the same identity are one: the second gets the first one's release.

        The wording is left out: ``age > 60`` and ``not age <= 60`` ask for the same.
        """
        question = self.question.record.model_dump(mode="json", exclude={"name", "sql"})
        what = [self.party, question, self.measure.record.model_dump(mode="json"), self.bits]
        text = json.dumps(what, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def blind_value(self, p_x: Array) -> float:
        """What answering without looking at the record is worth: the best constant letter."""
        if self.measure.is_information:
            return 0.0
        p_r = p_x @ self.question.request.p_r_given_x
        return float((distortion(self) @ p_r).min())


def distortion(request: Request) -> Array:
    """The matrix d[rhat, r] of a request whose answers are judged by a mean cost."""
    return np.asarray(request.utility, dtype=float)


def measure_names() -> tuple[str, ...]:
    """The measures that have a name."""
    return (*DISTORTIONS, INFORMATION)


def _listed(labels: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, labels[:_MOST_LISTED]))
    more = len(labels) - _MOST_LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _no_costs(seen: str) -> InvalidInputError:
    return InvalidInputError(
        f"the table of costs has {seen}: give numbers >= 0, one row for each answer and one column "
        "for each true level"
    )
