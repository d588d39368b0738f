"""A column of the table and how its values become levels, before anybody has looked at the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from sys import float_info
from typing import Literal

from tacit.errors import InvalidInputError

MOST_LEVELS = 1_000
"""Of one column; more would make cells that hold nearly nobody."""

OTHERS = "*"
"""In groups: every value that they do not name."""

Way = Literal["groups", "cuts", "quantiles"]
"""How a column gets fewer levels: an argument of ``Column``."""


class ColumnError(InvalidInputError):
    """A column cannot be used as it is declared.

    Attributes:
        column: its name.
        seen: what is wrong, in words.
        ways: what may be given for it instead; "" stands for nothing but the name.
    """

    def __init__(self, column: str, seen: str, ways: Sequence[Way | Literal[""]]) -> None:
        self.column, self.seen, self.ways = column, seen, tuple(ways)
        named = [f"{way}=..." if way else "the name alone" for way in self.ways]
        super().__init__(f"{seen}: give {' or '.join(named)}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column and how its values become levels. Without an option, every value is a level.

    Attributes:
        name: of the column.
        cuts: bins of numbers; a cut belongs to the bin below it.
        quantiles: that many bins of numbers, with about the same number of records each.
        groups: values brought together: the text of a value -> its group; ``"*"`` stands for every
            other value.
    """

    name: str
    _: KW_ONLY
    cuts: Sequence[int | float] | None = None
    quantiles: int | None = None
    groups: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidInputError("a column has no name: give the name it has in the table")
        options = {"cuts": self.cuts, "quantiles": self.quantiles, "groups": self.groups}
        given = [option for option, value in options.items() if value is not None]
        if len(given) > 1:
            raise InvalidInputError(f"{self.name}: {' and '.join(given)} are given: give only one")
        if self.cuts is not None:
            object.__setattr__(self, "cuts", _checked_cuts(self.name, self.cuts))
        if self.quantiles is not None:
            _check_quantiles(self.name, self.quantiles)
        if self.groups is not None:
            object.__setattr__(self, "groups", _checked_groups(self.name, self.groups))

    @staticmethod
    def of(column: str | Column) -> Column:
        """A column, or the column of this name; nothing else is read from a text."""
        return Column(column) if isinstance(column, str) else column


def _checked_cuts(name: str, cuts: Sequence[int | float]) -> tuple[int | float, ...]:
    shown = ", ".join(map(str, cuts))
    if not len(cuts) or not all(abs(cut) <= float_info.max for cut in cuts):
        raise InvalidInputError(
            f"{name}: cuts [{shown}] are not all finite numbers: give such as 30, 45, 60"
        )
    if any(low >= high for low, high in pairwise(cuts)):
        raise InvalidInputError(
            f"{name}: cuts {shown} are out of order: give them in rising order, each once"
        )
    return tuple(cuts)


def _check_quantiles(name: str, n: int) -> None:
    if not 2 <= n <= MOST_LEVELS:
        raise InvalidInputError(f"{name}: quantiles={n}: give from 2 to {MOST_LEVELS:,} of them")


def _checked_groups(name: str, groups: Mapping[str, str]) -> dict[str, str]:
    if not groups:
        raise InvalidInputError(f"{name}: the mapping is empty: give a group for every value")
    for value, group in groups.items():
        for text, seen in ((value, f"names {value!r}"), (group, f"takes {value!r} to {group!r}")):
            if type(text) is not str:
                raise InvalidInputError(
                    f"{name}: the mapping {seen}, which is no text: "
                    'give {"flu": "infection", "*": "other"}, the group of each value'
                )
    return dict(groups)
