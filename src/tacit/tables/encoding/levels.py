"""From what was declared to frozen levels, by looking at the data once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any

import pyarrow as pa

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.tables.encoding.attribute import (
    Attribute,
    Bins,
    Categories,
    Groups,
    Periods,
    decimal_places,
    is_integer,
    is_number,
    plain_text,
)
from tacit.tables.encoding.codes import bin_sql, period_sql
from tacit.tables.encoding.column import (
    MOST_LEVELS,
    OTHERS,
    Column,
    ColumnError,
    Cut,
    Period,
    Way,
)
from tacit.tables.encoding.strays import read_texts
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

_MOST_NUMBERS = 100
"""Different numbers of a column of which each is a level; more are bins that nobody has cut yet."""

MOST_CELLS = 100_000
"""Of all private attributes together: what a design can still be found for."""


_LONGEST_SHOWN = 40
"""Signs of a value that a message shows."""

_MOST_DIGITS = 400
"""Of a cut: before the point as many as a float has, after it as many as DuckDB's decimals."""

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9. ]*,[0-9]+")

OTHER = "other"
"""The level of all values that are not among the most frequent."""

_MOMENTS: dict[str, tuple[type[date | time], ...]] = {
    "DATE": (date,),
    "TIMESTAMP": (date,),
    "TIME": (time,),
}
"""Stored types of dates and times -> what they can be cut at; every datetime is a date, too."""


def freeze_all(
    staged: StagingTable, columns: Sequence[Column], id_columns: Sequence[str]
) -> tuple[Attribute, ...]:
    """The private attributes; together they may not make too many cells."""
    attributes = tuple(freeze(staged, one, id_columns) for one in columns)
    n_cells = prod(attribute.n_levels for attribute in attributes)
    if n_cells > MOST_CELLS:
        sizes = " x ".join(f"{attribute.n_levels} ({attribute.name})" for attribute in attributes)
        raise InvalidInputError(
            f"the private attributes make {n_cells:,} cells, {sizes}, and {MOST_CELLS:,} is the "
            "most: give some of them fewer levels with cuts, quantiles or groups"
        )
    return attributes


def freeze(staged: StagingTable, column: Column, id_columns: Sequence[str]) -> Attribute:
    """One column with its levels; an error names records by their ids."""
    name = column.name
    is_from_texts = read_texts(staged, column, id_columns)
    [(n_present,)] = staged.connection.execute(
        f"SELECT coalesce(sum(times) FILTER (value IS NOT NULL), 0) FROM {staged.values(name)}"
    ).fetchall()
    coding = _coding(staged, column)
    attribute = Attribute(
        name=name,
        sql_type=staged.types[name],
        coding=coding,
        has_missing=n_present < staged.n_records,
        is_from_texts=is_from_texts,
        is_exact=_needs_decimals(coding, staged.types[name]),
        is_local=(
            staged.types[name] == "TIMESTAMP" and not is_from_texts and name not in staged.zoned
        ),
    )
    if attribute.n_levels > MOST_LEVELS:
        raise _too_many(staged, name, attribute.n_levels)
    if _n_occurring(staged, attribute) < 2:
        raise _says_nothing(name)
    _refuse_same_labels(attribute)
    return attribute


def _needs_decimals(coding: Categories | Bins | Groups | Periods, stored_type: str) -> bool:
    """Whether levels are decimals of which some are not what their floats are written as."""
    if not isinstance(coding, Categories) or decimal_places(stored_type) is None:
        return False
    return any(Decimal(text) != Decimal(str(float(text))) for text in coding.texts)


def _refuse_same_labels(attribute: Attribute) -> None:
    """Refuse levels that a release could not tell apart."""
    for label, times in Counter(attribute.labels).items():
        if times > 1:
            raise InvalidInputError(
                f"{attribute.name} has {times} levels that are all written {label!r}: round its "
                "values or turn them into texts, or give it cuts, quantiles or groups"
            )


def _coding(staged: StagingTable, column: Column) -> Categories | Bins | Groups | Periods:
    if column.cuts is not None:
        _check_cut(staged, column.name, column.cuts[0])
        return _bins(staged, column.name, column.cuts)
    if column.quantiles is not None:
        return _bins(staged, column.name, _quantiles(staged, column.name, column.quantiles))
    if column.groups is not None:
        return _groups(staged, column.name, column.groups)
    if column.by is not None:
        return _periods(staged, column.name, column.by)
    if column.top is not None:
        return _most_frequent(staged, column.name, column.top)
    return _categories(staged, column.name)


