"""Ids as texts that no two different ids share, for hashing.

Each id is a letter for its type, the length of its text, and its text. So 1 and '1' differ, as do
('a', 'bc') and ('ab', 'c'); the 5 of one integer type is the 5 of another.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.tables.column_type import is_integer, is_number

_TAGS = {"BOOLEAN": "b", "DATE": "d", "DOUBLE": "f", "TIME": "h", "TIMESTAMP": "m", "VARCHAR": "t"}


def typed_id_sql(stored_types: Sequence[str]) -> str:
    """SQL of the text of a record's id from its columns ``id_0``..., one for each type."""
    return " || ".join(_typed_sql(f"id_{k}", one) for k, one in enumerate(stored_types))


def _typed_sql(column: str, stored_type: str) -> str:
    text = f"CAST({column} AS VARCHAR)"
    return f"'{_tag(stored_type)}' || strlen({text}) || ':' || {text}"


def _tag(stored_type: str) -> str:
    if is_integer(stored_type):
        return "i"
    return "n" if stored_type not in _TAGS and is_number(stored_type) else _TAGS[stored_type]
