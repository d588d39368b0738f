"""What callers send: one model for each kind of order, for JSON and for forms."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tacit.policy import AnySize, Everyone, Group, Limit, Policy
from tacit.problem import Costs

_LONGEST_TEXT = 2_000
_LONGEST_LIST = 200

Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT)]
Bits = Annotated[float, Field(gt=0, allow_inf_nan=False)]


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

    asked: Annotated[list[Name], Field(max_length=_LONGEST_LIST)] | None = None
    sql: Name | None = None
    utility: Name | list[list[float]] = "hamming"
    objective: Literal["mean", "worst-level"] = "mean"
    ceilings: dict[Name, float] = Field(default_factory=dict)
    analysable: bool = False
    bits: Bits | None = None

    @field_validator("asked", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("ceilings", mode="before")
    @classmethod
    def _lines_are_ceilings(cls, value: Any) -> Any:
        """A form has a line ``LEVEL=ERROR`` for each."""
        if not isinstance(value, str):
            return value
        lines = [line.rpartition("=") for line in value.splitlines() if line.strip()]
        return {level.strip(): error for level, _, error in lines}

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
    """A custodian's question for a party."""

    party: Name
    again: bool = False


class RequestFor(Request):
    """A custodian's request for a party.

    Attributes:
        again: a new release, although the same request was answered before.
        reason: why, for the ledger and the receipt.
    """

    party: Name
    again: bool = False
    reason: Name | None = None


class SurfaceFor(Question):
    """What a request would be worth under other limits; as for ``Study.trace_surface``."""

    party: Name
    bits: None = None
    limit: Bits | None = None
    everyone: Bits | None = None


class PartyLimit(Order):
    """Who may learn how many bits about a record.

    Attributes:
        name: of the party.
        limit: bits on average.
        cap: bits of the worst single answer; left out, the cap stays as it is.
    """

    name: Name
    limit: Bits
    cap: Bits | None = None


class Approval(Order):
    """Whether a custodian has to approve what a party asks for.

    Attributes:
        name: of the party.
        is_required: whether it is so from now on.
    """

    name: Name
    is_required: bool


class CoalitionLimit(Order):
    """One limit on coalitions; all others stay as they are.

    Attributes:
        whom: whom it is on.
        size: how many parties, for a limit on any so many.
        members: of a group.
        bits: that they may hold about one record together.
        cap: bits that their worst single answer may have.
    """

    whom: Literal["everyone", "size", "group"]
    size: Annotated[int, Field(ge=1)] | None = None
    members: Annotated[list[Name], Field(max_length=_LONGEST_LIST)] = Field(default_factory=list)
    bits: Bits
    cap: Bits | None = None

    @field_validator("members", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @property
    def limit(self) -> Limit:
        """As ``Policy.change`` takes it."""
        cap = inf if self.cap is None else self.cap
        match self.whom:
            case "everyone":
                return Everyone(self.bits, cap=cap)
            case "size":
                return AnySize(self.bits, self.size or 2, cap=cap)
            case "group":
                return Group(self.bits, frozenset(self.members), cap=cap)


class Coalitions(Order):
    """Limits on coalitions, in the place of those before. Caps stay as they are.

    Attributes:
        everyone: bits for all parties together.
        sizes: how many parties -> bits for any so many of them.
        groups: their members and bits.
    """

    everyone: Bits | None = None
    sizes: dict[Annotated[int, Field(ge=1)], Bits] = Field(default_factory=dict)
    groups: Annotated[list[tuple[list[Name], Bits]], Field(max_length=_LONGEST_LIST)] = Field(
        default_factory=list
    )

    def put_into(self, policy: Policy) -> Policy:
        """A policy with these limits, and its own caps; as ``Study.change_collusion`` takes it."""
        limits: list[Limit] = [AnySize(bits, size) for size, bits in self.sizes.items()]
        limits += [Group(bits, frozenset(members)) for members, bits in self.groups]
        limits += [replace(each, bits=inf) for each in policy.limits if each.cap < inf]
        return Policy(everyone=self.everyone, limits=limits)


class AuditOf(Order):
    """How many records an audit simulates."""

    records: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    seed: Annotated[int, Field(ge=0)] = 0


class PlanOf(Order):
    """What limits would buy; as the arguments of ``Study.plan``."""

    asked: Annotated[list[Name], Field(max_length=_LONGEST_LIST)] = Field(default_factory=list)
    sql: Annotated[list[Name], Field(max_length=_LONGEST_LIST)] = Field(default_factory=list)
    correct: Annotated[float, Field(ge=0, le=1)] | None = None
    parties: Annotated[int, Field(ge=0, le=50)] = 0
    limit: Bits | None = None


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