def _categories(staged: StagingTable, name: str) -> Categories:
    """Every value that occurs, in the order of the values."""
    values = staged.values(name)
    [(n_values,)] = staged.connection.execute(
        f"SELECT count(DISTINCT value) FROM {values}"
    ).fetchall()
    if n_values > _MOST_NUMBERS and is_number(staged.types[name]):
        quartiles, largest = _values_at(staged, name, (0.25, 0.5, 0.75))
        cuts = sorted({value for value in quartiles if value < largest})
        raise ColumnError(
            name,
            f"{name} has {n_values:,} different numbers, too many for a level each",
            ["cuts", "quantiles", "groups", "top"],
            ",".join(plain_text(Decimal(str(cut))) for cut in cuts),
        )
    if n_values > MOST_LEVELS:
        raise _too_many(staged, name, n_values)
    rows = staged.connection.execute(
        f"SELECT CAST(value AS VARCHAR) FROM (SELECT DISTINCT value FROM {values}) "
        "WHERE value IS NOT NULL ORDER BY value"
    ).fetchall()
    return Categories(texts=tuple(text for (text,) in rows))


def _bins(staged: StagingTable, name: str, cuts: Sequence[Any]) -> Bins:
    """Bins with their cuts in the type of the column; a cut is what ``_check_cut`` lets pass."""
    stored = staged.types[name]
    if is_integer(stored):
        # For whole numbers, 30.5 is the same cut as 30, and so are 30.2 and 30.7.
        return Bins(cuts=tuple(dict.fromkeys(map(floor, cuts))))
    places = decimal_places(stored)
    if places is not None:  # in steps of the type, as for whole numbers
        step, context = Decimal(1).scaleb(-places[1]), Context(prec=_MOST_DIGITS)
        # Of a float, the digits that are written.
        numbers = (Decimal(str(cut)).quantize(step, ROUND_FLOOR, context) for cut in cuts)
        return Bins(cuts=tuple(dict.fromkeys(map(plain_text, numbers))))
    if is_number(stored):
        floats = tuple(float(cut) + 0.0 for cut in cuts)  # -0.0 becomes 0.0
        if len(set(floats)) < len(floats):
            raise InvalidInputError(
                f"{name} has type {stored}, where some of the cuts {', '.join(map(str, cuts))} are "
                "the same number: give cuts that differ in their first 15 digits"
            )
        return Bins(cuts=floats)
    if stored == "DATE":  # noon is the same cut as the day
        cuts = [cut.date() if isinstance(cut, datetime) else cut for cut in cuts]
    return Bins(cuts=tuple(dict.fromkeys(map(str, cuts))))


def _periods(staged: StagingTable, name: str, unit: Period) -> Periods:
    """The years or months that occur."""
    if staged.types[name] not in ("DATE", "TIMESTAMP"):
        raise ColumnError(
            name,
            f"{name} has type {staged.types[name]} and only dates have a {unit}"
            f"{_unlike_others(staged, name)}",
            _other_ways(staged, name),
        )
    rows = staged.connection.execute(
        f"SELECT DISTINCT {period_sql('value', unit)} AS period FROM {staged.values(name)} "
        "WHERE value IS NOT NULL ORDER BY period"
    ).fetchall()
    if (None,) in rows:
        raise ColumnError(name, f"{name} has infinite dates, without a {unit}", ["cuts", "groups"])
    return Periods(unit=unit, texts=tuple(str(period) for (period,) in rows))


def _most_frequent(staged: StagingTable, name: str, n: int) -> Categories | Groups:
    """The most frequent values in their own order, then one level for all others, if any.

    It is called ``other``, in parentheses where a value is called so.
    """
    counts = f"(SELECT value, sum(times) AS times FROM {staged.values(name)} GROUP BY value)"
    rows = staged.connection.execute(
        f"SELECT CAST(value AS VARCHAR) FROM (SELECT * FROM {counts} WHERE value IS NOT NULL "
        f"ORDER BY times DESC, value LIMIT {n}) ORDER BY value"
    ).fetchall()
    [(n_values, like_other)] = staged.connection.execute(
        "SELECT count(*), list(text) FILTER (contains(text, ?)) "
        f"FROM (SELECT CAST(value AS VARCHAR) AS text FROM {counts}) WHERE text IS NOT NULL",
        [OTHER],
    ).fetchall()
    if n_values <= n:
        return _categories(staged, name)
    other = OTHER
    while other in (like_other or ()):
        other = f"({other})"
    group_of = {text: text for (text,) in rows if text != OTHERS}
    return Groups(names=(*group_of, other), group_of=group_of | {OTHERS: other})


def _quantiles(staged: StagingTable, name: str, n: int) -> list[Any]:
    """Cuts into bins of about equal size; fewer where many records share a value."""
    _check_ordered(staged, name)
    quantiles, largest = _values_at(staged, name, [index / n for index in range(1, n)])
    cuts = sorted({value for value in quantiles if value < largest})
    if not cuts:
        raise _says_nothing(name)
    return cuts


