"""What callers send: one model for each kind of order, for JSON and for forms."""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from tacit.problem import Costs
from tacit.service.uploads import file_name
from tacit.study.extension import MIN_COHORT

_LONGEST_TEXT = 2_000
_LONGEST_LIST = 200

Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT)]
Bits = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Cohort = Annotated[int, Field(ge=1)]
AmountOrNone = Bits | Literal["none"]
"""Of a limit; ``none`` takes it away."""


def _listed(value: Any) -> Any:
    """A form that has one of several values sends it alone."""
    return [value] if isinstance(value, str) else value


def _lines(value: Any) -> Any:
    """Several texts; a form has a line for each."""
    if not isinstance(value, str):
        return value
    return [line.strip() for line in value.splitlines() if line.strip()]


def _pairs(value: Any) -> Any:
    """Names and numbers; a form has a line ``NAME=NUMBER`` for each."""
    if not isinstance(value, str):
        return value
    lines = [line.rpartition("=") for line in value.splitlines() if line.strip()]
    return {name.strip(): number for name, _, number in lines}


def _table(value: Any) -> Any:
    """A table of numbers; a form has its rows in one line, as in 0,1;1,0. A word is no table."""
    if not isinstance(value, str) or "," not in value:
        return value
    return [row.split(",") for row in value.split(";") if row.strip()]


def _key(value: str) -> str:
    if file_name(value) is None:
        raise ValueError("give the key of a file that was sent")
    return value


Names = Annotated[list[Name], Field(max_length=_LONGEST_LIST), BeforeValidator(_listed)]
Accepted = Annotated[list[Literal["disclosure"]], BeforeValidator(_listed)]
"""Codes of consequences that a custodian accepts, see ``AcceptanceError``."""

Uploaded = Annotated[Name, AfterValidator(_key)]
"""The key of a file that was sent."""


