"""Questions about a record: its attributes by name, SQL over their levels, or an external column.

SQL is evaluated on the table of cells, one row for each x. Ids, other columns and values finer
than the levels are not in it, so they cannot be asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import product
from math import prod
from operator import attrgetter

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.similar_names import nearest_first
from tacit.tables.connection import connect_memory, lock, quote_name, reason, shortened
from tacit.tables.encoding.attribute import (
    Attribute,
    Letter,
    Numbers,
    labels_of,
    letter_of,
    letters_of,
    numbers_of,
)
from tacit.tables.encoding.codes import cell_sql
from tacit.tables.sources.staging_table import store


@dataclass(frozen=True, eq=False)  # no slots: its law is computed once
class Question:
    """A variable R with its public law given the cells.

    Attributes:
        name: how people call it: attributes, an expression, or an external column.
        labels: the letters of R, all different: levels in their order, other numbers rising, texts
            from A to Z; a missing value last.
        numbers: where each letter lies on a line, ``None`` for a missing value; ``None`` altogether
            if the letters have no order.
        counts: records by cell and letter, [x, r], for an external column; one row [x, r] of a
            single 1 for a function of the cell.
        external: name of the external column; ``None`` for a function of the cell.
        sql: the expression behind it, where it was asked by one.
    """

    name: str
    labels: tuple[str, ...]
    numbers: Numbers
    counts: NDArray[np.int64]
    external: str | None = None
    sql: str | None = None

    @staticmethod
    def of_function(
        name: str,
        labels: tuple[str, ...],
        numbers: Numbers,
        r_of_x: NDArray[np.intp],
        *,
        sql: str | None = None,
    ) -> Question:
        """A function of the cell: which letter each cell has, [x]."""
        counts = np.eye(len(labels), dtype=np.int64)[r_of_x]
        return Question(name, labels, numbers, counts, sql=sql)

    @property
    def r_of_x(self) -> NDArray[np.intp]:
        """Which letter each cell has, [x]; only of a function of the cell."""
        return np.asarray(self.counts.argmax(axis=1))

    @cached_property
    def p_r_given_x(self) -> Array:
        """Its law, [x, r]; uniform for a cell without records."""
        total = self.counts.sum(axis=1, keepdims=True)
        law = np.where(total > 0, self.counts / np.maximum(total, 1), 1 / len(self.labels))
        return np.asarray(law)


@dataclass(frozen=True, slots=True)
class Cells:
    """All combinations of levels of the private attributes, in C order."""

    attributes: tuple[Attribute, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of levels."""
        return tuple(map(attrgetter("n_levels"), self.attributes))

    def of_attributes(self, names: Sequence[str]) -> Question:
        """One attribute, or the combinations of several."""
        axes = [self._axis(name) for name in names]
        if not axes or len(set(axes)) < len(axes):
            raise InvalidInputError(
                f"attributes {', '.join(names)!r}: name one, or several different ones"
            )
        chosen = [self.attributes[axis] for axis in axes]
        shape = self.shape
        if len(chosen) == 1:
            labels, numbers = chosen[0].labels, chosen[0].numbers
        else:
            labels, numbers = _combined([attribute.labels for attribute in chosen]), None
        levels = np.unravel_index(np.arange(prod(shape)), shape)
        r_of_x = np.ravel_multi_index(
            tuple(levels[axis] for axis in axes), tuple(shape[axis] for axis in axes)
        )
        return Question.of_function(",".join(names), labels, numbers, r_of_x)

    def evaluate(self, sql: str) -> Question:
        """An expression over the attributes' levels."""
        # Here, because sqlglot takes 0.1 s to import, and most commands need no SQL.
        from tacit.tables.questions.expression import expression_sql
        from tacit.tables.questions.parser import parse_expression

        expression = expression_sql(parse_expression(sql), self.attributes)
        with connect_memory() as connection:
            lock(connection)
            cells = self._make_cells(connection)
            try:
                texts, sql_type = self._values(connection, cells, expression)
            except duckdb.Error as error:
                why = reason(error).partition(". ")[0]
                raise InvalidInputError(
                    f"{shortened(sql)!r} cannot be computed at all cells: {why}"
                ) from None
        return self._question(sql, texts, sql_type)

    def _question(self, sql: str, texts: list[str | None], sql_type: str) -> Question:
        """The expression whose value at each cell has this text and type."""
        different = sorted(set(texts), key=_Order(self.attributes, sql_type))
        if len(different) == 1:
            raise InvalidInputError(
                f"{shortened(sql)!r} is the same at every cell, which says nothing"
            )
        r_of_text = {text: r for r, text in enumerate(different)}
        r_of_x = np.array([r_of_text[text] for text in texts], dtype=np.intp)
        is_exact = any(attribute.is_exact for attribute in self.attributes)
        letters = letters_of(different, sql_type, is_exact=is_exact)
        numbers = self._numbers(letters)
        name = " ".join(sql.split())
        return Question.of_function(name, labels_of(letters), numbers, r_of_x, sql=sql)

    def _axis(self, name: str) -> int:
        names = [attribute.name for attribute in self.attributes]
        if name not in names:
            raise InvalidInputError(
                f"{name!r} is no private attribute of this study: it has "
                f"{nearest_first(name, names)}"
            )
        return names.index(name)

    def _make_cells(self, connection: duckdb.DuckDBPyConnection) -> str:
        """Make tables of levels; what to write after FROM for all their combinations."""
        names = []
        for k, attribute in enumerate(self.attributes):
            connection.register("rows", _level_rows(attribute))
            connection.execute(
                f"CREATE TABLE levels_{k} AS "
                f"SELECT level, bin, CAST(text AS {attribute.level_type}) AS value FROM rows"
            )
            connection.unregister("rows")
            names.append(f"levels_{k} AS {quote_name(attribute.name)}")
        return ", ".join(names)

    def _values(
        self, connection: duckdb.DuckDBPyConnection, cells: str, expression: str
    ) -> tuple[list[str | None], str]:
        """The text of an expression's value at each cell, and the type that the texts are of."""
        [(found_type,)] = connection.execute(
            f"SELECT typeof({expression}) FROM {cells} LIMIT 1"
        ).fetchall()
        value, sql_type = store("the result", expression, found_type)
        levels = [f"{quote_name(attribute.name)}.level" for attribute in self.attributes]
        rows = connection.execute(
            f"SELECT CAST({value} AS VARCHAR) FROM {cells} ORDER BY {cell_sql(self.shape, levels)}"
        ).fetchall()
        return [text for (text,) in rows], sql_type

    def _numbers(self, letters: tuple[Letter, ...]) -> Numbers:
        """Numbers themselves, or where the bins or months lie that all letters are labels of."""
        for attribute in self.attributes:
            numbers = attribute.numbers if attribute.level_type == "VARCHAR" else None
            if numbers is not None and set(letters) - {None} <= set(attribute.letters):
                place = dict(zip(attribute.letters, numbers, strict=True))
                return tuple(place.get(letter) for letter in letters)
        return numbers_of(letters)


