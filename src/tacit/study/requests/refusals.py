"""Refusals: which limit is exceeded, and the nearest request that would be answered.

For the custodian: a refusal may name other parties.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor, log2

import numpy as np

from tacit.errors import CapError, CeilingError, InfeasibleError, Suggestion, TacitError
from tacit.information.laws import bits_down, bits_in_words, bits_up, limit_in_words
from tacit.limits import Parties, binding, used_up, whom_in_words
from tacit.problem import MEAN, WORST_LEVEL
from tacit.scheme import Scheme, Variable
from tacit.scheme.scheme import CAP_ROOM
from tacit.study.books.books import Books, Request, Shares
from tacit.study.reports.receipts import value_in_words
from tacit.study.requests.draft import (
    LEAST_BITS,
    LEAST_PROGRESS,
    WORK_TO_SUGGEST,
    Draft,
    cap_refusal,
    draft,
    holding_in_words,
    progress_of,
    refusal,
    tightest,
    worst_answer_in_words,
)

_LEAST_OFFERED = 1e-3
"""Bits. Less is not worth a suggestion."""

_MOST_ENTRIES = 64
"""Of a table of chances; a refusal does not try to design a larger one for the worst level."""

_LEAST_SHOWN = 1e-3
"""Of the way from a blind guess to the truth; less is nothing."""

_MOST_TRIED = 3
"""As many earlier questions are tried as substitutes."""


def refusal_with_suggestion(
    books: Books, request: Request, error: InfeasibleError
) -> InfeasibleError:
    """Suggest what is left where a limit leaves less than is asked for, else higher limits."""
    if not _may_be_answered(books, request):
        return _hopeless_refusal(books, request)
    coalition: Parties = frozenset(error.coalition)
    is_own = coalition == {request.party}
    if isinstance(error, CapError):
        reason = f"{error}; {request.party} may learn more only if limits in times are raised"
        return cap_refusal(books, reason, coalition, higher_caps(books, coalition))
    left = error.limit_bits - (error.held_bits if is_own else books.proved_account.everyone_bits)
    if is_own and request.bits is not None and request.bits <= left:
        return error  # its limits leave what it asks for
    bits = float(bits_down(max(left, 0.0)))  # so that pasting it works
    is_fewer = left >= _LEAST_OFFERED and (request.bits is None or bits < request.bits)
    fewer = _draft_or_none(books, replace(request, bits=bits)) if is_fewer else None
    if fewer is not None and fewer.is_worth_it:
        return refusal(
            books, str(error), coalition, [release_suggestion(books, fewer.request, bits=bits)]
        )
    if fewer is not None and is_own:
        return worthless_refusal(books, fewer)
    who = "it" if is_own else request.party
    reason = f"{error}; {who} may learn more only if limits are raised"
    return refusal(books, reason, coalition, higher_limits(books, request.party, coalition))


def ceiling_refusal(books: Books, request: Request, error: CeilingError) -> CeilingError:
    """Suggest ceilings that can be kept: all of them raised by as much."""
    more = error.reachable - error.ceiling
    kept = {level: float(bits_up(most + more)) for level, most in request.measure.ceilings.items()}
    measure = request.measure.model_copy(update={"ceilings": kept})
    options = {} if request.bits is None else {"bits": request.bits}
    suggestion = release_suggestion(books, replace(request, measure=measure), **options)
    return CeilingError(
        error.level, error.ceiling, error.reachable, raised=kept, suggestions=[suggestion]
    )


def release_suggestion(books: Books, request: Request, **options: float) -> Suggestion:
    """Suggest a request that would be answered."""
    question, measure = request.question, request.measure
    asked = {"asked": _names(books, request)} if question.sql is None else {"sql": question.sql}
    utility = measure.kind if measure.costs is None else measure.costs
    usual = {"objective": MEAN, "ceilings": {}, "analysable": False}
    wanted = {
        "objective": measure.objective,
        "ceilings": measure.ceilings,
        "analysable": request.analysable,
    }
    more = {name: value for name, value in wanted.items() if value != usual[name]}
    arguments = {"party": request.party, **asked, "utility": utility, **more, **options}
    return Suggestion("release", arguments, is_answered=True)


def _names(books: Books, request: Request) -> list[str] | None:
    """The columns that a question asks for; ``None`` if it cannot be asked by its columns.

    Several attributes are recorded by their names with commas between them.
    """
    name, columns = request.question.name, {each.name for each in books.created.attributes}
    if name in columns or request.question.external is not None:
        return [name]
    names = name.split(",")
    return names if columns.issuperset(names) else None


def higher_limits(books: Books, party: str, coalition: Parties) -> list[Suggestion]:
    """Suggest to raise a coalition's limit, and all others that are next to used up.

    Raising one limit does not help a party that another leaves nothing to.
    """
    held = books.proved_account.upper_bits
    limits = [
        *binding(books.limits, coalition),
        *used_up(books.limits, books.holders, party, held, _LEAST_OFFERED),
    ]
    raised = dict.fromkeys(str(each.whom) for each in limits)
    return [Suggestion("set_limit", {"whom": whom, "bits": None}) for whom in raised]


def higher_caps(books: Books, coalition: Parties) -> list[Suggestion]:
    """Suggest to raise the least times on a coalition or one around it."""
    capped = binding(books.limits, coalition, "times")
    return [Suggestion("set_limit", {"whom": str(each.whom), "times": None}) for each in capped]


def tight_cap(best: Draft) -> Parties | None:
    """A coalition whose cap leaves an answer no room, while its limit leaves bits; or ``None``."""
    if best.capped is not None:
        return best.capped
    for coalition, cap in best.design.caps.items():
        bits_left = best.limits[coalition] - best.after.upper_bits(coalition)
        is_at_cap = cap - best.after.worst_answer(coalition) < CAP_ROOM
        if is_at_cap and bits_left > _LEAST_OFFERED:
            return coalition
    return None


def _forbidding_cap(books: Books, best: Draft) -> Parties | None:
    """The party itself, where bits are left that would buy an answer if there were no caps.

    An answer that does not read earlier ones tells every coalition at most its own bits. So one
    within the least that any coalition has left meets every limit.
    """
    request, limits = best.request, best.limits
    left = min(bits - best.before.upper_bits(coalition) for coalition, bits in limits.items())
    if not best.design.caps or left < LEAST_BITS or isinstance(request.utility, Shares):
        return None
    is_worth_it = _free_progress(books, request, left) >= LEAST_PROGRESS
    return frozenset({request.party}) if is_worth_it else None


def _free_progress(books: Books, request: Request, bits: float) -> float:
    """How far an answer of so many bits comes where there are no limits, as a part of the way."""
    question, utility = request.question, request.utility
    free = Scheme(books.p_x).design(
        Variable(question.name, question.p_r_given_x, question.labels),
        party=request.party,
        utility=utility.posed,
        objective=request.measure.objective,
        individual=bits,
    )
    return progress_of(utility, free.solution.value, books.p_x @ question.p_r_given_x)


def _may_be_answered(books: Books, request: Request) -> bool:
    """Whether higher limits may help: not where records hardly differ in what answers can show."""
    question = request.question
    if np.count_nonzero(books.p_x @ question.p_r_given_x) < 2:
        return False
    if question.external is None or request.ceilings or isinstance(request.utility, Shares):
        return True
    return _free_progress(books, request, _most_bits(books)) >= LEAST_PROGRESS


def _most_bits(books: Books) -> float:
    """More than an answer can tell about a record."""
    return log2(len(books.p_x)) + 1


def _hopeless_refusal(books: Books, request: Request) -> InfeasibleError:
    name = request.question.name
    why = f"the private columns hardly predict {name}"
    if request.question.external is None:
        why = f"all records are alike in {name}"
    reason = f"no limit helps: {why}, so that no answer is better than a blind guess"
    return refusal(books, reason, frozenset({request.party}))


def _draft_or_none(books: Books, request: Request) -> Draft | None:
    try:
        return draft(books, request, work=WORK_TO_SUGGEST)
    except TacitError:
        return None


def worthless_refusal(books: Books, best: Draft) -> InfeasibleError:
    """The refusal of an answer that is hardly better than a blind guess."""
    request, measure = best.request, best.request.measure
    if not _may_be_answered(books, request):
        return _hopeless_refusal(books, request)
    nothing = "nothing better than a blind guess"
    if best.progress >= _LEAST_SHOWN:
        said = value_in_words(measure.kind, best.value, best.blind, measure.objective)
        part = f"{floor(1000 * best.progress) / 10:g} % of the way from a blind guess to the truth"
        nothing = f"only {part} ({said})"
    if isinstance(request.utility, Shares):
        nothing = "no share with a 95 % interval narrower than from 0 to 1, as if nothing was told"
    capped = tight_cap(best) or _forbidding_cap(books, best)
    if capped is not None:
        reason = (
            f"{worst_answer_in_words(books, capped)}{_as_remembered(best, capped)}, which leaves "
            f"{request.party} {nothing}"
        )
        caps, only = (
            higher_caps(books, capped),
            "it may learn more only if limits in times are raised",
        )
        fair = _by_worst_level(books, best, capped)
        if fair is None:
            return cap_refusal(books, f"{reason}; {only}", capped, caps)
        if best.channel.weights.size > _MOST_ENTRIES:
            may = "judged by the worst level (--worst-level) an answer may fit; otherwise"
            return cap_refusal(books, f"{reason} on average; {may} {only}", capped, caps)
        reason = f"{reason} on average; at the worst level an answer can be better"
        options = {} if request.bits is None else {"bits": request.bits}
        caps = [*caps, release_suggestion(books, fair, **options)]
        return cap_refusal(books, reason, capped, caps)
    coalition = tightest(best)
    if request.bits is not None and coalition == {request.party} and _is_held_to_ask(books, best):
        most = _draft_or_none(books, replace(request, bits=None))
        if most is not None and not most.is_worth_it:
            return worthless_refusal(books, most)
        asked = f"{bits_in_words(request.bits)} {'buys' if request.bits == 1 else 'buy'}"
        return refusal(
            books,
            f"{asked} {request.party} {nothing}: ask for more",
            coalition,
            [] if most is None else [_more_bits(books, request)],
        )
    reason = f"{holding_in_words(books, coalition)}, which leaves {request.party} {nothing}"
    other = _substitute(books, best)
    if other is not None:
        return refusal(books, reason, coalition, [release_suggestion(books, other)])
    reason = f"{reason}; it may learn more only if limits are raised"
    return refusal(books, reason, coalition, higher_limits(books, request.party, coalition))


def _more_bits(books: Books, request: Request) -> Suggestion:
    """Suggest the first number of bits, doubled each time, that buys an answer; else all of them.

    All that are left buy one.
    """
    assert request.bits is not None
    held = books.proved_account.upper_bits(frozenset({request.party}))
    left = min(books.own_limit(request.party).amount("bits") - held, _most_bits(books))
    bits = 2 * max(request.bits, _LEAST_OFFERED)
    while bits < left:
        more = _draft_or_none(books, replace(request, bits=bits))
        if more is not None and more.is_worth_it:
            return release_suggestion(books, request, bits=bits)
        bits *= 2
    return release_suggestion(books, request)


def _by_worst_level(books: Books, best: Draft, capped: Parties) -> Request | None:
    """The same request, judged by the worst level, where that would be answered.

    A cap may leave the best guess of every answer as it is, and yet let answers tell levels apart.
    Where a design takes long nobody knows whether it would be.
    """
    request = best.request
    if not request.measure.is_cost or request.measure.objective != MEAN:
        return None
    measure = request.measure.model_copy(update={"objective": WORST_LEVEL})
    wanted = replace(request, measure=measure)
    if best.channel.weights.size > _MOST_ENTRIES:
        return wanted if books.least_on(*capped).cap > CAP_ROOM else None
    fair = _draft_or_none(books, wanted)
    return wanted if fair is not None and fair.is_worth_it else None


def _as_remembered(best: Draft, capped: Parties) -> str:
    """Where a better answer might keep a cap: what hinders to find it."""
    view = best.before.view(capped)
    if best.saw_fewer_states and view is not None:
        return f" (it holds {view.n_letters} different answers, too many to design for each)"
    if capped != best.capped or (
        best.design.caps[capped] - best.after.worst_answer(capped) < CAP_ROOM
    ):
        return ""
    n_states = len(best.after.memory.mass)
    return f" (a memory of {n_states} states cannot tell that a better answer keeps it)"


def _is_held_to_ask(books: Books, best: Draft) -> bool:
    """Whether a party is held to what it asks for, not to its limits."""
    party = best.request.party
    return best.limits[frozenset({party})] < books.least_on(party).bits


def _substitute(books: Books, best: Draft) -> Request | None:
    """An earlier question of another party to ask instead; repeating its letters adds few bits.

    What the party received already is no help, nor is an answer that is no better than a blind
    guess and only keeps ceilings.
    """
    asked: dict[str, Request] = {}
    for intent in reversed(books.intents.values()):
        request = intent.request
        is_other = request.asked != best.request.asked
        is_word = request.measure.is_cost and request.measure.costs is None
        is_askable = is_word and _can_be_asked(books, request)
        if is_other and is_askable and request.party != best.request.party:
            asked.setdefault(request.question.name, request)
    for request in list(asked.values())[:_MOST_TRIED]:
        wanted = replace(request, party=best.request.party, bits=None)
        own = None if books.find(wanted.identity) else _draft_or_none(books, wanted)
        if own is not None and own.is_worth_it and not own.only_keeps_ceilings:
            return own.request
    return None


def _can_be_asked(books: Books, request: Request) -> bool:
    """Whether a recorded question can be asked again by its columns, or by its expression."""
    return request.question.sql is not None or _names(books, request) is not None


def coarse_refusal(books: Books, best: Draft, max_error: float) -> InfeasibleError:
    """The refusal of an answer with a larger cost than is wanted."""
    request, coalition, measure = best.request, most_wanted(best), best.request.measure
    words = value_in_words(measure.kind, best.value, best.blind, measure.objective)
    what = "a mean error" if measure.objective == MEAN else "an error at the worst level"
    reachable = bits_up(best.value)  # so that pasting it works
    options = {} if request.bits is None else {"bits": request.bits}
    return refusal(
        books,
        f"{_what_binds(books, best, coalition)} {what} of {reachable}, not "
        f"{limit_in_words(max_error)} ({words})",
        coalition,
        [release_suggestion(books, request, **options, max_error=float(reachable))],
    )


def _what_binds(books: Books, best: Draft, coalition: Parties) -> str:
    asked, capped = best.request.bits, tight_cap(best)
    if capped is not None:
        whom = whom_in_words(binding(books.limits, capped, "times"))
        return f"the limit of {books.least_on(*capped).times:,.12g} times on {whom} allows"
    if asked is not None and coalition == {best.request.party} and _is_held_to_ask(books, best):
        return f"the {bits_in_words(asked)} asked for {'allows' if asked == 1 else 'allow'}"
    shown = bits_in_words(books.least_on(*coalition).bits)
    whom = whom_in_words(binding(books.limits, coalition))
    return f"the limit of {shown} on {whom} allows"


def most_wanted(best: Draft) -> Parties:
    """The coalition whose next bit would be worth most; of several, that with the least limit."""
    multipliers = best.design.solution.multipliers
    worth = {
        coalition: (multipliers.get(key, 0.0), -best.limits[coalition], -len(coalition))
        for coalition, key in best.design.keys.items()
    }
    return max(worth, key=lambda coalition: worth[coalition])
