"""What a party asks a study for, and what makes two requests the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import scheme
from tacit.arrays import Array
from tacit.problem import Utility
from tacit.study.books.records import QuestionRecord
from tacit.study.reports.words import external_in_words
from tacit.study.requests.utilities import Measure
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
    def arguments(self) -> tuple[str, ...]:
        """How it is asked for on the command line."""
        return (self.name,) if self.sql is None else ("--sql", self.sql)

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


@dataclass(frozen=True, slots=True)
class Words:
    """A request in the custodian's own words, before a study has made sense of them.

    Attributes:
        party: who asks.
        asked: private attributes, or an external column.
        sql: an expression over the attributes' levels, instead.
        utility: how answers are judged: a word, or the path of a table of costs.
        bits: what the party may learn from it; ``None`` for all that is left to it.
    """

    party: str
    asked: str | Sequence[str] | None
    sql: str | None
    utility: str
    bits: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """A question with all that makes it a request: who, judged how, for how many bits.

    Attributes:
        party: who asks.
        question: what for.
        measure: how the answer is judged.
        bits: what the party may learn from it; ``None`` for all that is left to it.
    """

    party: str
    question: Question
    measure: Measure
    bits: float | None

    @property
    def utility(self) -> Utility:
        """As the engine wants it."""
        return self.measure.utility(self.question.labels, self.question.numbers)

    @property
    def identity(self) -> str:
        """Two requests with the same identity are one: the second gets the first one's release.

        The wording is left out: ``age > 60`` and ``not age <= 60`` ask for the same.
        """
        question = self.question.record.model_dump(mode="json", exclude={"name", "sql"})
        what = [self.party, question, self.measure.record.model_dump(mode="json"), self.bits]
        text = json.dumps(what, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def blind_value(self, p_x: Array) -> float:
        """What answering without looking at the record is worth: the best constant letter."""
        if self.measure.is_information:
            return 0.0
        p_r = p_x @ self.question.request.p_r_given_x
        return float((distortion(self) @ p_r).min())


def distortion(wish: Wish) -> Array:
    """The matrix d[rhat, r] of a wish whose answers are judged by a mean cost."""
    utility = wish.utility
    if isinstance(utility, str):
        return 1.0 - np.eye(len(wish.question.labels))
    return np.asarray(utility, dtype=float)