class _Order:
    """Where the text of a letter belongs: missing last; numbers by size; texts that are levels in
    the order of these, after all others.
    """

    def __init__(self, attributes: Sequence[Attribute], sql_type: str) -> None:
        self._sql_type = sql_type
        self._levels: dict[Letter, tuple[int, int]] = {}
        for axis, attribute in enumerate(attributes, start=1):
            for level, letter in enumerate(attribute.letters):
                self._levels.setdefault(letter, (axis, level))

    def __call__(self, text: str | None) -> tuple[bool, float | Decimal, tuple[int, int], str]:
        letter = letter_of(text, self._sql_type, is_exact=True)
        if letter is None:
            return True, 0, (0, 0), ""
        if not isinstance(letter, str):
            return False, letter, (0, 0), ""
        return False, 0, self._levels.get(letter, (0, 0)), letter


def _combined(labels: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Texts of all combinations, no two alike."""
    combinations = list(product(*labels))
    texts = tuple(" + ".join(combination) for combination in combinations)
    if len(set(texts)) == len(texts):
        return texts
    return tuple(json.dumps(combination, ensure_ascii=False) for combination in combinations)


def _level_rows(attribute: Attribute) -> pa.Table:
    """Number, text and bin of each level; the missing one has nothing but a number."""
    texts = attribute.texts
    bins = [None if text is None else level for level, text in enumerate(texts)]
    return pa.table(
        {
            "level": pa.array(range(len(texts)), pa.int32()),
            "bin": pa.array(bins, pa.int32()),
            "text": pa.array(texts, pa.string()),
        }
    )
