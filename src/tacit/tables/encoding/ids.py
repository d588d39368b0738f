"""Ids as texts for hashing: typed, or normalised.

Typed, each id is a letter for its type, the length of its text, and its text. So 1 and '1' differ,
as do ('a', 'bc') and ('ab', 'c'); the 5 of one integer type is the 5 of another. No two different
ids share such a text.

Normalised, ids that people would take for the same are the same: blanks around them and the case of
letters do not count, and a number is the same as a number, as a decimal, and as a text with or
without leading zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from tacit.tables.encoding.attribute import is_integer, is_number
from tacit.tables.sources.staging_table import id_text

_TAGS = {"BOOLEAN": "b", "DATE": "d", "DOUBLE": "f", "TIME": "h", "TIMESTAMP": "m", "VARCHAR": "t"}

ID_HASH_DIGITS = 32
"""Hexadecimal digits of the keyed hash of an id: 128 bits, so that no two ids share one."""

_HMAC_BLOCK = sha256().block_size


def typed_id_sql(stored_types: Sequence[str]) -> str:
    """SQL of the text of a record's id from its columns ``id_0``..., one for each type."""
    return " || ".join(_typed_sql(f"id_{k}", one) for k, one in enumerate(stored_types))


def keyed_id_sql(stored_types: Sequence[str], key: bytes) -> str:
    """SQL of the keyed hash of a record's id: HMAC-SHA-256 of its typed text, shortened.

    NULL where a column of the id is. The key, of at most 64 bytes, stands in the SQL.
    """
    return _keyed_sql(typed_id_sql(stored_types), key)


def keyed_person_sql(n_columns: int, key: bytes) -> str:
    """SQL of the same of the normalised text: one hash, however the id is spelt."""
    return _keyed_sql(normalised_id_sql(n_columns), key)


def _keyed_sql(text: str, key: bytes) -> str:
    block = key.ljust(_HMAC_BLOCK, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block).hex() for pad in (0x36, 0x5C))
    hashed = f"sha256(unhex('{outer}') || unhex(sha256(unhex('{inner}') || encode({text}))))"
    return f"left({hashed}, {ID_HASH_DIGITS})"


def normalised_id_sql(n_columns: int) -> str:
    """SQL of the text that ids of the same person have in differently exported tables."""
    return " || ".join(_measured_sql(_normalised_sql(f"id_{k}")) for k in range(n_columns))


def _normalised_sql(column: str) -> str:
    text = f"lower({id_text(f'CAST({column} AS VARCHAR)')})"
    whole = f"regexp_replace({text}, '^[+]?(-?)0*([0-9])', '\\1\\2')"
    number = f"regexp_replace({whole}, '([.][0-9]*?)0*$', '\\1')"
    is_number = f"regexp_full_match({text}, '[+-]?[0-9]+([.][0-9]*)?')"
    return f"CASE WHEN {is_number} THEN rtrim({number}, '.') ELSE {text} END"


def _measured_sql(text: str) -> str:
    """A text with its length before it: ('a', 'bc') and ('ab', 'c') stay different."""
    return f"strlen({text}) || ':' || {text}"


def _typed_sql(column: str, stored_type: str) -> str:
    return f"'{_tag(stored_type)}' || {_measured_sql(f'CAST({column} AS VARCHAR)')}"


def _tag(stored_type: str) -> str:
    if is_integer(stored_type):
        return "i"
    return "n" if stored_type not in _TAGS and is_number(stored_type) else _TAGS[stored_type]
