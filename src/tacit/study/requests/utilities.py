"""What a good answer is, as a custodian says it: a word, or a table of costs in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacit.errors import InvalidInputError
from tacit.problem import DISTORTIONS, INFORMATION, Utility
from tacit.study.books.records import MeasureRecord

_MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class Measure:
    """How answers are judged.

    Attributes:
        kind: one of ``measure_names()``, or ``"costs"``.
        costs: what answering row rhat costs where column r is true, for ``"costs"``.
        given: how it was given on the command line; costs from the ledger were not.
    """

    kind: str
    costs: tuple[tuple[float, ...], ...] | None = None
    given: str | None = field(default=None, compare=False)

    @classmethod
    def read(cls, text: str) -> Measure:
        """From the command line: a word, or the path of a JSON or CSV table of costs."""
        names = measure_names()
        if text in names:
            return cls(text, given=text)
        path = Path(text)
        if not path.is_file():
            raise InvalidInputError(
                f"utility {text!r} is neither one of {', '.join(names)} nor a file of costs: "
                "give one of these words, or the path of a table with a row for each answer"
            )
        return cls("costs", _costs(path), given=text)

    @classmethod
    def of_record(cls, record: MeasureRecord) -> Measure:
        """As it stands in the ledger."""
        return cls(record.kind, record.costs, None if record.costs else record.kind)

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


def measure_names() -> tuple[str, ...]:
    """The measures that have a name."""
    return (*DISTORTIONS, INFORMATION)


def _listed(labels: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, labels[:_MOST_LISTED]))
    more = len(labels) - _MOST_LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _costs(path: Path) -> tuple[tuple[float, ...], ...]:
    """A table of numbers >= 0, all rows of one length."""
    try:
        text = path.read_text(encoding="utf-8")
        rows = (
            json.loads(text)
            if path.suffix == ".json"
            else [line.split(",") for line in text.splitlines() if line.strip()]
        )
        table = np.array(rows, dtype=float)
    except OSError as error:
        raise InvalidInputError(f"the costs {path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError):
        raise _no_costs(path, "rows of different lengths, or something that is no number") from None
    if table.ndim != 2 or table.size == 0:
        raise _no_costs(path, "no rows of numbers")
    if not (np.isfinite(table) & (table >= 0)).all():
        raise _no_costs(path, "a number that is below 0, infinite or NaN")
    return tuple(map(tuple, table.tolist()))


def _no_costs(path: Path, seen: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path} is no table of costs, it has {seen}: give numbers >= 0, one row for each answer "
        "and one column for each true level"
    )
