"""What can be asked about a record: a variable with its public law given the cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import scheme
from tacit.study.books.records import QuestionRecord
from tacit.study.reports.words import external_in_words
from tacit.tables.encoding.attribute import labels_of
from tacit.tables.questions.cells import CellFunction


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A variable R with its public law given the cells.

    Attributes:
        name: how people call it: attributes, an expression, or an external column.
        labels: the letters of R.
        numbers: where each letter lies on a scale, ``None`` for a missing value; ``None``
            altogether if the letters have no order.
        counts: records by cell and letter, [x, r], for an external column; one row [x, r] of a
            single 1 for a function of the cell.
        external: name of the external column; ``None`` for a function of the cell.
        sql: the expression behind it, where it was asked by one.
    """

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...] | None
    counts: NDArray[np.int64]
    external: str | None = None
    sql: str | None = None

    @staticmethod
    def of_cells(function: CellFunction, sql: str | None = None) -> Question:
        """A function of the cell."""
        labels = labels_of(function.letters)
        counts = np.eye(len(labels), dtype=np.int64)[function.r_of_x]
        return Question(function.name, labels, function.numbers, counts, sql=sql)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What whoever gets the answer should know."""
        return () if self.external is None else (external_in_words(self.external),)

    @property
    def request(self) -> scheme.Question:
        """As a scheme wants it; a cell without records asks for any letter alike."""
        total = self.counts.sum(axis=1, keepdims=True)
        law = np.where(total > 0, self.counts / np.maximum(total, 1), 1 / len(self.labels))
        return scheme.Question(self.name, np.asarray(law), self.labels)

    @property
    def record(self) -> QuestionRecord:
        """As it stands in the ledger; the law of an external column stands there already."""
        is_function = self.external is None
        return QuestionRecord(
            name=self.name,
            labels=self.labels,
            numbers=self.numbers,
            external=self.external,
            sql=self.sql,
            letter_of_cell=tuple(self.counts.argmax(axis=1).tolist()) if is_function else None,
        )
