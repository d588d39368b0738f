"""From a request to a release that could be recorded: designed, rounded to integers, proved."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import inf
from typing import Any

import numpy as np

from tacit.accounting import Account
from tacit.arrays import Array
from tacit.auditing import Disclosure
from tacit.errors import CapError, CeilingError, InfeasibleError, Suggestion, UnconvergedError
from tacit.information.laws import bits_down, bits_in_words, bits_up, times_in_words
from tacit.limits import Bound, Parties, binding, coalition_name, whom_in_words
from tacit.sampling import IntegerChannel
from tacit.scheme import Design
from tacit.scheme.memory import Copy, Step, Transition
from tacit.scheme.scheme import without_rare_letters
from tacit.solution import Status
from tacit.solvers import A_SECOND, Progress
from tacit.study.books.books import (
    RESERVE_BITS,
    Books,
    Cohort,
    Intent,
    Request,
    Shares,
    Utility,
    draw_of,
    recipient_law,
    record_holdings,
    steps_of,
)
from tacit.study.books.records import (
    CopyRecord,
    HoldingRecord,
    IntentRecord,
    LaterMergeRecord,
    MergeRecord,
    ReleaseRecord,
)
from tacit.study.disclosures import find_disclosures
from tacit.study.proofs.caps import ExactLaws, Told, ToldCopy, ToldStep, told_steps

Recorded = tuple[str, ReleaseRecord, bytes]
"""Of an entry: its kind, its record, and the integer table that is sampled, if any."""

_WORST_GAP = 1e-3
"""Largest certified gap of a design that is released, relative to the range of the distortion. A
larger gap means that the solver failed."""

_MOST_WORK = 30 * A_SECOND
"""For a design that is searched for, by information or levels: then the best found is released. In
operations, because the same request after the same past gets the same table on any machine."""

WORK_TO_SUGGEST = 2 * A_SECOND
"""The same for one that only shows whether a request would be answered."""

LEAST_BITS = 10 * RESERVE_BITS
"""A party or coalition with fewer bits left than this has nothing left: designs stay
``RESERVE_BITS`` below each limit."""

_USED_UP = 1e-3
"""So does a party with less than this share of its own limit: a design for so little takes long, is
hard to certify and worth next to nothing."""

_ROUNDED_CAP = 1e-9
"""Bits. A worst answer this little above a cap, rounding included, may be within it."""

LEAST_PROGRESS = 0.02
"""An answer that comes a smaller part of the way from a blind guess to the truth is worthless."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A release that meets every limit, not recorded yet.

    Attributes:
        request: what it answers.
        design: the certified optimum that it was rounded from.
        bounds: in force on every coalition that it feeds.
        channel: the integer table to be sampled, [m, class of x, letter].
        told: what it would do to the memory; or which letters it hands on.
        before: what every coalition holds now, on the classes of the channel.
        after: what every coalition would hold.
        law: p(r, letter), [r, letter].
        value: what its answers are worth.
        blind: what answering without looking at the record is worth.
        capped: a coalition whose cap the design would break once rounded and remembered, so that it
            was mixed with a constant answer; ``None`` where that was not needed.
        source: the release whose letters it hands on; ``None`` for one that is drawn.
    """

    request: Request
    bounds: dict[Parties, Bound]
    design: Design
    channel: IntegerChannel
    told: Transition | Copy
    before: Account
    after: Account
    law: Array
    value: float
    blind: float | None
    capped: Parties | None
    source: Intent | None = None

    @property
    def gain(self) -> float:
        """How much better than a blind guess."""
        return self.request.utility.gain(self.value, self.law.sum(axis=1))

    @property
    def is_worth_it(self) -> bool:
        """Whether the answer is better than a blind guess, or keeps ceilings, as none may do.

        Shares are worth something if an interval for one of them is narrower than from 0 to 1.
        """
        utility = self.request.utility
        if isinstance(utility, Shares):
            half_widths = utility.half_widths(self.law, int(self.before.counts.sum()))
            return bool(half_widths.min() < 0.5)
        return self._has_gained or bool(self.request.ceilings)

    @property
    def only_keeps_ceilings(self) -> bool:
        """Whether a blind guess is as good, but for the ceilings."""
        return bool(self.request.ceilings) and not self._has_gained

    @property
    def progress(self) -> float:
        """How far from a blind guess to the truth it comes, as a part of the way."""
        return progress_of(self.request.utility, self.value, self.law.sum(axis=1))

    @property
    def _has_gained(self) -> bool:
        return self.progress >= LEAST_PROGRESS

    @property
    def is_constant(self) -> bool:
        """Whether all records have the same answer, which the public counts tell."""
        return int(np.count_nonzero(self.law.sum(axis=1))) == 1

    @property
    def bound(self) -> float | None:
        """No release for the problem as it was posed does better; ``None`` where no proof is known.

        It is posed ``RESERVE_BITS`` below each limit, with room to merge letters and below caps,
        over the states that a design can afford to read. Rounding may make a release a little
        better than the best for that.
        """
        best = self.design.solution.bound
        if best is None:
            return None
        return max(best, self.value) if self.request.mean_cost is None else min(best, self.value)

    @property
    def saw_fewer_states(self) -> bool:
        """Whether a design that reads all states might be better: not under an own limit alone."""
        solution = self.design.solution
        prices = [*solution.multipliers.items(), *solution.cap_multipliers.items()]
        is_own_only = not any(price for key, price in prices if key != ())
        is_drawn = self.source is None
        return (
            is_drawn
            and not is_own_only
            and len(self.design.solution.channel) < len(self.before.memory.mass)
        )

    @property
    def holdings(self) -> tuple[HoldingRecord, ...]:
        """Every limited coalition that the release feeds, after it."""
        return record_holdings(self.after, self.limits, self.bounds, self.design.prices)

    @property
    def level_multipliers(self) -> dict[str, float]:
        """Level -> its weight in the bound on the worst level."""
        return self.request.by_label(self.design.solution.level_multipliers)

    @property
    def ceiling_multipliers(self) -> dict[str, float]:
        """Level -> what raising its ceiling by 1 would be worth, at most."""
        return self.request.by_label(self.design.solution.ceiling_multipliers)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the search for a better release was ended by ``_MOST_WORK``."""
        return self.design.solution.status is Status.OUT_OF_TIME

    @property
    def had_no_time(self) -> bool:
        """Whether nothing better than a blind guess may mean no more than that its search ended."""
        return self.is_out_of_time and not isinstance(self.request.utility, Shares)

    @property
    def letters(self) -> tuple[str, ...]:
        """What each answer is called."""
        return self.request.names_of_answers(self.channel.weights.shape[-1])

    @property
    def limits(self) -> dict[Parties, float]:
        """Limits on every coalition that this release feeds."""
        return self.design.limits

    def disclosures(self, books: Books) -> tuple[Disclosure, ...]:
        """Levels that it would give away, to its party or to a coalition that it feeds."""
        question = self.request.question
        return find_disclosures(books, self.after, self.limits, question, before=self.before)

    def steps_after(self, books: Books) -> list[Step]:
        """Everything that would have been drawn, in order, and who would hold it."""
        steps, party, told = steps_of(books.intents.values()), self.request.party, self.told
        if isinstance(told, Copy):
            step = steps[told.source]
            steps[told.source] = replace(step, holders=step.holders | {party})
            return steps
        bits, classes = self.after.everyone_bits, self.design.class_of_x
        law = self.channel.law
        return [*steps, Step(party, law, classes, told, bits, holders=frozenset({party}))]