def _values_at(staged: StagingTable, name: str, shares: Sequence[float]) -> tuple[list[Any], Any]:
    """The least values that these shares of the records do not exceed, and the largest value."""
    counts = (
        f"SELECT value, sum(times) AS times FROM {staged.values(name)} "
        "WHERE value IS NOT NULL GROUP BY value"
    )
    reached = f"SELECT value, sum(times) OVER (ORDER BY value) AS reached FROM ({counts})"
    [(n_present, largest)] = staged.connection.execute(
        f"SELECT coalesce(sum(times), 0)::BIGINT, max(value) FROM ({counts})"
    ).fetchall()
    # Of the decimal that is written: 0.1 of 30 records are 3, and the float is a little more.
    ranks = [max(1, ceil(Fraction(str(share)) * n_present)) for share in shares]
    least = ", ".join(f"min(value) FILTER (reached >= {rank})" for rank in ranks)
    [found] = staged.connection.execute(f"SELECT {least} FROM ({reached})").fetchall()
    return [value for value in found if value is not None], largest


def _groups(staged: StagingTable, name: str, groups: Mapping[str, str]) -> Groups:
    """The groups that occur, in the order of the mapping."""
    connection = staged.connection
    connection.register("mapping", pa.table({"text": [*groups], "name": [*groups.values()]}))
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE occurring AS SELECT CAST(value AS VARCHAR) AS text, "
        f"sum(times) AS times FROM {staged.values(name)} WHERE value IS NOT NULL GROUP BY text"
    )
    _refuse_misspelt(staged, name, groups)
    # A list of codes names many values that no record has.
    unused = connection.execute(
        f"SELECT text FROM mapping ANTI JOIN occurring USING (text) WHERE text <> '{OTHERS}'"
    ).fetchall()
    if unused:
        values = {"column": name, "values": len(unused), "example": unused[0][0]}
        staged.remarks.append(Remark("unused_values", values))
    rows = connection.execute(
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


def _n_occurring(staged: StagingTable, attribute: Attribute) -> int:
    """How many levels occur."""
    if not isinstance(attribute.coding, Bins):
        return attribute.n_levels  # these were found in the data
    number = bin_sql("value", attribute.coding, attribute.sql_type)
    [(n_bins,)] = staged.connection.execute(
        f"SELECT count(DISTINCT {number}) FROM {staged.values(attribute.name)} "
        "WHERE value IS NOT NULL"
    ).fetchall()
    return int(n_bins) + attribute.has_missing


def _unlike_others(staged: StagingTable, name: str) -> str:
    """Of a column of texts, one that is no number and no date, in words."""
    if staged.types[name] != "VARCHAR":
        return ""
    [(text,)] = staged.connection.execute(
        f"SELECT min(value) FROM {staged.values(name)} WHERE trim(value) <> ''"
    ).fetchall()
    if text is None:
        return ""
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    is_decimal = _DECIMAL_COMMA.fullmatch(text.strip())
    return f", which {shown!r} is not{' (write decimals with a point)' if is_decimal else ''}"


def _check_ordered(staged: StagingTable, name: str) -> None:
    stored = staged.types[name]
    if not is_number(stored) and stored not in _MOMENTS:
        raise ColumnError(
            name,
            f"{name} has type {stored} and only numbers, dates and times can be cut"
            f"{_unlike_others(staged, name)}",
            ["", "groups"],
        )


def _check_cut(staged: StagingTable, name: str, cut: Cut) -> None:
    """Refuse cuts of another kind than the values."""
    _check_ordered(staged, name)
    stored = staged.types[name]
    if not isinstance(cut, _MOMENTS.get(stored, (int, float, Decimal))):
        example = {"DATE": "2020-12-31", "TIMESTAMP": "2020-12-31", "TIME": "12:00"}
        raise InvalidInputError(
            f"{name} has type {stored} and cannot be cut at {cut}: "
            f"give cuts such as {example.get(stored, '30')}"
        )


def _too_many(staged: StagingTable, name: str, n_levels: int) -> ColumnError:
    return ColumnError(
        name,
        f"{name} has {n_levels:,} levels and {MOST_LEVELS:,} is the most",
        _other_ways(staged, name),
    )


def _other_ways(staged: StagingTable, name: str) -> list[Way]:
    """How a column of this type gets fewer levels."""
    stored = staged.types[name]
    ways: list[Way] = ["groups", "top"]
    if is_number(stored) or stored in _MOMENTS:
        ways += ["cuts", "quantiles"]
    if stored in ("DATE", "TIMESTAMP"):
        ways += ["by"]
    return ways


def _says_nothing(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"{name} has the same level for every record, which says nothing: leave it out"
    )
