"""From what was declared to frozen levels, by looking at the data once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import floor, prod

import pyarrow as pa

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.tables.connection import quote_name
from tacit.tables.encoding.attribute import (
    Attribute,
    Bins,
    Categories,
    Groups,
    is_integer,
    is_number,
)
from tacit.tables.encoding.column import MOST_LEVELS, OTHERS, Column, ColumnError, Way
from tacit.tables.sources.staging_table import StagingTable

_SIGNS_OF_A_WORD = 4
_SIGNS_OF_A_LONG_WORD = 8
"""Words of so many signs may have two mistakes; shorter ones, of at least four signs, one."""

_MOST_COMPARED, _MOST_SIGNS = 1_000, 100
"""The most values to compare on either side, and their greatest length, so that it is quick."""

_NEARLY_ALIKE_SQL = f"""
WITH
unused AS (
    SELECT text, lower(trim(text)) AS word FROM mapping ANTI JOIN occurring USING (text)
    WHERE text <> '{OTHERS}' AND length(text) <= {_MOST_SIGNS} LIMIT {_MOST_COMPARED}
),
unnamed AS (
    SELECT text, lower(trim(text)) AS word, times FROM occurring ANTI JOIN mapping USING (text)
    WHERE length(text) <= {_MOST_SIGNS} ORDER BY times DESC, text LIMIT {_MOST_COMPARED}
),
pairs AS (
    SELECT
        unused.text AS key,
        unnamed.text AS value,
        unnamed.times,
        damerau_levenshtein(unused.word, unnamed.word) AS mistakes,
        least(length(unused.word), length(unnamed.word)) AS signs,
        -- Codes differ in their digits: A03 is no misspelt A04.
        regexp_replace(unused.word, '[^0-9]', '', 'g')
        = regexp_replace(unnamed.word, '[^0-9]', '', 'g') AS has_same_digits,
        coalesce(TRY_CAST(key AS DOUBLE) = TRY_CAST(value AS DOUBLE), false) AS is_same_number
    FROM unused, unnamed
)
SELECT key, value, times FROM pairs
WHERE mistakes = 0 OR is_same_number OR (
    has_same_digits AND signs >= {_SIGNS_OF_A_WORD}
    AND mistakes <= CASE WHEN signs >= {_SIGNS_OF_A_LONG_WORD} THEN 2 ELSE 1 END
)
ORDER BY mistakes, times DESC, key, value
"""
"""Values of a mapping that do not occur, beside values nearly alike that it does not name."""

MOST_CELLS = 100_000
"""Of all private attributes together: what a design can still be found for."""


def freeze_all(staged: StagingTable, columns: Sequence[Column]) -> tuple[Attribute, ...]:
    """The private attributes; together they may not make too many cells."""
    attributes = tuple(freeze(staged, one) for one in columns)
    n_cells = prod(attribute.n_levels for attribute in attributes)
    if n_cells > MOST_CELLS:
        sizes = " x ".join(f"{attribute.n_levels} ({attribute.name})" for attribute in attributes)
        raise InvalidInputError(
            f"the private attributes make {n_cells:,} cells, {sizes}, and {MOST_CELLS:,} is the "
            "most: give some of them fewer levels with cuts, quantiles or groups"
        )
    return attributes


def freeze(staged: StagingTable, column: Column) -> Attribute:
    """One column with its levels."""
    name = column.name
    [(n_present,)] = staged.connection.execute(
        f"SELECT count({quote_name(name)}) FROM staged"
    ).fetchall()
    attribute = Attribute(
        name=name,
        sql_type=staged.types[name],
        coding=_coding(staged, column),
        has_missing=n_present < staged.n_records,
    )
    if attribute.n_levels > MOST_LEVELS:
        raise _too_many(staged, name, attribute.n_levels)
    if _n_occurring(staged, attribute) < 2:
        raise _says_nothing(name)
    return attribute


def _coding(staged: StagingTable, column: Column) -> Categories | Bins | Groups:
    if column.cuts is not None:
        return _bins(staged, column.name, column.cuts)
    if column.quantiles is not None:
        return _bins(staged, column.name, _quantiles(staged, column.name, column.quantiles))
    if column.groups is not None:
        return _groups(staged, column.name, column.groups)
    return _categories(staged, column.name)


def _categories(staged: StagingTable, name: str) -> Categories:
    """Every value that occurs, in the order of the values."""
    column = quote_name(name)
    [(n_values,)] = staged.connection.execute(
        f"SELECT count(DISTINCT {column}) FROM staged"
    ).fetchall()
    if n_values > MOST_LEVELS:
        raise _too_many(staged, name, n_values)
    rows = staged.connection.execute(
        f"SELECT CAST({column} AS VARCHAR) FROM (SELECT DISTINCT {column} FROM staged) "
        f"WHERE {column} IS NOT NULL ORDER BY {column}"
    ).fetchall()
    return Categories(texts=tuple(text for (text,) in rows))


def _bins(staged: StagingTable, name: str, cuts: Iterable[float]) -> Bins:
    """Bins of numbers, their cuts in the type of the column."""
    _check_number(staged, name)
    if is_integer(staged.types[name]):
        # For whole numbers, 30.5 is the same cut as 30, and so are 30.2 and 30.7.
        return Bins(cuts=tuple(dict.fromkeys(map(floor, cuts))))
    return Bins(cuts=tuple(float(cut) + 0.0 for cut in cuts))  # -0.0 becomes 0.0


def _quantiles(staged: StagingTable, name: str, n: int) -> list[float]:
    """Cuts into bins of about equal size; fewer where many records share a value."""
    _check_number(staged, name)
    column, shares = quote_name(name), [index / n for index in range(1, n)]
    [(quantiles, largest)] = staged.connection.execute(
        f"SELECT quantile_disc({column}, {shares}), max({column}) FROM staged"
    ).fetchall()
    cuts = sorted({value for value in quantiles or () if value < largest})
    if not cuts:
        raise _says_nothing(name)
    return cuts


def _groups(staged: StagingTable, name: str, groups: Mapping[str, str]) -> Groups:
    """The groups that occur, in the order of the mapping."""
    with _compared(staged, name, groups):
        _refuse_misspelt(staged, name, groups)
        _remark_unused(staged, name)
        rows = staged.connection.execute(
            "SELECT mapping.name, min(text), count(*) FROM occurring "
            "LEFT JOIN mapping USING (text) GROUP BY mapping.name"
        ).fetchall()
    found = set()
    for group, example, n_values in rows:
        if group is None and OTHERS not in groups:
            raise InvalidInputError(
                f"{name} has values without a group ({n_values:,}), such as {example!r}: "
                f'add them to the mapping, or add "{OTHERS}" for all others'
            )
        found.add(groups[OTHERS] if group is None else group)
    names = tuple(group for group in dict.fromkeys(groups.values()) if group in found)
    return Groups(names=names, group_of=dict(groups))


@contextmanager
def _compared(staged: StagingTable, name: str, groups: Mapping[str, str]) -> Iterator[None]:
    """Tables ``mapping`` (text, name) and ``occurring`` (text, times) to compare."""
    connection, column = staged.connection, quote_name(name)
    mapping = pa.table({"text": [*groups], "name": [*groups.values()]})
    connection.register("mapping", mapping)
    connection.execute(
        f"CREATE TEMP TABLE occurring AS SELECT CAST(staged.{column} AS VARCHAR) AS text, "
        f"count(*) AS times FROM staged WHERE staged.{column} IS NOT NULL GROUP BY ALL"
    )
    try:
        yield
    finally:
        connection.execute("DROP TABLE occurring")
        connection.unregister("mapping")


def _refuse_misspelt(staged: StagingTable, name: str, groups: Mapping[str, str]) -> None:
    """Refuse a mapping that seems to misspell a value: the value would go to all others unnoticed.

    It names a value that no record has, and not one that is nearly the same and occurs.
    """
    rows = staged.connection.execute(_NEARLY_ALIKE_SQL).fetchall()
    for key, value, times in rows:
        if groups[key] != groups.get(OTHERS):
            have = f"which {times:,} {'has' if times == 1 else 'have'}"
            raise InvalidInputError(
                f"the mapping of {name} names {key!r}, which no record has, and not {value!r}, "
                f"{have}: correct it, or give {value!r} a group, too"
            )


def _remark_unused(staged: StagingTable, name: str) -> None:
    """Remark how many values of the mapping no record has: a list of codes has many such."""
    rows = staged.connection.execute(
        f"SELECT text FROM mapping ANTI JOIN occurring USING (text) WHERE text <> '{OTHERS}'"
    ).fetchall()
    if rows:
        values = {"column": name, "values": len(rows), "example": rows[0][0]}
        staged.remarks.append(Remark("unused_values", values))


def _n_occurring(staged: StagingTable, attribute: Attribute) -> int:
    """How many levels occur; of three or more bins only that there are two, the outermost."""
    if not isinstance(attribute.coding, Bins):
        return attribute.n_levels  # these were found in the data
    column = quote_name(attribute.name)
    ends = staged.connection.execute(f"SELECT min({column}), max({column}) FROM staged").fetchall()
    bins = {attribute.coding.bin_of(end) for end in ends[0] if end is not None}
    return len(bins) + attribute.has_missing


def _check_number(staged: StagingTable, name: str) -> None:
    if not is_number(staged.types[name]):
        raise ColumnError(
            name,
            f"{name} has type {staged.types[name]} and only numbers can be cut",
            ["", "groups"],
        )


def _too_many(staged: StagingTable, name: str, n_levels: int) -> ColumnError:
    ways: list[Way] = ["groups"]
    if is_number(staged.types[name]):
        ways += ["cuts", "quantiles"]
    return ColumnError(
        name, f"{name} has {n_levels:,} levels and {MOST_LEVELS:,} is the most", ways
    )


def _says_nothing(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"{name} has the same level for every record, which says nothing: leave it out"
    )
