"""What a party asks a study for, and what makes two requests the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.problem import Utility
from tacit.scheme import Request
from tacit.study.books.records import QuestionRecord
from tacit.study.requests.utilities import Measure
from tacit.tables.questions.cells import Question


def arguments_of(question: Question) -> tuple[str, ...]:
    """How a question is asked on the command line."""
    return (question.name,) if question.sql is None else ("--sql", question.sql)


def request_of(question: Question) -> Request:
    """A question as a scheme wants it."""
    return Request(question.name, question.p_r_given_x, question.labels)


def record_of(question: Question) -> QuestionRecord:
    """A question as it stands in the ledger; the law of an external column stands there already."""
    is_function = question.external is None
    return QuestionRecord(
        name=question.name,
        labels=question.labels,
        numbers=question.numbers,
        external=question.external,
        sql=question.sql,
        letter_of_cell=tuple(question.r_of_x.tolist()) if is_function else None,
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
        question = record_of(self.question).model_dump(mode="json", exclude={"name", "sql"})
        what = [self.party, question, self.measure.record.model_dump(mode="json"), self.bits]
        text = json.dumps(what, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def blind_value(self, p_x: Array) -> float:
        """What answering without looking at the record is worth: the best constant letter."""
        if self.measure.is_information:
            return 0.0
        p_r = p_x @ self.question.p_r_given_x
        return float((distortion(self) @ p_r).min())


def distortion(wish: Wish) -> Array:
    """The matrix d[rhat, r] of a wish whose answers are judged by a mean cost."""
    utility = wish.utility
    if isinstance(utility, str):
        return 1.0 - np.eye(len(wish.question.labels))
    return np.asarray(utility, dtype=float)
