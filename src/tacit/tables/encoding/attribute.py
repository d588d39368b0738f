"""A column with its levels, once the data has been looked at: frozen, and kept in JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import isfinite
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
)

from tacit.tables.encoding.column import Period

Letter = bool | int | float | Decimal | str | None
"""A value as people see it; None is a missing one."""

_FLOAT_DIGITS = 15
"""A decimal of no more digits is what a float of it is written as."""


def is_integer(stored_type: str) -> bool:
    """Whether the values of a stored type are whole numbers."""
    return stored_type in ("BIGINT", "UBIGINT") or stored_type.endswith(",0)")


def is_number(stored_type: str) -> bool:
    """Whether the values of a stored type are numbers."""
    return stored_type == "DOUBLE" or stored_type.startswith("DECIMAL") or is_integer(stored_type)


def decimal_places(stored_type: str) -> tuple[int, int] | None:
    """Digits before and after the point of decimals that a float may not hold; else None."""
    match = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", stored_type)
    if match is None or is_integer(stored_type) or int(match[1]) <= _FLOAT_DIGITS:
        return None
    return int(match[1]) - int(match[2]), int(match[2])


def plain_text(number: Decimal) -> str:
    """All digits of a number, without an exponent and without zeros that say nothing."""
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def moment_of(text: str) -> date | datetime | time:
    """The date, the time, or the date and time that an ISO text is; with a time zone, in UTC."""
    if ":" not in text:
        return date.fromisoformat(text.strip())
    if "-" not in text.partition(":")[0]:
        return time.fromisoformat(text.strip())
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def letter_of(text: str | None, stored_type: str, *, is_exact: bool = False) -> Letter:
    """The value that DuckDB writes as ``text``: a number, a boolean, else the text itself.

    With ``is_exact``, decimals keep all their digits, which a float may not have.
    """
    if text is None:
        return None
    if stored_type == "BOOLEAN":
        return text == "true"
    if is_integer(stored_type):
        return int(text)
    if is_exact and stored_type.startswith("DECIMAL"):
        return Decimal(text)
    return float(text) if is_number(stored_type) else text


def letters_of(
    texts: Sequence[str | None], stored_type: str, *, is_exact: bool
) -> tuple[Letter, ...]:
    """The values of different texts; decimals are exact, too, where floats would be the same."""
    letters = tuple(letter_of(text, stored_type, is_exact=is_exact) for text in texts)
    if is_exact or len(set(letters)) == len(letters):
        return letters
    return letters_of(texts, stored_type, is_exact=True)


MISSING = "missing"

Numbers = tuple[float | None, ...] | None
"""Where letters lie on a line, None for a missing one; None altogether if they have no order."""


class Stored(BaseModel):
    """What is kept in JSON, and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Categories(Stored):
    """Every value is a level.

    Attributes:
        texts: the values as DuckDB writes them, in their own order.
    """

    kind: Literal["categories"] = "categories"
    texts: tuple[str, ...]


_DAY = re.compile(r"\d+-\d\d-\d\d")


class Bins(Stored):
    """Ranges, each up to and including its cut; the last has no end.

    Attributes:
        cuts: numbers, or texts of decimals that a float may not hold, or ISO texts of dates or
            times; a date includes its whole day.
    """

    kind: Literal["bins"] = "bins"
    cuts: tuple[int | float | str, ...]

    @property
    def has_days(self) -> bool:
        """Whether the cuts are dates."""
        return all(isinstance(cut, str) and _DAY.fullmatch(cut) for cut in self.cuts)


class Periods(Stored):
    """Years, or months, of dates.

    Attributes:
        unit: how long a period is.
        texts: those that occur: ``2020`` or ``2020-03``, rising.
    """

    kind: Literal["periods"] = "periods"
    unit: Period
    texts: tuple[str, ...]


class Groups(Stored):
    """Values brought together.

    Attributes:
        names: the groups that occur, in the order of the mapping.
        group_of: the text of a value -> its group; ``*`` stands for every other value.
    """

    kind: Literal["groups"] = "groups"
    names: tuple[str, ...]
    group_of: dict[str, str]


