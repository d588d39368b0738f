"""Refusals that help: what stands in the way, and the nearest request that fits.

For the custodian: a refusal may name other parties.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.accounting import bits_down, bits_up
from tacit.errors import InfeasibleError, Suggestion, TacitError
from tacit.policy import Parties, limit_in_words, whom_in_words
from tacit.study.books.books import Books, Request, record_of
from tacit.study.reports.receipts import value_in_words
from tacit.study.requests.draft import Draft, draft, holding_in_words, refusal, tightest

_LEAST_OFFERED = 1e-3
"""Bits. Less is not worth a suggestion."""

_MOST_TRIED = 3
"""As many earlier questions are tried as substitutes."""


def suggest_for(books: Books, request: Request, error: InfeasibleError) -> InfeasibleError:
    """Suggest what is left where a limit leaves less than is asked for, else higher limits."""
    coalition: Parties = frozenset(error.coalition)
    is_own = coalition == {request.party}
    left = error.limit_bits - (error.held_bits if is_own else books.proved.everyone_bits)
    if is_own and request.bits is not None and request.bits <= left:
        return error  # its limits leave what it asks for
    bits = float(bits_down(max(left, 0.0)))  # so that pasting it works
    is_fewer = left >= _LEAST_OFFERED and (request.bits is None or bits < request.bits)
    fewer = _draft_or_none(books, replace(request, bits=bits)) if is_fewer else None
    if fewer is not None and fewer.is_worth_it:
        return refusal(books, str(error), coalition, [ask(fewer.request, bits=bits)])
    if fewer is not None and is_own:
        return refuse_worthless(books, fewer)
    who = "it" if is_own else request.party
    reason = f"{error}; {who} may learn more only if limits are raised"
    return refusal(books, reason, coalition, higher_limits(books, request.party, coalition))


def ask(request: Request, **options: float) -> Suggestion:
    """Suggest a request that would be answered."""
    question = request.question
    asked = {"asked": question.name} if question.sql is None else {"sql": question.sql}
    arguments = {"party": request.party, **asked, "utility": request.measure.kind, **options}
    return Suggestion("release", arguments, is_answered=True)


def higher_limits(books: Books, party: str, coalition: Parties) -> list[Suggestion]:
    """Suggest to raise a coalition's limit, and all others that are next to used up.

    Raising one limit does not help a party that another leaves nothing to.
    """
    account, others = books.proved, books.holders - {party}
    used_up = [
        limit
        for limit in books.all_limits.limits
        if any(
            limit.bits - account.upper_bits(each) < _LEAST_OFFERED
            for each in limit.coalitions_with(party, others)
        )
    ]
    limits = dict.fromkeys((*books.all_limits.binding_on(coalition), *used_up))
    own = [limit.own_party for limit in limits if limit.own_party is not None]
    shared = tuple(limit for limit in limits if limit.own_party is None)
    return [
        *(Suggestion("set_party", {"party": name}) for name in own),
        *([Suggestion("set_collusion", {"limits": shared})] if shared else []),
    ]


def _draft_or_none(books: Books, request: Request) -> Draft | None:
    try:
        return draft(books, request)
    except TacitError:
        return None


def refuse_worthless(books: Books, best: Draft) -> InfeasibleError:
    """The refusal of an answer that is no better than a blind guess."""
    request = best.request
    coalition = tightest(best)
    if request.bits is not None and coalition == {request.party} and _is_held_to_ask(books, best):
        reason = f"{limit_in_words(request.bits)} bits buy {request.party} nothing better than a "
        return refusal(books, f"{reason}blind guess: ask for more", coalition)
    reason = (
        f"{holding_in_words(books, coalition)}, which leaves {request.party} nothing better than "
        "a blind guess"
    )
    other = _substitute(books, best)
    if other is not None:
        return refusal(books, reason, coalition, [ask(other)])
    reason = f"{reason}; it may learn more only if limits are raised"
    return refusal(books, reason, coalition, higher_limits(books, request.party, coalition))


def _is_held_to_ask(books: Books, best: Draft) -> bool:
    """Whether a party is held to what it asks for, not to its limits."""
    party = best.request.party
    return best.limits[frozenset({party})] < books.own_limit(party)


def _substitute(books: Books, best: Draft) -> Request | None:
    """An earlier question of another party, whose letters add little: told again, they fit."""
    asked: dict[str, Request] = {}
    for intent in reversed(books.intents.values()):
        request = intent.request
        is_other = record_of(request.question) != record_of(best.request.question)
        is_word = request.measure.kind not in ("costs", "information")
        is_askable = is_word and _can_be_asked(books, request)
        if is_other and is_askable and request.party != best.request.party:
            asked.setdefault(request.question.name, request)
    for request in list(asked.values())[:_MOST_TRIED]:
        own = _draft_or_none(books, replace(request, party=best.request.party, bits=None))
        if own is not None and own.is_worth_it:
            return own.request
    return None


def _can_be_asked(books: Books, request: Request) -> bool:
    """Whether a question can be asked by its name: 0.1 recorded several attributes as a+b."""
    question, attributes = request.question, {each.name for each in books.created.attributes}
    is_named = question.external is not None or attributes.issuperset(question.name.split(","))
    return question.sql is not None or is_named


def refuse_coarse(books: Books, best: Draft, max_error: float) -> InfeasibleError:
    """The refusal of an answer with a larger mean cost than is wanted."""
    request, coalition = best.request, binding(best)
    words = value_in_words(request.measure.kind, best.value, best.blind)
    reachable = bits_up(best.value)  # so that pasting it works
    options = {} if request.bits is None else {"bits": request.bits}
    return refusal(
        books,
        f"{_what_binds(books, best, coalition)} a mean error of {reachable}, not "
        f"{limit_in_words(max_error)} ({words})",
        coalition,
        [ask(request, **options, max_error=float(reachable))],
    )


def _what_binds(books: Books, best: Draft, coalition: Parties) -> str:
    asked = best.request.bits
    if asked is not None and coalition == {best.request.party} and _is_held_to_ask(books, best):
        return f"the {limit_in_words(asked)} bits asked for allow"
    limits = books.all_limits.binding_on(coalition)
    shown = limit_in_words(limits[0].bits)
    return f"the limit of {shown} bits on {whom_in_words(limits)} allows"


def binding(best: Draft) -> Parties:
    """The coalition whose next bit would be worth most; of several, that with the least limit."""
    multipliers = best.design.solution.multipliers
    worth = {
        coalition: (multipliers.get(key, 0.0), -best.limits[coalition], -len(coalition))
        for coalition, key in best.design.keys.items()
    }
    return max(worth, key=lambda coalition: worth[coalition])
