"""The types of columns: how any of DuckDB's is stored here, and what Python value a text of it is.

Few types are stored, so that few have to be thought about: whole numbers are BIGINT, UBIGINT or
DECIMAL(p,0); other numbers DOUBLE or DECIMAL(p,s); texts, identifiers and enumerations VARCHAR;
then BOOLEAN, DATE, TIME and TIMESTAMP (in UTC).
"""

from __future__ import annotations

import re

from tacit.errors import InvalidInputError

Letter = bool | int | float | str | None
"""A value as people and JSON see it; None is a missing one."""

_SMALL_INTEGERS = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
}
_LARGE_INTEGERS = {"HUGEINT", "UHUGEINT", "BIGNUM"}
_MOMENTS = {
    "TIMESTAMP",
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE",
}
_TEXTS = {"UUID", "JSON", '"NULL"'}  # the last is DuckDB's type of a NULL that may be of any
_AS_THEY_ARE = {"UBIGINT", "BOOLEAN", "DATE", "TIME", "VARCHAR"}


def store(what: str, expression: str, sql_type: str) -> tuple[str, str]:
    """SQL that turns an expression into its stored form, and the stored type.

    NaN becomes NULL and -0.0 becomes 0.0: both would otherwise be values that differ from
    themselves, or look alike and differ.
    """
    if sql_type in ("FLOAT", "DOUBLE"):
        # Through its digits, so that the 0.1 of a FLOAT is that of a DOUBLE.
        double = (
            f"CAST(CAST({expression} AS VARCHAR) AS DOUBLE)" if sql_type == "FLOAT" else expression
        )
        return f"CASE WHEN isnan({double}) THEN NULL ELSE {double} + 0.0 END", "DOUBLE"
    if sql_type == "BLOB":
        return f"hex({expression})", "VARCHAR"
    stored = _stored_type(sql_type)
    if stored is None:
        raise InvalidInputError(
            f"{what} has type {sql_type}: tacit reads texts, numbers, booleans, dates "
            "and times; turn it into one of these first"
        )
    return f"CAST({expression} AS {stored})", stored


def _stored_type(sql_type: str) -> str | None:
    if sql_type in _AS_THEY_ARE or re.fullmatch(r"DECIMAL\(\d+,\d+\)", sql_type):
        return sql_type
    if sql_type in _SMALL_INTEGERS:
        return "BIGINT"
    if sql_type in _LARGE_INTEGERS:
        return "DECIMAL(38,0)"
    if sql_type in _MOMENTS:
        return "TIMESTAMP"
    if sql_type in _TEXTS or sql_type.startswith("ENUM("):
        return "VARCHAR"
    return None


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