class Attribute(Stored):
    """A column whose every value has a level.

    Attributes:
        name: of the column.
        sql_type: what the column is stored as, see ``sources.staging_table``.
        coding: which values make up which level.
        has_missing: whether there is a last level for values that are missing.
        is_from_texts: whether the table has texts there, which are read as ``sql_type``; those that
            cannot be are missing.
        is_exact: whether letters are decimals with all their digits; not where floats have them
            all.
        is_local: whether these are dates with times that came without a time zone.
    """

    name: str
    sql_type: str
    coding: Annotated[Categories | Bins | Groups | Periods, Field(discriminator="kind")]
    has_missing: bool
    is_from_texts: bool = False
    is_exact: bool = False
    is_local: bool = False

    @property
    def cuts(self) -> tuple[int | float | str, ...]:
        """Where the bins end; none unless levels are ranges."""
        return self.coding.cuts if isinstance(self.coding, Bins) else ()

    @property
    def level_type(self) -> str:
        """The stored type of levels: that of the column, or VARCHAR for bins, groups and months."""
        match self.coding:
            case Categories():
                return self.sql_type
            case Periods(unit="year"):
                return "BIGINT"
            case _:
                return "VARCHAR"

    @property
    def texts(self) -> tuple[str | None, ...]:
        """Each level as DuckDB writes it; None for missing."""
        match self.coding:
            case Categories(texts=texts) | Periods(texts=texts):
                present = texts
            case Bins():
                present = self._bin_names(self.coding)
            case Groups(names=names):
                present = names
        return (*present, *[None] * self.has_missing)

    @property
    def n_levels(self) -> int:
        """How many levels there are, the missing one included."""
        return len(self.texts)

    @property
    def letters(self) -> tuple[Letter, ...]:
        """The value of each level: a number, a boolean or a text; None for missing."""
        return letters_of(self.texts, self.level_type, is_exact=self.is_exact)

    @property
    def labels(self) -> tuple[str, ...]:
        """The text of each level, no two alike."""
        return labels_of(self.letters)

    @property
    def numbers(self) -> Numbers:
        """Where each level lies on a line: values of numbers, indices of bins, months counted."""
        match self.coding:
            case Bins(cuts=cuts):
                present = tuple(map(float, range(len(cuts) + 1)))
            case Periods(unit="month", texts=texts):
                pairs = (text.rsplit("-", 1) for text in texts)
                present = tuple(12.0 * int(year) + int(month) for year, month in pairs)
            case _:
                return numbers_of(self.letters)
        return (*present, *[None] * self.has_missing)

    def _bin_names(self, bins: Bins) -> tuple[str, ...]:
        between, has_days = [], bins.has_days
        for low, high in pairwise(bins.cuts):
            if is_integer(self.sql_type):
                first, last = int(low) + 1, int(high)
                to = "-" if first >= 0 else " to "
                between.append(str(first) if first == last else f"{first}{to}{last}")
            elif has_days:
                day = str(date.fromisoformat(str(low)) + timedelta(days=1))
                between.append(day if day == high else f"{day} to {high}")
            else:
                between.append(f"{label_of(low)} < {self.name} <= {label_of(high)}")
        return (f"<={label_of(bins.cuts[0])}", *between, f">{label_of(bins.cuts[-1])}")


def labels_of(letters: Sequence[Letter]) -> tuple[str, ...]:
    """Different texts of letters for people; parentheses keep the missing one different."""
    missing = MISSING
    while missing in letters:
        missing = f"({missing})"
    return tuple(missing if letter is None else label_of(letter) for letter in letters)


def label_of(letter: Letter) -> str:
    """The text of a letter that is not missing."""
    if isinstance(letter, bool):
        return "true" if letter else "false"
    if isinstance(letter, Decimal):
        return plain_text(letter)
    return str(letter).removesuffix(".0") if isinstance(letter, float) else str(letter)


def numbers_of(letters: Sequence[Letter]) -> Numbers:
    """The letters as numbers, if all that are not missing are.

    Decimals that are the same as floats are counted from the least: only how far numbers lie apart
    matters.
    """
    exact = [Fraction(letter) for letter in letters if isinstance(letter, Decimal)]
    if len(set(map(float, exact))) < len(exact):
        return tuple(
            float(Fraction(letter) - min(exact)) if isinstance(letter, Decimal) else None
            for letter in letters
        )
    present = [letter for letter in letters if letter is not None]
    is_line = all(
        isinstance(letter, int | float | Decimal)
        and not isinstance(letter, bool)
        and isfinite(letter)
        for letter in present
    )
    if not (present and is_line):
        return None
    return tuple(None if letter is None else float(letter) for letter in letters)
