"""A column with its levels, once the data has been looked at: frozen, and kept in JSON."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import isfinite
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Letter = bool | int | float | str | None
"""A value as people and JSON see it; None is a missing one."""


def is_integer(stored_type: str) -> bool:
    """Whether the values of a stored type are whole numbers."""
    return stored_type in ("BIGINT", "UBIGINT") or stored_type.endswith(",0)")


def is_number(stored_type: str) -> bool:
    """Whether the values of a stored type are numbers."""
    return stored_type == "DOUBLE" or stored_type.startswith("DECIMAL") or is_integer(stored_type)


def letter_of(text: str | None, stored_type: str) -> Letter:
    """The value that DuckDB writes as ``text``: a number, a boolean, else the text itself."""
    if text is None:
        return None
    if stored_type == "BOOLEAN":
        return text == "true"
    if is_integer(stored_type):
        return int(text)
    return float(text) if is_number(stored_type) else text


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


class Bins(Stored):
    """Ranges of numbers, each up to and including its cut; the last has no end."""

    kind: Literal["bins"] = "bins"
    cuts: tuple[int | float, ...]

    def bin_of(self, value: float) -> int:
        """The range that a number is in."""
        return bisect_left(self.cuts, value)


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
    """

    name: str
    sql_type: str
    coding: Annotated[Categories | Bins | Groups, Field(discriminator="kind")]
    has_missing: bool

    @property
    def cuts(self) -> tuple[int | float, ...]:
        """Where the bins end; none unless levels are ranges of numbers."""
        return self.coding.cuts if isinstance(self.coding, Bins) else ()

    @property
    def level_type(self) -> str:
        """The stored type of levels: that of the column, or VARCHAR for bins and groups."""
        return self.sql_type if isinstance(self.coding, Categories) else "VARCHAR"

    @property
    def texts(self) -> tuple[str | None, ...]:
        """Each level as DuckDB writes it; None for missing."""
        match self.coding:
            case Categories(texts=texts):
                present = texts
            case Bins(cuts=cuts):
                present = _bin_names(self.name, cuts, self.sql_type)
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
        return tuple(letter_of(text, self.level_type) for text in self.texts)

    @property
    def labels(self) -> tuple[str, ...]:
        """The text of each level, no two alike."""
        return labels_of(self.letters)

    @property
    def numbers(self) -> Numbers:
        """Where each level lies on a line: values of numbers, indices of bins."""
        if self.cuts:
            return (*map(float, range(len(self.cuts) + 1)), *[None] * self.has_missing)
        return numbers_of(self.letters)


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
    return str(letter).removesuffix(".0") if isinstance(letter, float) else str(letter)


def numbers_of(letters: Sequence[Letter]) -> Numbers:
    """The letters as numbers, if all that are not missing are."""
    numbers = [None if letter is None else _finite(letter) for letter in letters]
    n_missing = sum(letter is None for letter in letters)
    return tuple(numbers) if numbers.count(None) == n_missing < len(letters) else None


def _finite(letter: Letter) -> float | None:
    if not isinstance(letter, int | float) or isinstance(letter, bool):
        return None
    return float(letter) if isfinite(letter) else None


def _bin_names(name: str, cuts: Sequence[float], sql_type: str) -> tuple[str, ...]:
    between = _whole_numbers if is_integer(sql_type) else partial(_numbers, name)
    return (
        f"<={label_of(cuts[0])}",
        *(between(low, high) for low, high in pairwise(cuts)),
        f">{label_of(cuts[-1])}",
    )


def _numbers(name: str, low: float, high: float) -> str:
    return f"{label_of(low)} < {name} <= {label_of(high)}"


def _whole_numbers(low: float, high: float) -> str:
    first, last = int(low) + 1, int(high)
    if first == last:
        return str(first)
    return f"{first}-{last}" if first >= 0 else f"{first} to {last}"