def progress_of(utility: Utility, value: float, p_r: Array) -> float:
    """How far from a blind guess to the truth answers of a value come, as a part of the way."""
    if isinstance(utility, Shares):
        return float(value < inf)
    whole = utility.gain(utility.perfect(p_r), p_r)
    return utility.gain(value, p_r) / whole if whole > 0 else 0.0


def draft(
    books: Books,
    request: Request,
    watch: Progress | None = None,
    work: float = inf,
    *,
    is_modest: bool = False,
) -> Draft:
    """The best release for a request that meets every limit strictly.

    Args:
        books: of the study.
        request: what is asked.
        watch: called with value, bound and seconds while a design is searched for.
        work: operations for that search, where ``_MOST_WORK`` are more.
        is_modest: whether to answer with what its limits leave, were it nothing: by an answer that
            adds nothing to what it holds.

    Raises:
        InfeasibleError: a limit leaves nothing, or less than was asked for.
        CeilingError: no release within the limits keeps the ceilings.
        UnconvergedError: no design came near enough to the best.
    """
    ceiling = own_ceiling(books, request, is_modest=is_modest)
    before = books.account_for(request.question)
    design = partial(_design, books, before, request, ceiling, watch, min(work, _MOST_WORK))
    best = design(books.cohort.steps_about(request.question))
    if best.source is not None:
        copied = _copied(books, request, best, best.source, before)
        if copied is not None:
            return copied
        best = design(())
    return _drawn(books, request, best, before)


