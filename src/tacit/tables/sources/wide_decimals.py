"""Decimals with more digits than DuckDB has: it would read them as floats."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.tables.sources.source import MOST_DIGITS


def refuse_wide_decimals(schema: pa.Schema, names: Sequence[str]) -> list[Remark]:
    """Refuse columns of decimals that have more digits than DuckDB's; there is nothing to say."""
    for field in schema:
        is_wide = pa.types.is_decimal(field.type) and field.type.precision > MOST_DIGITS
        if is_wide and field.name in names:
            raise InvalidInputError(
                f"column {field.name!r} has type DECIMAL({field.type.precision},"
                f"{field.type.scale}) and {MOST_DIGITS} digits are the most that tacit reads: "
                "round it, or turn it into a text first"
            )
    return []
