"""What a good answer is, as a custodian says it: a word, or a table of costs in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.errors import InvalidInputError
from tacit.problem import Array, Utility
from tacit.study.records import MeasureRecord

WORDS = ("hamming", "absolute", "squared", "information")


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
    def read(cls, text: str) -> Measure:
        """From the command line: a word, or the path of a JSON or CSV table of costs."""
        if text in WORDS:
            return cls(text)
        path = Path(text)
        if not path.is_file():
            raise InvalidInputError(
                f"utility {text!r} is neither one of {', '.join(WORDS)} nor a file of costs: "
                "give one of these words, or the path of a table with a row for each answer"
            )
        return cls("costs", _costs(path))

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

    def utility(self, n_letters: int, numbers: tuple[float | None, ...] | None) -> Utility:
        """As the engine wants it.

        Args:
            n_letters: letters of R.
            numbers: where each letter lies on a scale, ``None`` for a missing value; ``None``
                altogether if the letters have no order.
        """
        if self.costs is not None:
            if any(len(row) != n_letters for row in self.costs):
                raise InvalidInputError(
                    f"the table of costs has rows of {len(self.costs[0])} but the request has "
                    f"{n_letters} letters: give one column for each letter, in their order"
                )
            return np.array(self.costs)
        if self.kind in ("absolute", "squared"):
            if numbers is None:
                raise InvalidInputError(
                    f"utility {self.kind!r} needs ordered letters and these have no order: "
                    "use hamming, information or a table of costs"
                )
            return _distances(numbers) ** (2 if self.kind == "squared" else 1)
        return "information" if self.is_information else "hamming"


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


def _costs(path: Path) -> tuple[tuple[float, ...], ...]:
    """A table of numbers >= 0, all rows of one length."""
    text = path.read_text()
    try:
        rows = (
            json.loads(text)
            if path.suffix == ".json"
            else [line.split(",") for line in text.splitlines() if line.strip()]
        )
        table = np.array(rows, dtype=float)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{path} is no table of costs: {error}") from error
    if table.ndim != 2 or table.size == 0 or not (np.isfinite(table) & (table >= 0)).all():
        raise InvalidInputError(
            f"{path} is no table of costs: give rows of one length, numbers >= 0, "
            "one row for each answer and one column for each true letter"
        )
    return tuple(map(tuple, table.tolist()))