def _copied(
    books: Books, request: Request, design: Design, number: int, before: Account
) -> Draft | None:
    """The letters of an earlier step, if they meet every limit strictly and keep every cap."""
    source, steps = books.cohort.drawn[number], steps_of(books.intents.values())
    handed = before.after_copy(
        request.party, steps, Copy(number), limits=design.limits, caps=design.caps
    )
    if handed is None:
        return None
    after, copy = handed
    told = ToldCopy(request.party, copy)
    law = request.told_letters(before, design.table)
    is_within = not _broken_limits(design, before, after) and not request.broken_ceilings(law)
    if not is_within or _broken_cap(books, design, told, after) is not None:
        return None
    value, blind = request.utility.value(law), request.blind_value(books.p_x)
    parts = before, after, law, value, blind
    bounds = books.bounds_on(request.party)
    return Draft(request, bounds, design, source.channel, copy, *parts, capped=None, source=source)


def _drawn(books: Books, request: Request, design: Design, before: Account) -> Draft:
    """A design that is to be drawn, in whole numbers."""
    channel, after, transition, capped = _round(books, request, design, before)
    for coalition, held in _broken_limits(design, before, after).items():
        raise _too_much(books, design, coalition, held)
    law = request.told_law(before, channel)
    value, blind = request.utility.value(law), request.blind_value(books.p_x)
    bounds = books.bounds_on(request.party)
    parts = before, after, law, value, blind, capped
    return Draft(request, bounds, design, channel, transition, *parts)


def _round(
    books: Books, request: Request, design: Design, before: Account
) -> tuple[IntegerChannel, Account, Transition, Parties | None]:
    """The design in whole numbers, without rare letters where limits and ceilings allow that.

    It keeps every cap exactly: it is mixed with a constant answer until it does. The constant
    answer alone always does. The last that is returned is whose cap made that necessary.
    """
    mass, capped = before.memory.mass, None
    frequent = IntegerChannel.quantised(
        without_rare_letters(design.table, mass, has_caps=bool(design.caps))
    )
    for channel in chain([frequent], IntegerChannel.towards_constant(design.table, mass)):
        after, transition = before.after(
            request.party, channel, limits=design.limits, caps=design.caps
        )
        told = ToldStep(request.party, channel, design.class_of_x, transition)
        broken = _broken_cap(books, design, told, after)
        is_whole = channel is not frequent or not (
            _broken_limits(design, before, after)
            or request.broken_ceilings(request.told_law(before, channel))
        )
        if broken is None and is_whole:
            break
        capped = capped if channel is frequent else capped or broken
    return channel, after, transition, capped


def _broken_cap(books: Books, design: Design, told: Told, after: Account) -> Parties | None:
    """A coalition whose cap a release breaks; decided exactly where rounding decides."""
    held = {coalition: after.worst_answer(coalition) for coalition in design.caps}
    over = {each: held[each] - cap for each, cap in design.caps.items() if held[each] > cap}
    worst = max(over, key=over.__getitem__, default=None)
    if worst is None or over[worst] > _ROUNDED_CAP:
        return worst
    steps = [*told_steps(books), told]
    keeps, bounds = ExactLaws().keeps, books.bounds_on(design.party)
    return next((each for each in over if not keeps(after, steps, each, bounds[each].times)), None)


def _broken_limits(design: Design, before: Account, after: Account) -> dict[Parties, float]:
    """Coalitions that would not stay below their limit, and what they would hold.

    What adds nothing at all may stand at the limit.
    """
    held = {coalition: after.upper_bits(coalition) for coalition in design.limits}
    return {
        coalition: bits
        for coalition, bits in held.items()
        if bits >= design.limits[coalition] and bits > before.upper_bits(coalition)
    }


def _too_much(books: Books, design: Design, coalition: Parties, held: float) -> InfeasibleError:
    """A release that would tell a coalition more than its limit, as far as can be proved."""
    name, allowed = " + ".join(sorted(coalition)), _allowed(books, coalition)
    if coalition == {design.party} and design.limits[coalition] < books.least_on(design.party).bits:
        allowed = f"the {bits_up(design.limits[coalition])} bits that it asks to hold"
    reason = f"the rounded release would tell {name} up to {held:.9f} bits, of {allowed}"
    return refusal(books, reason, coalition)


