"""Tables in memory: what gives an Arrow stream, as frames of pandas, polars, PyArrow, DuckDB do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.errors import InvalidInputError
from tacit.similar_names import nearest_first


class Frame(Protocol):
    """A data frame of pandas 2.2 or later, polars, PyArrow, a relation of DuckDB, ..."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Its rows, as a capsule of the Arrow C stream interface."""
        ...


def read_frame(frame: object) -> tuple[pa.Table, tuple[str, ...]]:
    """The rows of a frame, and the names of its index, which is left out: rows have no names."""
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InvalidInputError(
            f"{type(frame).__name__} is no table that tacit reads: give the name of one, or a data "
            "frame of pandas (2.2 or later), polars, PyArrow or DuckDB"
        )
    try:
        table = pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, ValueError, TypeError) as error:
        mixed = re.search(r"for column (.+) with type", str(error))
        if mixed is not None:
            raise InvalidInputError(
                f"column {mixed[1]!r} of the table in memory has values of several types: "
                "give it one, such as text with .astype(str)"
            ) from None
        raise InvalidInputError(f"the table in memory cannot be read: {error}") from None
    if not table.column_names:
        raise InvalidInputError("the table in memory has no columns")
    for name, times in Counter(table.column_names).items():
        if times > 1:
            raise InvalidInputError(
                f"the table in memory has two columns {name!r}: give each its own name"
            )
    described = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = tuple(name for name in described if isinstance(name, str))  # a range has no values
    return table.drop_columns(list(index)), index


def count_levels(
    frame: Frame, columns: Sequence[str]
) -> tuple[tuple[tuple[object, ...], ...], NDArray[np.int64]]:
    """The levels of columns, rising and ``None`` last, and how many rows have each combination."""
    table, _ = read_frame(frame)
    if not columns or len(set(columns)) < len(columns):
        raise InvalidInputError(f"columns {', '.join(columns)!r}: name one, or different ones")
    levels, codes = [], []
    for name in columns:
        if name not in table.column_names:
            raise InvalidInputError(
                f"there is no column {name!r} in the table in memory: it has "
                f"{nearest_first(name, table.column_names)}"
            )
        if pa.types.is_nested(table[name].type):
            raise InvalidInputError(f"column {name!r} has lists or the like, which are no levels")
        # NaN, which differs from itself, is missing too.
        values = [None if value != value else value for value in table[name].to_pylist()]
        different = sorted(value for value in set(values) if value is not None)
        different += [None] * (None in values)
        level_of = {value: level for level, value in enumerate(different)}
        levels.append(tuple(different))
        codes.append([level_of[value] for value in values])
    shape = tuple(map(len, levels))
    if not table.num_rows:
        raise InvalidInputError("the table in memory has no rows")
    x = np.ravel_multi_index(tuple(codes), shape)
    return tuple(levels), np.bincount(x, minlength=int(np.prod(shape)))
