"""Columns of texts that are read as numbers, dates or times, and the strays among the texts.

A stray is a text that cannot be read so, such as ``unknown`` in a column of ages.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import time
from decimal import Decimal

from tacit.errors import InvalidInputError, Suggestion
from tacit.remark import Remark
from tacit.tables.connection import quote_name
from tacit.tables.encoding.attribute import is_number
from tacit.tables.encoding.column import Column
from tacit.tables.sources.staging_table import StagingTable, store

_MOST_SHOWN = 5
_FEWEST_READ = 0.5
"""Share of the texts that can be read; with fewer, the column is one of texts."""

_DAY = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
_CLOCK = "[0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?"
_ZONE = "( ?(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?))?"

_READERS = {
    "BIGINT": ("[+-]?[0-9]+", "TRY_CAST({0} AS BIGINT)"),
    "DOUBLE": (".*", "TRY_CAST({0} AS DOUBLE)"),
    "DATE": (_DAY, "TRY_CAST({0} AS DATE)"),
    # A text without a time zone is in UTC; a cast to TIMESTAMP alone would forget the zone.
    "TIMESTAMP": (
        f"{_DAY}([ T]{_CLOCK}{_ZONE})?",
        "CAST(TRY_CAST({0} AS TIMESTAMP WITH TIME ZONE) AS TIMESTAMP)",
    ),
    "TIME": (_CLOCK, "TRY_CAST({0} AS TIME)"),
}
"""Stored type -> which texts may be of it, and SQL that reads one; narrow types first."""


def read_texts(staged: StagingTable, column: Column, id_columns: Sequence[str]) -> bool:
    """Turn a column of texts into what its declaration needs; whether that was done.

    Strays are refused, with the ids of their records, or become missing, as the column says.
    """
    candidates = _candidates(column)
    if staged.types[column.name] != "VARCHAR" or not candidates:
        return False
    are_read = (_count_sql(f"{_value_sql('value', each)} IS NOT NULL") for each in candidates)
    [(n_texts, *counts)] = staged.connection.execute(
        f"SELECT {_count_sql('value IS NOT NULL')}, {', '.join(are_read)} "
        f"FROM {staged.values(column.name)}"
    ).fetchall()
    n_read = dict(zip(candidates, counts, strict=True))
    chosen = max(candidates, key=lambda each: n_read[each])  # of equals the first, the narrowest
    if n_read[chosen] <= _FEWEST_READ * n_texts:
        return False
    if n_read[chosen] < n_texts:
        _refuse_or_remark(staged, column, chosen, id_columns)
    read_as(staged, column.name, chosen)
    return True


def read_as(staged: StagingTable, name: str, stored_type: str) -> None:
    """Turn a column of texts into a stored type; strays become missing."""
    staged.retype(name, stored_type, lambda text: reading_sql(text, stored_type))


def reading_sql(text: str, stored_type: str) -> str:
    """SQL of what a text is in a stored type, in its stored form; NULL for a stray."""
    return store("a text", _value_sql(text, stored_type), stored_type)[0]


def count_strays(staged: StagingTable, name: str, stored_type: str) -> tuple[int, str | None]:
    """How many texts of a column cannot be read as a stored type, and one of them."""
    quoted = quote_name(name)
    [(n_strays, example)] = staged.connection.execute(
        f"SELECT count(*), min({quoted}) FROM staged "
        f"WHERE {quoted} IS NOT NULL AND {_value_sql(quoted, stored_type)} IS NULL"
    ).fetchall()
    return n_strays, example


def _candidates(column: Column) -> list[str]:
    """The stored types that the declaration can do with; none where texts will do."""
    if column.quantiles is not None:
        return list(_READERS)
    if column.by is not None:
        return ["DATE", "TIMESTAMP"]
    if column.cuts is None:
        return []
    if isinstance(column.cuts[0], int | float | Decimal):
        return ["BIGINT", "DOUBLE"]
    return ["TIME"] if isinstance(column.cuts[0], time) else ["DATE", "TIMESTAMP"]


def _value_sql(quoted: str, stored_type: str) -> str:
    """What a text is in a stored type; NULL for a stray."""
    text = f"trim({quoted})"
    pattern, value = (part.format(text) for part in _READERS[stored_type])
    return f"CASE WHEN regexp_full_match({text}, '{pattern}') THEN {value} END"


def _count_sql(condition: str) -> str:
    return f"coalesce(sum(times) FILTER ({condition}), 0)::BIGINT"


def _refuse_or_remark(
    staged: StagingTable, column: Column, stored_type: str, id_columns: Sequence[str]
) -> None:
    def is_stray(text: str) -> str:
        return f"{text} IS NOT NULL AND {_value_sql(text, stored_type)} IS NULL"

    [(n_strays,)] = staged.connection.execute(
        f"SELECT {_count_sql(is_stray('value'))} FROM {staged.values(column.name)}"
    ).fetchall()
    examples = staged.first_records(column.name, is_stray, id_columns, _MOST_SHOWN)
    if column.stray == "missing":
        values = {"column": column.name, "records": n_strays, "example": examples[0][0]}
        staged.remarks.append(Remark("strays_missing", values))
        return
    shown = []
    for text, *ids in examples:
        pairs = [f"{name} {value}" for name, value in zip(id_columns, ids, strict=True)]
        shown.append(f"{text!r} ({', '.join(pairs)})")
    more = f" and {n_strays - len(shown):,} more" if n_strays > len(shown) else ""
    noun = "numbers" if is_number(stored_type) else "ISO dates or times"
    raise InvalidInputError(
        f"{column.name} has texts that are no {noun} in {n_strays:,} of {staged.n_records:,} "
        f"records: {', '.join(shown)}{more}; correct them, or count them as "
        "missing",
        suggestions=[Suggestion("create", {"stray": "missing"})],
    )
