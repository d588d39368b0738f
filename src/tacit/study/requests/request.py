"""A request to a study, and what makes two requests the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.problem import Utility
from tacit.study.requests.question import Question
from tacit.study.requests.utilities import Measure


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A question with all that makes it a request: who asks, judged how, for how many bits.

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


def distortion(request: Request) -> Array:
    """The matrix d[rhat, r] of a request whose answers are judged by a mean cost."""
    utility = request.utility
    if isinstance(utility, str):
        return 1.0 - np.eye(len(request.question.labels))
    return np.asarray(utility, dtype=float)
