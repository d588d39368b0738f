"""From values to codes, in SQL: each record's cell x, and its level of each external column."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import duckdb
import pyarrow as pa

from tacit.tables.connection import quote_name, quote_text
from tacit.tables.encoding.attribute import (
    Attribute,
    Bins,
    Categories,
    Groups,
    Periods,
    Stored,
    decimal_places,
    is_integer,
)
from tacit.tables.encoding.column import OTHERS, Period


class IdColumn(Stored):
    """A column that tells records apart, and what it is stored as."""

    name: str
    sql_type: str


class Encoding(Stored):
    """How a table becomes a snapshot: everything that was fixed when the study began."""

    ids: tuple[IdColumn, ...]
    attributes: tuple[Attribute, ...]
    externals: tuple[Attribute, ...] = ()

    @property
    def types(self) -> dict[str, str]:
        """The stored type of every column that is read."""
        columns: tuple[IdColumn | Attribute, ...] = (*self.ids, *self.attributes, *self.externals)
        return {column.name: column.sql_type for column in columns}

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of levels of the private attributes."""
        return tuple(attribute.n_levels for attribute in self.attributes)

    @property
    def n_cells(self) -> int:
        """Number of values that x can have."""
        return prod(self.shape)


def levels_sql(connection: duckdb.DuckDBPyConnection, encoding: Encoding, *also: str) -> str:
    """A query over ``staged`` for ``id_0``... and, for every attribute and then every external
    column, ``level_0``...: the number of the record's level, NULL for a value that has none.

    Tables of levels are made along the way, so ask once. ``also`` is SQL of further columns.
    """
    ids = (f"staged.{quote_name(one.name)} AS id_{k}" for k, one in enumerate(encoding.ids))
    chosen = [*ids, *also]
    joins = []
    for k, attribute in enumerate((*encoding.attributes, *encoding.externals)):
        joins.append(_join_sql(connection, attribute, f"levels_{k}"))
        chosen.append(f"{_level_sql(attribute, f'levels_{k}')} AS level_{k}")
    return f"SELECT {', '.join(chosen)} FROM staged {' '.join(joins)}"


def ids_as_stored_sql(encoding: Encoding) -> str:
    """SQL of ``id_0``... from a table's ids, as the study stores them; NULL where none is such."""
    return ", ".join(
        f"TRY_CAST({quote_name(one.name)} AS {one.sql_type}) AS id_{k}"
        for k, one in enumerate(encoding.ids)
    )


def codes_sql(levels_from: str, encoding: Encoding) -> str:
    """A query for ``id_0``..., ``x`` and ``r_0``... over what ``levels_sql`` gives."""
    ids = [f"id_{k}" for k in range(len(encoding.ids))]
    n_private = len(encoding.attributes)
    x = cell_sql(encoding.shape, [f"level_{k}" for k in range(n_private)])
    external = [f"level_{n_private + k} AS r_{k}" for k in range(len(encoding.externals))]
    return f"SELECT {', '.join([*ids, f'{x} AS x', *external])} FROM {levels_from}"


def cell_sql(shape: Sequence[int], levels: Sequence[str]) -> str:
    """x, the C-order index over all levels, from the number of each attribute's level."""
    terms = (f"{level} * {prod(shape[axis + 1 :])}" for axis, level in enumerate(levels))
    return f"CAST({' + '.join(terms)} AS UINTEGER)"


def _level_sql(attribute: Attribute, levels: str) -> str:
    column = f"staged.{quote_name(attribute.name)}"
    missing = attribute.n_levels - 1 if attribute.has_missing else "NULL"
    match attribute.coding:
        case Bins():
            present = bin_sql(column, attribute.coding, attribute.sql_type)
        case Groups(names=names, group_of=group_of) if group_of.get(OTHERS) in names:
            present = f"coalesce({levels}.level, {names.index(group_of[OTHERS])})"
        case _:
            present = f"{levels}.level"
    return f"CASE WHEN {column} IS NULL THEN {missing} ELSE {present} END"


def bin_sql(column: str, bins: Bins, sql_type: str) -> str:
    """The number of the bin that a value is in, if it is not missing."""
    if bins.has_days:
        column, sql_type = f"CAST({column} AS DATE)", "DATE"
    places, below = decimal_places(sql_type), []
    for level, cut in enumerate(bins.cuts):
        if isinstance(cut, str):
            sql = f"CAST({quote_text(cut)} AS {sql_type})"
        else:
            sql = str(cut) if is_integer(sql_type) else f"CAST({quote_text(repr(cut))} AS DOUBLE)"
        is_below = f"{column} <= {sql}"
        if places is not None and isinstance(cut, str):
            n_whole = len(cut.lstrip("-").partition(".")[0].lstrip("0"))
            if n_whole > places[0]:  # beyond all values of the type
                is_below = "false" if cut.startswith("-") else "true"
        below.append(f"WHEN {is_below} THEN {level}")
    return f"CASE {' '.join(below)} ELSE {len(bins.cuts)} END"


def period_sql(column: str, unit: Period) -> str:
    """The year of a date, or its year and month as a text; NULL for an infinite one."""
    if unit == "year":
        return f"CAST(year({column}) AS BIGINT)"
    return f"CASE WHEN isfinite({column}) THEN strftime({column}, '%Y-%m') END"


def _join_sql(connection: duckdb.DuckDBPyConnection, attribute: Attribute, levels: str) -> str:
    """Make the table of an attribute's values and join it; bins need none."""
    column, sql_type = f"staged.{quote_name(attribute.name)}", attribute.sql_type
    match attribute.coding:
        case Bins():
            return ""
        case Categories(texts=texts):
            level_of = {text: level for level, text in enumerate(texts)}
        case Periods(texts=texts, unit=unit):
            column, sql_type = period_sql(column, unit), attribute.level_type
            level_of = {text: level for level, text in enumerate(texts)}
        case Groups(names=names, group_of=group_of):
            column, sql_type = f"CAST({column} AS VARCHAR)", "VARCHAR"
            level_of = {text: names.index(name) for text, name in group_of.items() if name in names}
    rows = pa.table({"text": [*level_of], "level": [*level_of.values()]})
    connection.register("level_of", rows)
    connection.execute(
        f"CREATE TEMP TABLE {levels} AS "
        f"SELECT CAST(text AS {sql_type}) AS value, level FROM level_of"
    )
    connection.unregister("level_of")
    return f"LEFT JOIN {levels} ON {column} = {levels}.value"