class Order(BaseModel):
    """What a caller sends; fields that are not known are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Question(Order):
    """What is asked, and how answers are judged; as the arguments of ``Study.quote``.

    Attributes:
        asked: private attributes, or one external column.
        sql: an expression over the private attributes' levels, instead of ``asked``.
        utility: a name, or a table of costs with a row for each answer.
        objective: ``"mean"`` or ``"worst-level"``.
        ceilings: level -> the largest mean cost that is allowed there.
        analysable: whether answers depend on nothing but what is asked.
        bits: what the party may learn from it; by default all that is left to it.
    """

    asked: Names | None = None
    sql: Name | None = None
    utility: Annotated[Name | list[list[float]], BeforeValidator(_table)] = "hamming"
    objective: Literal["mean", "worst-level"] = "mean"
    ceilings: Annotated[dict[Name, float], BeforeValidator(_pairs)] = Field(default_factory=dict)
    analysable: bool = False
    bits: Bits | None = None

    def arguments(self, *leave_out: str) -> dict[str, Any]:
        """For the methods of ``Study``."""
        found = dict(self)
        for name in leave_out:
            del found[name]
        if not isinstance(self.utility, str):
            found["utility"] = Costs(self.utility)
        return found


class Request(Question):
    """A release that is asked for.

    Attributes:
        max_error: refuse an answer whose cost is above this.
        format: of the file.
    """

    max_error: float | None = None
    format: Literal["csv", "parquet"] = "csv"


class QuoteFor(Question):
    """A custodian's question for a party.

    Attributes:
        again: a new release, although the same request was answered before.
        cohort: the only one to answer for; by default all.
        compare: show the other form, analysable or adaptive, and what a cap costs.
    """

    party: Name
    again: bool = False
    cohort: Cohort | None = None
    compare: bool = False


class RequestFor(Request):
    """A custodian's request for a party.

    Attributes:
        again: a new release, although the same request was answered before.
        cohort: the only one to answer for; by default all.
        reason: why, for the ledger and the receipt.
        accept: codes of what is accepted.
    """

    party: Name
    again: bool = False
    cohort: Cohort | None = None
    reason: Name | None = None
    accept: Accepted = Field(default_factory=list)


class SurfaceFor(Question):
    """What a request would be worth under other limits; as for ``Study.trace_surface``."""

    party: Name
    bits: None = None
    limit: Bits | None = None
    everyone: Bits | None = None


class LimitOn(Order):
    """Who may learn how much; as the arguments of ``Study.set_limit``.

    Attributes:
        whom: ``lab-a``, ``lab-a+lab-b``, ``any 2`` or ``everyone``.
        bits: on average over the records, or ``none``; left out, they stay as they are.
        times: after any answer, no combination of levels is more times as likely; or ``none``.
        title: what a single party is called.
    """

    whom: Name
    bits: AmountOrNone | None = None
    times: AmountOrNone | None = None
    title: Name | None = None

    def arguments(self) -> dict[str, Any]:
        """For ``Study.set_limit``."""
        return {name: inf if value == "none" else value for name, value in dict(self).items()}


class Approval(Order):
    """Whether a custodian has to approve what a party asks for.

    Attributes:
        name: of the party.
        is_required: whether it is so from now on.
    """

    name: Name
    is_required: bool


class AuditOf(Order):
    """How many records an audit simulates."""

    records: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    seed: Annotated[int, Field(ge=0)] = 0


class PlanOf(Order):
    """What limits would buy; as the arguments of ``Study.plan``.

    Attributes:
        asked: requests, each a column, or several private attributes.
        sql: more requests, as expressions over the private attributes' levels.
        correct: a share of right answers, to find the bits for.
        parties: how many new parties take the requests in turn.
        limit: bits of each of them.
        times: the same in times.
        limits: whom -> bits, in the place of the limits in force on the same coalitions.
    """

    asked: Annotated[
        list[Name | list[Name]], Field(max_length=_LONGEST_LIST), BeforeValidator(_listed)
    ] = Field(default_factory=list)
    sql: Annotated[list[Name], Field(max_length=_LONGEST_LIST), BeforeValidator(_lines)] = Field(
        default_factory=list
    )
    correct: Annotated[float, Field(ge=0, le=1)] | None = None
    parties: Annotated[int, Field(ge=0, le=50)] = 0
    limit: Bits | None = None
    times: Annotated[float, Field(ge=1)] | None = None
    limits: Annotated[dict[Name, Bits], BeforeValidator(_pairs)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _limits_need_parties(self) -> PlanOf:
        if not self.parties and (self.limit or self.limits):
            raise ValueError("limits are given, but no parties: say how many")
        return self


class CohortOf(Order):
    """Records that came since; as the arguments of ``Study.extend``.

    Attributes:
        table: the key of a file that was sent; left out, the table that the study was made of.
        min_cohort: refuse fewer new records.
        skip_known: leave out records whose ids are in the study, or were erased.
        accept_corrections: erase records whose values changed, and let them join again.
        readmit: ids that were erased and may join again.
        accept_reset: take records that the ledger knows from another study.
        accept: codes of consequences that are accepted.
    """

    table: Uploaded | None = None
    min_cohort: Annotated[int, Field(ge=1)] = MIN_COHORT
    skip_known: bool = False
    accept_corrections: bool = False
    readmit: Annotated[Names, BeforeValidator(_lines)] = Field(default_factory=list)
    accept_reset: bool = False
    accept: Names = Field(default_factory=list)


class ErasureOf(Order):
    """Whom to erase; as the arguments of ``Study.erase``.

    Attributes:
        ids: the key of a file that was sent; left out, an erasure that was interrupted is finished.
        skip_unknown: skip ids that were never in the study, or are empty.
        confirm: a word that it is meant; without it, records are counted and none is erased.
    """

    ids: Uploaded | None = None
    skip_unknown: bool = False
    confirm: Literal["erase"] | None = None


class LinkFor(Order):
    """Whose pseudonyms of which ids.

    Attributes:
        party: whose.
        ids: the key of a file that was sent.
    """

    party: Name
    ids: Uploaded


class EstimateOf(Order):
    """How sure estimates are to be.

    Attributes:
        confidence: of every interval.
    """

    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95


class VerificationOf(Order):
    """What is verified beside the study.

    Attributes:
        receipt: the key of a file that was sent: a receipt or a certificate.
    """

    receipt: Uploaded | None = None


class UploadedFile(Order):
    """A file that was sent.

    Attributes:
        key: of the file.
    """

    key: Uploaded


class TokenFor(Order):
    """Who gets a token, for how many days.

    Attributes:
        role: of its holder.
        name: of its holder.
        days: until it expires.
    """

    role: Literal["party", "custodian"] = "party"
    name: Name
    days: Annotated[float, Field(gt=0, le=3650)] = 30


class Holder(Order):
    """Whose tokens end."""

    role: Literal["party", "custodian"] = "party"
    name: Name


class Confirmation(Order):
    """A word that something final is meant."""

    confirm: Literal["close"]


class Secret(Order):
    """A token, or what a login address ends in."""

    secret: Annotated[str, Field(min_length=1, max_length=200)]
