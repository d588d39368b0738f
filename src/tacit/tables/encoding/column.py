"""A column of the table and how its values become levels, before anybody has looked at the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import pairwise
from sys import float_info
from typing import Literal

from tacit.errors import InvalidInputError

MOST_LEVELS = 1_000
"""Of one column; more would make cells that hold nearly nobody."""

OTHERS = "*"
"""In groups: every value that they do not name."""

Way = Literal["groups", "cuts", "quantiles", "by", "top"]
"""How a column gets fewer levels: an argument of ``Column``."""

Cut = int | float | Decimal | date | datetime | time
"""Where a bin ends. A date stands for its whole day."""

Period = Literal["year", "month"]

Stray = Literal["refuse", "missing"]

PERIODS: tuple[Period, ...] = ("year", "month")


class ColumnError(InvalidInputError):
    """A column cannot be used as it is declared.

    Attributes:
        column: its name.
        seen: what is wrong, in words.
        ways: what may be given for it instead; "" stands for nothing but the name.
        cuts: those that would do, where some are known.
    """

    def __init__(
        self, column: str, seen: str, ways: Sequence[Way | Literal[""]], cuts: str = ""
    ) -> None:
        self.column, self.seen, self.ways, self.cuts = column, seen, tuple(ways), cuts
        known = {"": "the name alone"} | ({"cuts": f"cuts=[{cuts}]"} if cuts else {})
        named = [known.get(way, f"{way}=...") for way in self.ways]
        super().__init__(f"{seen}: give {' or '.join(named)}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column and how its values become levels. Without an option, every value is a level.

    Attributes:
        name: of the column.
        cuts: bins of numbers, dates or times; a cut belongs to the bin below it.
        quantiles: that many bins, with about the same number of records each.
        groups: values brought together: the text of a value -> its group; ``"*"`` stands for every
            other value.
        by: the year of a date, or its year and month.
        top: that many of the most frequent values; all others are one level.
        stray: what is done with a text in a column that is read as numbers, dates or times and
            that is none: the column is refused, or the value counts as missing.
    """

    name: str
    _: KW_ONLY
    cuts: Sequence[Cut] | None = None
    quantiles: int | None = None
    groups: Mapping[str, str] | None = None
    by: Period | None = None
    top: int | None = None
    stray: Stray = "refuse"

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidInputError("a column has no name: give the name it has in the table")
        options = ("cuts", "quantiles", "groups", "by", "top")
        given = [option for option in options if getattr(self, option) is not None]
        if len(given) > 1:
            raise InvalidInputError(f"{self.name}: {' and '.join(given)} are given: give only one")
        if self.cuts is not None:
            object.__setattr__(self, "cuts", _checked_cuts(self.name, self.cuts))
        if self.quantiles is not None:
            _check_number(self.name, "quantiles", self.quantiles, 2)
        if self.top is not None:
            _check_number(self.name, "top", self.top, 1)
        if self.by not in (None, *PERIODS):
            raise InvalidInputError(f"{self.name}: by={self.by}: give {' or '.join(PERIODS)}")
        if self.stray not in ("refuse", "missing"):
            raise InvalidInputError(f"{self.name}: stray={self.stray}: give refuse or missing")
        if self.groups is not None:
            object.__setattr__(self, "groups", _checked_groups(self.name, self.groups))

    @staticmethod
    def of(column: str | Column) -> Column:
        """A column, or the column of this name; nothing else is read from a text."""
        return Column(column) if isinstance(column, str) else column


@dataclass(frozen=True, slots=True)
class Declaration:
    """Which columns of a table make a study, before anybody has looked at the data.

    Attributes:
        ids: what tells records apart, one column or several together.
        attributes: the private attributes; x counts their levels in this order.
        externals: columns that may be asked for though they are no function of x.
    """

    ids: Sequence[str]
    attributes: Sequence[Column]
    externals: Sequence[Column] = ()

    def __post_init__(self) -> None:
        if not self.ids:
            raise InvalidInputError("no id column is named: say what tells records apart")
        # SQL does not tell Age from age.
        for name, times in Counter(map(str.casefold, self.names)).items():
            if times > 1:
                raise InvalidInputError(
                    f"column {name!r} is named {times} times: an id, a private attribute and an "
                    "external column are different columns"
                )
        if not self.attributes:
            raise InvalidInputError("no private attribute is named: there is nothing to protect")

    @property
    def names(self) -> list[str]:
        """All columns to read."""
        return [*self.ids, *(column.name for column in (*self.attributes, *self.externals))]


def _checked_cuts(name: str, cuts: Sequence[Cut]) -> tuple[Cut, ...]:
    shown = ", ".join(map(str, cuts))
    cuts = tuple(map(_in_utc, cuts))
    kinds = {_kind_of(cut) for cut in cuts}
    if len(kinds) != 1 or None in kinds:
        raise InvalidInputError(
            f"{name}: cuts [{shown}] are not all finite numbers, or all dates, or all times: give "
            "such as 30, 45, 60"
        )
    if any(low >= high for low, high in pairwise(cuts)):  # type: ignore[operator]  # of one kind
        raise InvalidInputError(
            f"{name}: cuts {shown} are out of order: give them in rising order, each once"
        )
    return cuts


def _in_utc(cut: Cut) -> Cut:
    if isinstance(cut, datetime) and cut.tzinfo is not None:
        return cut.astimezone(UTC).replace(tzinfo=None)
    return cut


def _kind_of(cut: Cut) -> type | None:
    """What may be compared with a cut; ``None`` for a number that is not finite."""
    if isinstance(cut, Decimal) and not cut.is_finite():
        return None
    if isinstance(cut, int | float | Decimal):
        return float if -float_info.max <= cut <= float_info.max else None
    return next(kind for kind in (datetime, date, time) if isinstance(cut, kind))


def _check_number(name: str, option: str, n: int, fewest: int) -> None:
    if not fewest <= n <= MOST_LEVELS:
        raise InvalidInputError(
            f"{name}: {option}={n}: give from {fewest} to {MOST_LEVELS:,} of them"
        )


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