def refusal(
    books: Books, reason: str, coalition: Parties, suggestions: Iterable[Suggestion] = ()
) -> InfeasibleError:
    """A refusal because of a coalition's smallest limit."""
    return InfeasibleError(
        tuple(sorted(coalition)),
        books.least_on(*coalition).bits,
        books.proved_account.upper_bits(coalition),
        reason=reason,
        limited_by=whom_in_words(binding(books.limits, coalition)),
        suggestions=suggestions,
    )


def _allowed(books: Books, coalition: Parties) -> str:
    """The bits that a coalition may hold, and whose they are."""
    limits, shown = binding(books.limits, coalition), bits_in_words(books.least_on(*coalition).bits)
    if all(each.whom.names == coalition for each in limits):
        return f"{'its' if len(coalition) == 1 else 'their'} {shown}"
    return f"the {shown} that {whom_in_words(limits)} may hold"


def own_ceiling(books: Books, request: Request, *, is_modest: bool = False) -> float:
    """Bits that the party may hold after its request; refused where its limits leave too few.

    A modest request is never refused.
    """
    party, own = request.party, frozenset({request.party})
    limit = books.least_on(party).bits
    held = books.proved_account.upper_bits(own)
    left = limit - held
    if is_modest:
        return limit if request.bits is None else min(limit, held + request.bits)
    if left < max(LEAST_BITS, min(_USED_UP * limit, _USED_UP)):
        reason = f"{party} holds {bits_up(held)} of {_allowed(books, own)}"
        raise refusal(books, f"{reason}: nothing is left to it", own)
    if request.bits is None:
        return limit
    if request.bits > left:
        asked = f"{party} asks for {bits_in_words(request.bits)} and has"
        left_words = f"{bits_down(max(left, 0.0))} left of {_allowed(books, own)}"
        raise refusal(books, f"{asked} {left_words}", own)
    return held + request.bits


def tightest(drafted: Draft) -> Parties:
    """The coalition with the least left before the release."""
    left = {
        coalition: limit - drafted.before.upper_bits(coalition)
        for coalition, limit in drafted.limits.items()
    }
    return min(left, key=lambda each: (left[each], len(each), sorted(each)))


def _design(
    books: Books,
    before: Account,
    request: Request,
    ceiling: float,
    watch: Progress | None,
    work: float,
    told: Collection[int],
) -> Design:
    try:
        design = books.design(request, before, ceiling, told, work_limit=work, progress=watch)
    except CeilingError as error:
        level = request.question.labels[error.level]
        raise CeilingError(level, error.ceiling, error.reachable) from None
    except CapError as error:
        raise _told_already(books, frozenset(error.coalition)) from None
    except InfeasibleError as error:
        raise _held_already(books, frozenset(error.coalition)) from None
    if design.solution.status is Status.INACCURATE:
        _refuse_far(books, design, request)
    return design


def _refuse_far(books: Books, design: Design, request: Request) -> None:
    """Refuse a design that stopped too far from the best."""
    gap = design.solution.gap
    if gap is not None and gap <= _WORST_GAP * design.solution.problem.scale:
        return
    _refuse_spent(books, design)
    raise UnconvergedError(
        f"the design for {request.question.name!r} is only within {gap:.2g} of the best: "
        "ask for a few bits more or less"
    )


def _refuse_spent(books: Books, design: Design) -> None:
    """Refuse a design that failed because a coalition may be told nothing more at all."""
    for coalition, limit in design.limits.items():
        held = books.proved_account.upper_bits(coalition)
        if limit - held < LEAST_BITS:
            reason = f"{holding_in_words(books, coalition)}: no answer that tells them nothing more"
            raise refusal(books, f"{reason} was found", coalition)


def _held_already(books: Books, coalition: Parties) -> InfeasibleError:
    """The refusal for a coalition above its limit.

    This happens only where the bound on everyone is used for it.
    """
    reason = f"{holding_in_words(books, coalition)}, and may be told nothing more"
    return refusal(books, reason, coalition)


def _told_already(books: Books, coalition: Parties) -> CapError:
    """The refusal for a coalition whose worst single answer may tell more than its cap."""
    reason = f"{worst_answer_in_words(books, coalition)}, and may be told nothing more"
    return cap_refusal(books, reason, coalition)


