"""The check of a recorded release: is it what the entries before it allow?

Everything is computed anew from what is stored: the integer tables, the laws that follow from them,
the bounds on every leakage, and the worth of the answers. None of that needs a solver; how near to
the best they are does, see ``tacit.study.proofs.claims``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np

from tacit.accounting import Account, Held
from tacit.arrays import Array
from tacit.auditing.disclosure import disclosure_lines
from tacit.errors import LedgerError, TacitError, UnconvergedError
from tacit.information.laws import bits_in_words, times_in_words
from tacit.limits import Bound, Parties
from tacit.scheme.memory import Copy, Transition
from tacit.study.books.books import (
    Books,
    Intent,
    recipient_law,
    steps_of,
)
from tacit.study.books.records import CopyRecord, HoldingRecord, IntentRecord
from tacit.study.disclosures import find_disclosures
from tacit.study.proofs.caps import ExactLaws, told_steps
from tacit.study.proofs.claims import SAME, claim_problems, pose_again, unit_of

_SAME_SLACK = 1e-12
"""Slacks may be small, and are computed in the same steps from recorded numbers."""


@dataclass(slots=True, eq=False)
class Replay:
    """What a replay of a ledger knows before the next entry.

    Attributes:
        books: what the entries so far say, for the cohort that is looked at.
        accounts: cohort -> what every coalition holds, proved again.
        proved_gaps: release -> its cost is within this of the best for its problem as posed.
        unsolved: releases whose problem the engine could not solve again in the time that it had.
        exact_laws: cohort -> what coalitions with a cap hold, in whole numbers.
    """

    books: Books
    accounts: dict[int, Account] = field(default_factory=dict)
    proved_gaps: dict[int, float] = field(default_factory=dict)
    unsolved: list[int] = field(default_factory=list)
    exact_laws: dict[int, ExactLaws] = field(default_factory=dict)

    def begin_cohort(self, books: Books) -> None:
        """Follow a cohort that nothing was released about."""
        self.accounts[books.cohort.number] = books.empty_account
        self.exact_laws[books.cohort.number] = ExactLaws()

    def look_at(self, cohort: int) -> None:
        """Turn to a cohort."""
        self.books = self.books.look_at(cohort)

    @property
    def account(self) -> Account:
        """What every coalition holds in the cohort that is looked at."""
        return self.accounts[self.books.cohort.number]

    @account.setter
    def account(self, proved: Account) -> None:
        self.accounts[self.books.cohort.number] = proved

    @property
    def laws(self) -> ExactLaws:
        """What coalitions with a cap hold in the cohort that is looked at."""
        return self.exact_laws[self.books.cohort.number]


class ReplayError(LedgerError):
    """An entry that makes no sense after those before it; nothing after it can be checked."""


def check_intent(replay: Replay, after: Books, record: IntentRecord) -> Iterator[str]:
    """What is wrong with a release, in words; it is the last entry of ``after``.

    Raises:
        ReplayError: its table does not fit the states before it.
    """
    replay.look_at(record.cohort)
    after = after.look_at(record.cohort)
    intent = after.intents[after.head.number]
    account = replay.account.refine(intent.class_of_x)
    before = account.with_fewer_states()  # as when it was designed
    shape = before.memory.mass.shape
    if intent.channel.weights.shape[:2] != shape:
        raise ReplayError(f"its table has shape {intent.channel.weights.shape[:2]}, not {shape}")
    if not _is_transition(before, intent):
        raise ReplayError("its table leads to states that are not recorded")
    replay.account, proved = intent.prove_after(account, replay.books.intents.values())
    assert isinstance(proved, Transition)
    yield from _merge_problems(intent.transition.slacks, proved.slacks)
    if record.draw != intent.draw:
        yield "its draw is not named after its table and the releases before it"
    law = intent.request.told_law(before, intent.channel)
    yield from _release_problems(replay, after, intent, before, law)


def check_copy(replay: Replay, after: Books, record: CopyRecord) -> Iterator[str]:
    """What is wrong with a copy of earlier letters, in words; it is the last entry of ``after``."""
    replay.look_at(record.cohort)
    after = after.look_at(record.cohort)
    intent, intents = after.intents[after.head.number], replay.books.intents
    request, source = intent.request, intent.drawn.request
    if not np.array_equal(request.question.p_r_given_x, source.question.p_r_given_x):
        yield f"release {record.source} answered another question"
    before = replay.account
    steps, drawn = steps_of(intents.values()), replay.books.cohort.drawn
    number = [each.entry.number for each in drawn].index(record.source)
    if record.party in steps[number].holders:
        yield f"{record.party} has the answers of release {record.source} already"
    letters = before.recall(steps, number)
    law = request.told_letters(before, letters)
    replay.account, proved = intent.prove_after(before, intents.values())
    assert isinstance(proved, Copy)
    recorded = record.copy_of([each.entry.number for each in drawn]).slacks
    if recorded.keys() != proved.slacks.keys():
        yield "it merges letters after other releases than there are letters to merge"
    for step, slacks in recorded.items():
        yield from _merge_problems(slacks, proved.slacks.get(step, {}))
    yield from _release_problems(replay, after, intent, before, law)


def _release_problems(
    replay: Replay,
    after: Books,
    intent: Intent,
    before: Account,
    law: Array,
) -> Iterator[str]:
    """What is wrong with a release that was drawn, or with a copy.

    Args:
        replay: with the account after it.
        after: the books after it.
        intent: the release.
        before: what every coalition held before it.
        law: p(r, letter), [r, letter].
    """
    yield from _limit_problems(replay, intent, before)
    yield from _cap_problems(replay, after, intent)
    yield from _disclosure_problems(replay, after, intent, before)
    yield from _worth_problems(replay, intent, before, law)
    yield from _paper_problems(intent, law)
    yield from _level_problems(intent, law)
    if intent.request.analysable and not np.array_equal(*after.range_given_r(intent)):
        yield "it was to be analysable, and its answers depend on more than what was asked"


def _is_transition(before: Account, intent: Intent) -> bool:
    """Whether every letter that can occur leads to a state."""
    occurs = before.memory.mass > 0
    is_told = (intent.channel.weights > 0) & occurs[..., None]
    known = intent.next_state.shape == (len(occurs), intent.channel.weights.shape[-1])
    return known and bool((intent.next_state[is_told.any(axis=1)] >= 0).all())


def _merge_problems(
    recorded: Mapping[Parties, float], proved: Mapping[Parties, float]
) -> Iterator[str]:
    """Whether letters of coalitions that matter were merged, at the slack that is recorded."""
    for coalition, slack in recorded.items():
        name = " + ".join(sorted(coalition))
        if coalition not in proved:
            yield f"it merges letters of {name}, and there are none to merge"
        elif abs(proved[coalition] - slack) > _SAME_SLACK:
            yield (
                f"merging letters of {name} costs {proved[coalition]:.9f} bits, not "
                f"{slack:.9f} as recorded"
            )


def _limit_problems(replay: Replay, intent: Intent, before: Account) -> Iterator[str]:
    """Whether the recorded limits are those in force, and the recorded bounds those proved."""
    account = replay.account
    wanted = _limits(replay.books, intent, before)
    recorded = {frozenset(each.parties): each for each in intent.record.holdings}
    if len(recorded) != len(intent.record.holdings) or set(recorded) != set(wanted):
        yield "it does not record the limits that were in force"
    holdings = account.holdings(wanted)
    for coalition, limit in wanted.items():
        name = " + ".join(sorted(coalition))
        held = account.upper_bits(coalition)
        if held >= limit and held > before.upper_bits(coalition):
            yield f"{name} may hold {held:.9f} bits after it, not below {limit:g}"
        if coalition in recorded:
            yield from _holding_problems(recorded[coalition], name, limit, held)
            if recorded[coalition].is_covered != account.is_covered(coalition):
                yield f"whether the bound on everyone covers {name} is recorded wrongly"
            yield from _looseness_problems(recorded[coalition], name, holdings[coalition])
    if abs(account.everyone_bits - intent.record.everyone_bits) > SAME:
        yield (
            f"everyone may hold {account.everyone_bits:.9f} bits after it, not "
            f"{intent.record.everyone_bits:.9f} as recorded"
        )


def _cap_problems(replay: Replay, after: Books, intent: Intent) -> Iterator[str]:
    """Whether the recorded caps are those in force, kept in whole numbers, and the worst answers
    those proved.
    """
    account, steps = replay.account, told_steps(after)
    bounds = replay.books.bounds_on(intent.request.party)
    for coalition, bound in bounds.items():
        times = bound.times
        if times < inf and not replay.laws.keeps(account, steps, coalition, times):
            name, worst = " + ".join(sorted(coalition)), account.worst_answer(coalition)
            yield (
                f"an answer may make a combination of levels {times_in_words(worst)} times as "
                f"likely to {name}, more than the {times:g} times that it is limited to"
            )
    for holding in intent.record.holdings:
        bound = bounds.get(frozenset(holding.parties), Bound())
        if (holding.times or inf) != bound.times:
            yield (
                f"{holding.name} was held to {_times(holding.times)} times, not "
                f"{_times(bound.times)}"
            )
        worst = min(account.worst_answer(frozenset(holding.parties)), bound.cap)
        yield from _worst_answer_problems(holding.worst_answer, worst, holding.name)
        slack = account.worst_answer_slack(frozenset(holding.parties))
        if abs(holding.worst_answer_slack - slack) > _SAME_SLACK:
            yield (
                f"the worst single answer of {holding.name} may be {slack:.9f} bits above the "
                f"truth, not {holding.worst_answer_slack:.9f} as recorded"
            )
    worst = account.worst_answer(account.memory.present)
    yield from _worst_answer_problems(intent.record.everyone_worst_answer, worst, "everyone")


def _disclosure_problems(
    replay: Replay, after: Books, intent: Intent, before: Account
) -> Iterator[str]:
    """Whether all that it discloses is recorded, and nothing else."""
    coalitions = [frozenset(each.parties) for each in intent.record.holdings]
    proved = find_disclosures(after, replay.account, coalitions, before=before)
    recorded = {(each.whom, each.column, each.level): each for each in intent.record.disclosures}
    for each in proved:
        same = recorded.pop((each.whom, each.column, each.level), None)
        if same is None or abs(same.people - each.people) > SAME * each.of:
            yield f"it does not record that {disclosure_lines([each], 'can name')[0]}"
    for each in recorded.values():
        yield f"it does not disclose that {disclosure_lines([each], 'can name')[0]}"


def _times(times: float | None) -> str:
    return "any number of" if times in (None, inf) else f"{times:.12g}"


def _worst_answer_problems(recorded: float, worst: float, name: str) -> Iterator[str]:
    """Whether a worst answer is recorded as it is proved."""
    if abs(recorded - worst) > SAME:
        yield (
            f"the worst single answer of {name} tells {worst:.9f} bits after it, not "
            f"{recorded:.9f} as recorded"
        )


def _limits(books: Books, intent: Intent, before: Account) -> dict[Parties, float]:
    """Limits on every coalition that the release feeds, its own included."""
    party = intent.request.party
    limits = {each: bound.bits for each, bound in books.bounds_on(party).items()}
    return limits | {frozenset({party}): _ceiling(books, intent, before)}


def _ceiling(books: Books, intent: Intent, before: Account) -> float:
    """Bits that its party may hold after a release."""
    party, bits = intent.request.party, intent.request.bits
    limit = books.least_on(party).bits
    return limit if bits is None else min(limit, before.upper_bits(frozenset({party})) + bits)


def _looseness_problems(holding: HoldingRecord, name: str, proved: Held) -> Iterator[str]:
    """Whether letters and slack are recorded as they are proved."""
    letters, slack = proved.letters, proved.slack
    if abs(holding.slack - slack) > _SAME_SLACK or holding.letters != letters:
        yield (
            f"{name} is said to hold {holding.letters} letters at a slack of {holding.slack:.9f} "
            f"bits, not {letters} at {slack:.9f}"
        )


def _holding_problems(
    holding: HoldingRecord, name: str, limit: float, held: float
) -> Iterator[str]:
    if abs(holding.limit - limit) > SAME:
        yield f"it was held to {bits_in_words(holding.limit)} for {name}, not {limit:g}"
    if abs(held - holding.bits) > SAME:
        yield f"{name} may hold {held:.9f} bits after it, not {holding.bits:.9f} as recorded"


def _worth_problems(replay: Replay, intent: Intent, before: Account, law: Array) -> Iterator[str]:
    """Whether the answers are worth what is recorded, and as near to the best as that."""
    request, record = intent.request, intent.record
    value = request.utility.value(law)
    same = SAME * unit_of(request, value)
    if abs(value - record.value) > same:
        yield f"its answers are worth {value:.9f}, not {record.value:.9f}"
    blind = request.blind_value(replay.books.p_x)
    off = abs((blind or 0) - (record.blind or 0))
    if (blind is None) != (record.blind is None) or off > same:
        yield f"a blind guess is worth {blind}, not {record.blind}"
    number = intent.entry.number
    try:
        best = pose_again(replay.books, before, intent, _ceiling(replay.books, intent, before))
    except UnconvergedError:
        replay.unsolved.append(number)
    except TacitError as error:
        yield f"its problem cannot be posed again: {error}"
    else:
        if request.mean_cost is not None and best.solution.bound is not None:
            replay.proved_gaps[number] = max(value - best.solution.bound, 0.0)
        yield from claim_problems(intent, value, best)


def _level_problems(intent: Intent, law: Array) -> Iterator[str]:
    """Whether levels err as is recorded, and keep the ceilings that were asked for."""
    request, recorded = intent.request, intent.record.level_errors
    errors = request.level_errors(law)
    same = SAME * unit_of(request, 1.0)
    is_same = recorded.keys() == errors.keys() and all(
        abs(recorded[level] - error) <= same for level, error in errors.items()
    )
    if not is_same:
        yield "the error of a level is recorded wrongly"
    for level in request.broken_ceilings(law):
        most = request.measure.ceilings[level]
        yield f"its answers cost more at {level} than the ceiling of {most:g}"


def _paper_problems(intent: Intent, law: Array) -> Iterator[str]:
    """Whether what the recipient is told follows from the table."""
    request, record = intent.request, intent.record
    if record.identity != request.identity:
        yield "its identity is not that of its request"
    if record.question != request.asked:
        yield "its question is not that of the column that it names"
    if record.letters != request.names_of_answers(intent.channel.weights.shape[-1]):
        yield "its answers are named wrongly"
    given_r, told = recipient_law(law), np.array(record.p_rhat_given_r)
    if told.shape != given_r.shape or np.abs(told - given_r).max() > SAME:
        yield "the law that its recipient is told is not that of its table"
