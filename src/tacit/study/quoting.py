"""A quote: what a request would cost and be worth, in numbers and in words. It spends nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import Any

from tacit.errors import NotWithinLimitsError
from tacit.scheme.policy import Parties
from tacit.study.books import Books
from tacit.study.drafting import Draft, draft
from tacit.study.wording import coalition_name, value_in_words

_CURVE = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Points of the trade-off curve, in parts of the bits asked for."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a coalition holds of its limit, in bits about one record.

    Attributes:
        parties: who pools what.
        name: for people.
        limit: what it may hold.
        held: what it holds now, at most.
        after: what it would hold after the quoted release, at most.
    """

    parties: tuple[str, ...]
    name: str
    limit: float
    held: float
    after: float

    @property
    def added(self) -> float:
        """What the release would add."""
        return max(0.0, self.after - self.held)

    @property
    def left(self) -> float:
        """What would be left."""
        return max(0.0, self.limit - self.after)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One point of the trade-off: so many bits to the party buy such answers."""

    bits: float
    value: float
    in_words: str


@dataclass(frozen=True, slots=True)
class Quote:
    """What a request would cost and be worth.

    Attributes:
        party: who asks.
        request: what for.
        measure: how answers are judged.
        value: mean cost of the answers, or bits about R.
        blind: the same for a blind guess.
        bound: no release within these limits does better.
        in_words: value and blind for people.
        own: the party's bits.
        worst: the coalition that would be nearest to its limit.
        coalitions: all that the release feeds.
        about_more: about how many such requests would still fit after it.
        curve: bits to the party against value, around the asked point.
        is_answered: whether this very request was answered before; repeating it costs nothing.
    """

    party: str
    request: str
    measure: str
    value: float
    blind: float
    bound: float | None
    in_words: str
    own: Share
    worst: Share
    coalitions: tuple[Share, ...]
    about_more: int
    curve: tuple[CurvePoint, ...]
    is_answered: bool

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        from dataclasses import asdict

        return asdict(self)


def quoted(books: Books, drafted: Draft, is_answered: bool) -> Quote:
    """The quote of a draft."""
    shares = tuple(_share(drafted, coalition, books) for coalition in drafted.limits)
    own = next(share for share in shares if share.parties == (drafted.wish.party,))
    worst = min(shares, key=lambda share: (share.left, len(share.parties)))
    return Quote(
        party=drafted.wish.party,
        request=drafted.wish.question.name,
        measure=drafted.wish.measure.kind,
        value=drafted.value,
        blind=drafted.blind,
        bound=drafted.design.solution.bound,
        in_words=value_in_words(drafted.wish.measure, drafted.value, drafted.blind),
        own=own,
        worst=worst,
        coalitions=shares,
        about_more=min(_fits(share) for share in shares),
        curve=tuple(_curve(books, drafted, own)),
        is_answered=is_answered,
    )


def _share(drafted: Draft, coalition: Parties, books: Books) -> Share:
    limit = drafted.limits[coalition]
    if coalition == {drafted.wish.party}:
        limit = books.limits[drafted.wish.party]
    return Share(
        tuple(sorted(coalition)),
        coalition_name(coalition, books.holders | {drafted.wish.party}),
        limit,
        drafted.before.upper_bits(coalition),
        drafted.after.upper_bits(coalition),
    )


def _fits(share: Share) -> int:
    """How often what this release adds fits into what it leaves."""
    return 1000 if share.added < 1e-9 else min(1000, floor(share.left / share.added))


def _curve(books: Books, drafted: Draft, own: Share) -> list[CurvePoint]:
    """Answers for fewer and for more bits than asked, as far as the limits allow."""
    points = []
    for part in _CURVE:
        bits = part * own.added
        if not 0 < bits <= own.limit - own.held:
            continue
        try:
            other = draft(books, replace(drafted.wish, bits=bits)) if part != 1.0 else drafted
        except NotWithinLimitsError:
            continue
        words = value_in_words(drafted.wish.measure, other.value, other.blind)
        points.append(CurvePoint(bits, other.value, words))
    return points
