"""Your own columns beside noisy ones: from tables of any kind, as groups or as numbers.

Tables of pandas, polars and pyarrow are read by what they have in common, so that none of these
packages is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.estimation.column import NoisyColumn

MISSING = "missing"
"""The name of the level of rows that have no value."""

_MANY_ROWS = 20
"""So many different values, one in each row, are ids and not levels."""

LARGEST = 1e100
"""Of a number whose powers can be summed."""

_MOST_GROUPS = 1_000
"""Whose odds ratios take a minute."""

_MOST_LEVELS = 1_000
"""Of texts in a regression: each is a column of numbers."""


def as_columns(table: Mapping[str, Any] | Any, argument: str) -> dict[str, Any]:
    """Name -> values, from a mapping or from a pandas, polars or pyarrow table."""
    if isinstance(table, Mapping):
        columns = [*table.items()]
    elif hasattr(table, "__getitem__") and hasattr(table, "__len__") and _names_of(table):
        columns = [(name, table[name]) for name in _names_of(table)]
    else:
        raise InvalidInputError(
            f"{argument} is a {type(table).__name__}: give a mapping of names to columns, or a "
            "pandas, polars or pyarrow table"
        )
    names = [str(name) for name, _ in columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{argument} has two columns {twice[0]!r}: give each its own name")
    return {str(name): column for name, column in columns}


def _names_of(table: Any) -> list[Any]:
    """Of the columns; pyarrow has them apart from the columns."""
    names: Any = getattr(table, "column_names", None)
    return [*(getattr(table, "columns", ()) if names is None else names)]


def as_noisy(columns: Mapping[str, NoisyColumn]) -> dict[str, NoisyColumn]:
    """Name -> noisy column."""
    if not isinstance(columns, Mapping):
        raise InvalidInputError(
            f"columns is a {type(columns).__name__}: give a mapping of names to noisy columns, as "
            "in {'education': column}"
        )
    for name, column in columns.items():
        if not isinstance(column, NoisyColumn):
            raise InvalidInputError(
                f"{name} in columns is a {type(column).__name__}: give a NoisyColumn, as "
                "read_column does; your own columns make groups"
            )
    return {str(name): column for name, column in columns.items()}


def group_rows(own: Mapping[str, Any], n: int) -> tuple[list[tuple[str, ...]], NDArray[np.intp]]:
    """The groups that occur, in the order of their names, and the group of each row.

    Rows without a value are a group of their own, ``missing``, after the others.
    """
    names: list[tuple[str, ...]] = [()]
    group_of_row: NDArray[np.intp] = np.zeros(n, dtype=np.intp)
    for name, column in own.items():
        levels, level = _levels_of(name, column, n)
        if len(levels) == n >= _MANY_ROWS:
            raise InvalidInputError(
                f"{name} has another value in each of {n:,} rows, so it makes no groups: give only "
                "columns that make groups"
            )
        # Only groups that occur get a number, so that products of levels stay small.
        both, place = np.unique(group_of_row * len(levels) + level, return_inverse=True)
        group_of_row = place.astype(np.intp)
        if len(both) > _MOST_GROUPS:
            raise InvalidInputError(
                f"{', '.join(own)} make more than {_MOST_GROUPS:,} groups: give fewer columns, or "
                "fewer levels"
            )
        names = [(*names[k // len(levels)], levels[k % len(levels)]) for k in both]
    return names, group_of_row


def _levels_of(name: str, column: ArrayLike, n: int) -> tuple[list[str], NDArray[np.intp]]:
    """The values of a column as texts, what is missing last, and which of them each row has."""
    values = _one_column(name, column, n)
    is_missing = _is_missing(values)
    found, level = np.unique(_texts(name, values[~is_missing]), return_inverse=True)
    places = np.full(n, len(found), dtype=np.intp)
    places[~is_missing] = level
    levels, label = [str(text) for text in found], MISSING
    while label in levels:
        label = f"({label})"
    if is_missing.any():
        levels.append(label)
    return levels, places


def own_numbers(
    name: str, column: ArrayLike, n: int, records: NDArray[np.str_] | None = None
) -> dict[str, Array]:
    """A column of your own as numbers; texts as indicators of each level but the first.

    Args:
        name: of the column.
        column: one value for each row.
        n: how many rows there are.
        records: ids of the rows, which are no numbers to reckon with.
    """
    values = _one_column(name, column, n)
    # A few rows first: nearly every column differs there, and making texts of all takes long.
    if records is not None and all(
        np.array_equal(values[:some].astype(str), records[:some]) for some in (_MANY_ROWS, n)
    ):
        raise InvalidInputError(f"{name} holds the ids of the records: leave it out")
    is_bad = _is_missing(values)
    if values.dtype.kind == "f":
        is_bad = ~(abs(values.astype(float)) <= LARGEST)
    if is_bad.any():
        row, more = int(is_bad.argmax()), int(is_bad.sum()) - 1
        value = values[row].item() if isinstance(values[row], np.generic) else values[row]
        also = f" ({more:,} more {'row is' if more == 1 else 'rows are'} such)" if more else ""
        raise InvalidInputError(
            f"{name} holds {value!r} in row {row}, counted from 0{also}: leave such rows out"
        )
    kind = values.dtype.kind
    if kind in "biuf" or (kind == "O" and all(isinstance(one, Real | Decimal) for one in values)):
        return {name: values.astype(float)}
    texts = _texts(name, values)
    levels = np.unique(texts)
    if len(levels) == n >= _MANY_ROWS or len(levels) > _MOST_LEVELS:
        raise InvalidInputError(
            f"{name} has {len(levels):,} different texts in {n:,} rows: leave it out, or give "
            "numbers or fewer levels"
        )
    return {f"{name}={level}": (texts == level).astype(float) for level in levels[1:]}


def _one_column(name: str, column: ArrayLike, n: int) -> NDArray[Any]:
    """One value for each row."""
    if isinstance(column, NoisyColumn):
        raise InvalidInputError(f"{name} is a noisy column: only your own columns can be used here")
    if isinstance(column, np.ma.MaskedArray):
        given, column = column, np.asarray(column.data).astype(object)
        column[np.ma.getmaskarray(given)] = None
    try:
        values: NDArray[Any] = np.asarray(column)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} is no column ({error}): give one value for each row"
        ) from error
    if values.shape != (n,):
        raise InvalidInputError(
            f"{name} has shape {values.shape} and there are {n:,} rows: give one value each"
        )
    if values.dtype.kind in "cV":
        raise InvalidInputError(f"{name} holds {values.dtype} values: give numbers or texts")
    return values


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are not there: None, NaN, NaT, pandas' NA, empty texts."""
    kind = values.dtype.kind
    if kind == "f":
        return np.asarray(np.isnan(values))
    if kind in "mM":
        return np.asarray(np.isnat(values))
    if kind in "biu":
        return np.zeros(values.shape, dtype=bool)
    return np.fromiter(map(_is_nothing, values.tolist()), dtype=bool, count=len(values))


def _is_nothing(value: Any) -> bool:
    if value is None or (isinstance(value, str | bytes) and len(value) == 0):
        return True
    try:
        return bool(value != value)  # only NaN, NaT and their like differ from themselves
    except (TypeError, ValueError):  # pandas' NA does not say whether it does
        return True


def _texts(name: str, values: NDArray[Any]) -> NDArray[np.str_]:
    try:
        return values.astype(str)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{name} holds bytes that are no text: decode it first") from error
