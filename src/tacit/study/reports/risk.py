"""What a coalition can tell about a record, in chances: a part of quotes and of receipts."""

from __future__ import annotations

from math import log2
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tacit.auditing import Disclosure, Exposure, Inference
from tacit.auditing.text import other_lines, risk_in_words

Chance = Annotated[float, Field(ge=0, le=1)]


class Told(BaseModel):
    """What a coalition can tell about one variable.

    Attributes:
        about: name of the variable.
        is_exact: whether the figures are exact (double precision), or upper bounds.
        guess_before: chance that a guess is right, by the public counts alone.
        guess_after: the same by all that the coalition holds.
        times_as_likely: how many times as likely the most telling answers make a level.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    about: str
    is_exact: bool
    guess_before: Chance
    guess_after: Chance
    times_as_likely: Annotated[float, Field(ge=1)]

    @staticmethod
    def of(told: Inference) -> Told:
        """From an inference."""
        exposure = told.exposure
        return Told(
            about=told.about,
            is_exact=exposure.is_exact,
            guess_before=_chance(exposure.guess_before),
            guess_after=_chance(exposure.guess_after),
            times_as_likely=max(1.0, told.times_as_likely),
        )

    @property
    def inference(self) -> Inference:
        """The same for ``tacit.auditing``."""
        figures = {
            "guess_before": self.guess_before,
            "guess_after": self.guess_after,
            "pointwise_max": log2(self.times_as_likely),
        }
        return Inference(self.about, Exposure(self.is_exact, figures))


def _chance(share: float) -> float:
    """A share of the records; sums may round past 1."""
    return min(1.0, share)


class Risk(BaseModel):
    """What a coalition can tell about a record by all that it holds.

    Attributes:
        parties: who pools what.
        records: how many there are in the table.
        times: no combination of levels may be more times as likely; ``None`` for no such limit.
        told: about every column and question that was asked, and last about the whole record.
        disclosures: levels that few records have and that they can tell; only of parties that
            were asked about by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    parties: tuple[str, ...]
    records: int
    times: float | None = None
    told: Annotated[tuple[Told, ...], Field(min_length=1)]
    disclosures: tuple[Disclosure, ...] = ()

    @property
    def name(self) -> str:
        """Of the coalition, for people."""
        return " + ".join(self.parties)

    @property
    def in_words(self) -> str:
        """The chances in a line."""
        return risk_in_words([each.inference for each in self.told], self.times)

    @property
    def others_in_words(self) -> tuple[str, ...]:
        """What can be told about the variables that this line leaves out, a line each."""
        return tuple(other_lines([each.inference for each in self.told]))

    def as_dict(self) -> dict[str, Any]:
        """For machines, with the words that people read."""
        return self.model_dump(mode="json") | {"in_words": self.in_words}