def cap_refusal(
    books: Books, reason: str, coalition: Parties, suggestions: Iterable[Suggestion] = ()
) -> CapError:
    """A refusal because of a coalition's smallest cap."""
    return CapError(
        tuple(sorted(coalition)),
        books.least_on(*coalition).cap,
        books.proved_account.worst_answer(coalition),
        reason=reason,
        limited_by=whom_in_words(binding(books.limits, coalition, "times")),
        suggestions=suggestions,
    )


def worst_answer_in_words(books: Books, coalition: Parties) -> str:
    """What the worst single answer of a coalition tells, of the least times that it may."""
    worst, times = books.proved_account.worst_answer(coalition), books.least_on(*coalition).times
    whom = whom_in_words(binding(books.limits, coalition, "times"))
    if not worst:
        return f"the limit on {whom} is {times:,.12g} times"
    name, view = coalition_name(coalition, books.holders), books.proved_account.view(coalition)
    by = "" if whom == name else f" (the limit on {whom})"
    up_to = "" if view is not None and view.is_exact else "up to "
    return (
        f"the worst single answer of {name} makes a combination of levels {up_to}"
        f"{times_in_words(worst)} times as likely, of {times:,.12g} that it may{by}"
    )


def holding_in_words(books: Books, coalition: Parties) -> str:
    """What a coalition that a release would feed holds of its smallest limit."""
    account, everyone = books.proved_account, books.holders | coalition
    name = coalition_name(coalition, everyone)
    whom = whom_in_words(binding(books.limits, coalition))
    verb = "holds" if len(coalition) == 1 or name == "everyone" else "together hold"
    if account.is_covered(coalition) and not account.memory.present <= coalition:
        verb = f"{'counts' if len(coalition) == 1 else 'count'} as everyone does, with"
    by = "" if whom == name else f" (the limit on {whom})"
    held, limit = account.upper_bits(coalition), books.least_on(*coalition).bits
    return f"{name} {verb} {bits_up(held)} of {bits_in_words(limit)}{by}"


def entry_of(
    drafted: Draft, cohort: Cohort, reason: str | None, disclosures: tuple[Disclosure, ...]
) -> Recorded:
    """What the ledger is to say of a draft: the kind of its entry, its record, its payload.

    Args:
        drafted: what is to be released.
        cohort: whom it is about, as it was designed for.
        reason: why it is released, as the custodian says it.
        disclosures: what it discloses.
    """
    request, after = drafted.request, drafted.after
    said: dict[str, Any] = {
        "identity": request.identity,
        "party": request.party,
        "question": request.asked,
        "measure": request.measure,
        "bits": request.bits,
        "letters": drafted.letters,
        "p_rhat_given_r": recipient_law(drafted.law).tolist(),
        "holdings": drafted.holdings,
        "everyone_bits": after.everyone_bits,
        "everyone_worst_answer": after.worst_answer(after.memory.present),
        "value": drafted.value,
        "blind": drafted.blind,
        "bound": drafted.bound,
        "is_out_of_time": drafted.is_out_of_time,
        "level_multipliers": drafted.level_multipliers,
        "ceiling_multipliers": drafted.ceiling_multipliers,
        "level_errors": request.level_errors(drafted.law),
        "analysable": request.analysable,
        "reason": reason,
        "cohort": cohort.number,
        "disclosures": disclosures,
    }
    told = drafted.told
    if isinstance(told, Copy):
        drawn = [each.entry.number for each in cohort.drawn]
        later = tuple(
            LaterMergeRecord(
                parties=tuple(sorted(coalition)),
                labels=tuple(labels.tolist()),
                slack=told.slacks[step][coalition],
                after=drawn[step],
            )
            for step, merges in told.merges.items()
            for coalition, labels in merges.items()
        )
        return "copy", CopyRecord(**said, source=drawn[told.source], merges=later), b""
    record = IntentRecord(
        **said,
        next_state=told.next_state.tolist(),
        draw=draw_of(cohort.past, drafted.channel, drafted.design.class_of_x),
        merges=tuple(
            MergeRecord(
                parties=tuple(sorted(coalition)),
                labels=tuple(labels.tolist()),
                slack=told.slacks[coalition],
            )
            for coalition, labels in told.merges.items()
        ),
        everyone_labels=None if told.letters is None else tuple(told.letters.tolist()),
    )
    return "intent", record, drafted.channel.to_bytes()
