"""The state of a study, as its ledger gives it: who may learn what, and what was released.

Nothing here depends on what letters came out, only on the designs: two studies with equal ledgers
have equal books. What each kind of entry changes in the books is in ``tacit.study.entry_kinds``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import inf
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Account, Counts
from tacit.arrays import Array
from tacit.errors import InvalidInputError, Suggestion
from tacit.information import entropy, mutual_information
from tacit.information.laws import as_positive_bits
from tacit.ledger import Entry, Head
from tacit.limits import Bound, Limit, Parties, Whom, bounds, find, least
from tacit.linear_program import minimise_linear
from tacit.problem import INFORMATION, MEAN, SHARES
from tacit.sampling import IntegerChannel, StudyKey
from tacit.scheme import Design, Scheme, Step, Variable
from tacit.scheme.memory import Copy, Transition, Transitions
from tacit.scheme.views import ClassOfX, class_rows, refine_classes
from tacit.similar_names import nearest_first
from tacit.solution import GAP_TOL
from tacit.solvers import Progress
from tacit.solvers.shares import share_variances
from tacit.study.books.records import (
    FIRST_COHORT,
    CohortRecord,
    CopyRecord,
    CreatedRecord,
    DeliveredRecord,
    ErasedCohortRecord,
    HoldingRecord,
    JoinedRecord,
    Measure,
    QuestionRecord,
    ReleaseRecord,
    refuse_nonsense,
)
from tacit.tables import Question

RESERVE_BITS = 1e-6
"""A design aims this far below every limit: rounding its channel to integers costs far less."""


CEILING_TOL = 1e-6
"""A ceiling is kept up to this, relative to the largest cost: rounding to integers moves errors."""


@dataclass(frozen=True, slots=True, eq=False)
class MeanCost:
    """E d(Rhat, R), or the largest E[d(Rhat, R) | R = r] of the levels r that records have.

    Attributes:
        posed: d[rhat, r], as the engine wants it.
        objective: ``"mean"`` or ``"worst-level"``.
    """

    posed: Array
    objective: str

    def value(self, law: Array) -> float:
        """Of answers with a law."""
        if self.objective == MEAN:
            return float((law.T * self.posed).sum())
        return float(self.level_errors(law)[law.any(axis=1)].max())

    def level_errors(self, law: Array) -> Array:
        """E[d(Rhat, R) | R = r] of answers with a law, [r]."""
        return np.asarray((recipient_law(law) * self.posed.T).sum(axis=1))

    def blind(self, p_r: Array) -> float:
        """Of the best constant letter; for the worst level, of the best letter that is drawn."""
        if self.objective == MEAN:
            return float((self.posed @ p_r).min())
        return _least_worst(self.posed[:, p_r > 0])

    def perfect(self, p_r: Array) -> float:
        """Of answers that always tell the truth, as far as an answer can."""
        least = self.posed.min(axis=0)
        return float(least @ p_r if self.objective == MEAN else least[p_r > 0].max())

    def gain(self, value: float, p_r: Array) -> float:
        """How much better than a blind guess."""
        return self.blind(p_r) - value


@dataclass(frozen=True, slots=True)
class Information:
    """I(Rhat; R) in bits."""

    posed: str = INFORMATION

    def value(self, law: Array) -> float:
        """Of answers with a law."""
        return mutual_information(law)

    def blind(self, _: Array) -> float:
        """Nothing is told without looking."""
        return 0.0

    def perfect(self, p_r: Array) -> float:
        """Of answers that are what was asked."""
        return entropy(p_r)

    def gain(self, value: float, _: Array) -> float:
        """How much better than a blind guess."""
        return value


@dataclass(frozen=True, slots=True)
class Shares:
    """n times the largest variance of an estimated share of a level among n records.

    It is infinite where not every share can be estimated, so a blind guess has none.
    """

    posed: str = SHARES

    def value(self, law: Array) -> float:
        """Of answers with a law."""
        return float(self._variances(law).max())

    def half_widths(self, law: Array, n_records: int) -> Array:
        """Of the 95 % interval for the share of each level that occurs among records."""
        return np.asarray(NormalDist().inv_cdf(0.975) * np.sqrt(self._variances(law) / n_records))

    @staticmethod
    def _variances(law: Array) -> Array:
        p_r = law.sum(axis=1)
        occurs = p_r > 0
        return share_variances(p_r[occurs], recipient_law(law)[occurs].T)

    def blind(self, _: Array) -> None:
        """No share can be estimated without looking."""
        return

    def gain(self, value: float, _: Array) -> float:
        """Any estimate is infinitely better than none."""
        return inf if value < inf else 0.0


Utility = MeanCost | Information | Shares

_UTILITIES: dict[str, Utility] = {each.posed: each for each in (Information(), Shares())}
"""Those that the engine knows by a name."""


def recipient_law(law: Array) -> Array:
    """p(letter | r) from p(r, letter), [r, letter]; any law for an r that no record has."""
    total = law.sum(axis=1, keepdims=True)
    return np.where(total > 0, law / np.where(total > 0, total, 1.0), 1 / law.shape[1])


def _least_worst(distortion: Array) -> float:
    """The largest mean cost at any level of the best answer that looks at nothing, d[rhat, r]."""
    n_answers, n_levels = distortion.shape
    below = np.column_stack([distortion.T, -np.ones(n_levels)])
    solved = minimise_linear(
        np.append(np.zeros(n_answers), 1.0),
        np.vstack([below, np.append(np.ones(n_answers), 0.0)]),
        np.append(np.full(n_levels, -inf), 1.0),
        np.append(np.zeros(n_levels), 1.0),
    )
    assert solved.point is not None  # any answer is a point
    return float((distortion.T @ solved.point[:-1]).max())


@dataclass(frozen=True, eq=False)  # no slots: what follows from it is computed once
class Request:
    """A question with all that makes it a request: who asks, judged how, for how many bits.

    Attributes:
        party: who asks.
        question: what for.
        measure: how the answer is judged.
        bits: what the party may learn from it; ``None`` for all that is left to it.
        analysable: whether the answer may depend on nothing but what is asked.
    """

    party: str
    question: Question
    measure: Measure
    bits: float | None
    analysable: bool = False

    def __post_init__(self) -> None:
        if self.bits is not None:
            as_positive_bits(self.bits, name="bits")
        if self.analysable and self.question.external is not None:
            raise InvalidInputError(
                f"{self.question.name} is an external column, which is predicted from the private "
                "attributes and never read: an answer about it cannot be analysable"
            )
        if self.measure.kind == SHARES and not self.analysable:
            raise InvalidInputError(
                f"utility {SHARES!r} is for answers that depend on nothing but what is asked: ask "
                "for an analysable release"
            )

    @cached_property
    def utility(self) -> Utility:
        """How its answers are judged."""
        posed = self.measure.utility(self.question.labels, self.question.numbers)
        if isinstance(posed, str):
            return _UTILITIES[posed]
        return MeanCost(np.asarray(posed, dtype=float), self.measure.objective)

    @property
    def mean_cost(self) -> MeanCost | None:
        """The same where it is by a mean cost: only then is a release proved to be the best."""
        return self.utility if isinstance(self.utility, MeanCost) else None

    @property
    def distortion(self) -> Array:
        """The matrix d[rhat, r], where answers are judged by a mean cost."""
        assert self.mean_cost is not None
        return self.mean_cost.posed

    @cached_property
    def ceilings(self) -> dict[int, float]:
        """Number of a level -> the largest mean cost that is allowed there."""
        labels, ceilings = self.question.labels, self.measure.ceilings
        for level in ceilings:
            if level not in labels:
                raise InvalidInputError(
                    f"the ceiling of {level!r} is of no level of {self.question.name}: its levels "
                    f"are {nearest_first(level, labels)}"
                )
        return {labels.index(level): error for level, error in ceilings.items()}

    @cached_property
    def asked(self) -> QuestionRecord:
        """The question as it stands in the ledger."""
        return record_of(self.question)

    @cached_property
    def identity(self) -> str:
        """Two requests with the same identity are one: the second gets the first one's release.

        The wording is left out: ``age > 60`` and ``not age <= 60`` ask for the same.
        """
        question = self.asked.model_dump(mode="json", exclude={"name", "sql"})
        measure = self.measure.model_dump(mode="json")
        what = [self.party, question, measure, self.bits, self.analysable]
        text = json.dumps(what, sort_keys=True, separators=(",", ":"))
        return sha256(text.encode()).hexdigest()

    def blind_value(self, p_x: Array) -> float | None:
        """What answering without looking at the record is worth, whatever the ceilings say."""
        return self.utility.blind(p_x @ self.question.p_r_given_x)

    def told_law(self, before: Account, channel: IntegerChannel) -> Array:
        """p(r, letter) of a release, [r, letter].

        Args:
            before: what every coalition held before it, on the classes of the channel.
            channel: the integer table that is sampled.
        """
        return self.told_letters(before, channel.law)

    def told_letters(self, before: Account, letters: Array) -> Array:
        """The same of letters p(letter | m, x), [m, class of x, letter], that were told already."""
        rows = class_rows(before.memory.class_of_x, self.question.p_r_given_x)
        return np.asarray(rows.T @ np.einsum("mx,mxa->xa", before.memory.mass, letters))

    def level_errors(self, law: Array) -> dict[str, float]:
        """Label of a level that records have -> mean cost of answers with law p(r, letter) there.

        None where answers are not judged by a mean cost.
        """
        if self.mean_cost is None:
            return {}
        errors, labels = self.mean_cost.level_errors(law), self.question.labels
        return {labels[r]: float(errors[r]) for r in np.flatnonzero(law.any(axis=1))}

    def by_label(self, multipliers: Mapping[int, float]) -> dict[str, float]:
        """The multipliers of levels, by the level's label."""
        return {self.question.labels[r]: price for r, price in multipliers.items()}

    def broken_ceilings(self, law: Array) -> list[str]:
        """Levels where answers with law p(r, letter) cost more than their ceiling allows."""
        ceilings = self.measure.ceilings
        if not ceilings:
            return []
        errors, spare = self.level_errors(law), CEILING_TOL * self.distortion.max()
        return [level for level, most in ceilings.items() if errors.get(level, 0.0) > most + spare]

    def names_of_answers(self, n_letters: int) -> tuple[str, ...]:
        """What each answer is called; numbers where an answer only informs about R."""
        if n_letters == len(self.question.labels) and not isinstance(self.utility, Information):
            return self.question.labels
        return tuple(str(letter) for letter in range(1, n_letters + 1))


def _asked(intent: Intent, cells: NDArray[np.intp]) -> Array:
    return intent.request.question.p_r_given_x[cells]


def _follow(
    known: NDArray[np.bool_], is_possible: NDArray[np.bool_], intent: Intent
) -> NDArray[np.bool_]:
    """What can be in each state after a release, [m', ...], from [m, letter, ...] before it."""
    n_states = int(intent.next_state.max()) + 1
    after = np.zeros((n_states, known.shape[-1]), dtype=bool)
    before, letter = np.nonzero(is_possible)
    every = np.broadcast_to(known, (*is_possible.shape, known.shape[-1]))[before, letter]
    np.logical_or.at(after, intent.next_state[before, letter], every)
    return after


def _copies(rows: Array, told: NDArray[np.bool_]) -> list[Array]:
    """How a table renames earlier letters, [earlier, letter], if that is all that it does.

    Args:
        rows: [m, x, letter].
        told: earlier letters that are possible in each state, [m, earlier].
    """
    is_renaming = (rows == rows[:, :1]).all() and (rows[:, 0].max(axis=-1) == 1).all()
    is_known = told.sum(axis=1) == 1
    if not is_renaming or not is_known[told.any(axis=1)].all():
        return []
    pairs = {(int(told[m].argmax()), int(rows[m, 0].argmax())) for m in np.nonzero(is_known)[0]}
    earlier, letters = zip(*pairs, strict=True)
    if len({*earlier}) < len(pairs) or len({*letters}) < len(pairs):
        return []
    renaming = np.zeros((told.shape[1], rows.shape[-1]))
    renaming[list(earlier), list(letters)] = 1.0
    return [renaming]


def _range(rows: Array, p_r: Array) -> tuple[Array, Array]:
    """Least and greatest entries of the rows that can be of each r, [r, letter]."""
    can_be = p_r.T[:, :, None] > 0
    is_asked = can_be.any(axis=1)
    any_law = 1 / rows.shape[-1]  # of an r that no record has, as in ``recipient_law``
    least = np.where(is_asked, np.where(can_be, rows, np.inf).min(axis=1), any_law)
    return least, np.where(is_asked, np.where(can_be, rows, -np.inf).max(axis=1), any_law)


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


@dataclass(frozen=True, slots=True, eq=False)
class Intent:
    """A release as it was recorded, before the first letter was drawn, or a copy of one.

    Attributes:
        entry: where it stands in the ledger; people call it by the entry's number.
        record: what stands there.
        request: what it answers.
        channel: the integer table that is sampled, [m, class of x, letter].
        class_of_x: class of each cell, see ``Books.classes_for``.
        transition: what drawing it does to the memory, as recorded.
        draw: name of the random numbers that it is drawn with, see ``draw_of``.
        past: name of all that was released up to where it is drawn, its own letters included.
        limits: in force at that time.
        n_cohorts: how many the study had at that time.
        delivery: says that its file was written; ``None`` until then.
        digest: of what its file says when it is written now, without records that were erased;
            ``None`` until it was delivered.
        source: the release whose letters it hands on: table, classes, transition, draw and past are
            of that one; ``None`` for a release that is drawn itself.
    """

    entry: Entry
    record: ReleaseRecord
    request: Request
    channel: IntegerChannel
    class_of_x: ClassOfX
    transition: Transition
    draw: str
    past: str
    limits: tuple[Limit, ...]
    n_cohorts: int
    delivery: DeliveredRecord | None = None
    digest: str | None = None
    source: Intent | None = None

    @property
    def drawn(self) -> Intent:
        """The release whose letters these are: itself, or the one that it is a copy of."""
        return self if self.source is None else self.source

    @property
    def party_limit(self) -> float:
        """Its party's limit at that time, as it was set."""
        return own_limit(self.limits, self.request.party).amount("bits")

    @property
    def around_limit(self) -> float | None:
        """That of a coalition around the party, where it was lower."""
        bits = least(self.limits, frozenset({self.request.party})).bits
        return bits if bits < self.party_limit else None

    @property
    def first_digest(self) -> str | None:
        """Of its file as it was delivered first."""
        return None if self.delivery is None else self.delivery.digest

    def derive_keys(self, key: StudyKey) -> tuple[bytes, bytes]:
        """The key of its random numbers, and the key that the content of its file is digested by.

        Args:
            key: the study's.
        """
        return key.derive("draw", self.draw), key.derive("digest", self.draw, self.request.party)

    @property
    def state_name(self) -> str:
        """Of the file with every record's state after it: only the same past has the same name."""
        return f"{self.drawn.entry.number}-{self.past[:16]}"

    @property
    def next_state(self) -> Transitions:
        """State after it, [m, letter]; -1 where that cannot occur."""
        return self.transition.next_state

    def add_to(self, account: Account, before: Iterable[Intent]) -> Account:
        """What every coalition holds after it, its recorded bound and slacks being believed.

        Args:
            account: what they hold before it.
            before: all releases about the cohort before it, in order.
        """
        if isinstance(self.record, CopyRecord):
            return self._hand_on(account, before, self.record, is_proved=False)[0]
        after, _ = account.refine(self.class_of_x).after(
            self.request.party,
            self.channel,
            self.transition,
            everyone_bits=self.record.everyone_bits,
        )
        return after

    def prove_after(
        self, account: Account, before: Iterable[Intent]
    ) -> tuple[Account, Transition | Copy]:
        """What every coalition holds after it, every bound and slack being proved again."""
        if isinstance(self.record, CopyRecord):
            return self._hand_on(account, before, self.record, is_proved=True)
        made = replace(self.transition, slacks={})
        return account.refine(self.class_of_x).after(self.request.party, self.channel, made)

    def _hand_on(
        self, account: Account, before: Iterable[Intent], record: CopyRecord, *, is_proved: bool
    ) -> tuple[Account, Copy]:
        earlier = list(before)
        copy = record.copy_of([each.entry.number for each in earlier if each.source is None])
        made = replace(copy, slacks={}) if is_proved else copy
        told = account.after_copy(self.request.party, steps_of(earlier), made, is_new=False)
        assert told is not None  # only a new copy may be refused
        return told


def record_holdings(
    account: Account,
    limits: Mapping[Parties, float],
    bounds: Mapping[Parties, Bound],
    prices: Mapping[Parties, float],
) -> tuple[HoldingRecord, ...]:
    """What limited coalitions hold by an account, as it stands in the ledger.

    Args:
        account: what every coalition holds.
        limits: bits, of the coalitions.
        bounds: in force on some of them; times that are kept bound the worst answer.
        prices: what a bit more would be worth; 0 for a coalition that is not named.
    """
    return tuple(
        HoldingRecord(
            parties=tuple(sorted(coalition)),
            limit=limits[coalition],
            bits=held.bits,
            is_covered=held.is_covered,
            multiplier=prices.get(coalition, 0.0),
            letters=held.letters,
            slack=held.slack,
            times=_finite(bounds.get(coalition, Bound()).times),
            worst_answer=min(held.worst_answer, bounds.get(coalition, Bound()).cap),
            worst_answer_slack=held.worst_answer_slack,
        )
        for coalition, held in account.holdings(limits).items()
    )


def _finite(number: float) -> float | None:
    return None if number == inf else number


def own_limit(limits: Iterable[Limit], party: str) -> Limit:
    """The limit that let a party in."""
    found = find(limits, Whom(frozenset({party})))
    assert found is not None  # no party without one
    return found


def steps_of(intents: Iterable[Intent]) -> list[Step]:
    """Everything that was drawn, in order, and who holds it, from all releases about a cohort."""
    steps: dict[int, Step] = {}
    for each in intents:
        party, number = each.request.party, each.drawn.entry.number
        if each.source is not None:
            steps[number] = replace(steps[number], holders=steps[number].holders | {party})
            continue
        steps[number] = Step(
            party,
            each.channel.law,
            each.class_of_x,
            each.transition,
            each.record.everyone_bits,
            holders=frozenset({party}),
        )
    return list(steps.values())


def _is_same(one: Question, other: Question) -> bool:
    if one is other:
        return True
    if one.external is not None or other.external is not None:
        return one.external == other.external
    return np.array_equal(one.r_of_x, other.r_of_x)


@dataclass(frozen=True, slots=True)
class Erasure:
    """Records that were erased, or are to be.

    Attributes:
        number: of the entry that records it.
        is_correction: whether they are to join again with other values.
        id_hashes: keyed hashes of their ids.
        persons: keyed hashes of their normalised ids.
        digests: number of each release that was delivered before -> the digest of its file
            without them.
        by_cohort: how many records of each cohort are gone; empty until they are.
    """

    number: int
    is_correction: bool
    id_hashes: frozenset[str]
    persons: frozenset[str]
    digests: Mapping[int, str] = field(default_factory=dict)
    by_cohort: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Cohort:
    """Records that joined a study together, and what was released about them.

    Attributes:
        number: from 1, in the order in which they joined.
        joined: number of the entry that they joined with.
        record: what it says.
        counts: records in each cell x.
        externals: external column -> its question.
        past: name of all that was released about them so far, see ``draw_of``.
        account: what every coalition holds about one of them, proved; ``None`` until it is read.
        intents: all releases about them, by their number in the ledger.
        n_erased: how many of them are gone.
        snapshot_digest: of the encoded table as it has to be now.
        snapshot_seal: of its files.
    """

    number: int
    joined: int
    record: CohortRecord
    counts: Counts
    externals: dict[str, Question]
    past: str
    snapshot_digest: str
    snapshot_seal: str
    account: Account | None = None
    intents: dict[int, Intent] = field(default_factory=dict)
    n_erased: int = 0

    @staticmethod
    def of(number: int, record: CohortRecord, entry: Entry) -> Cohort:
        """A cohort that nothing was released about, from the entry that it joined with."""
        externals = {
            name: Question(
                name, stored.labels, stored.numbers, np.array(stored.counts, dtype=np.int64), name
            )
            for name, stored in record.externals.items()
        }
        counts = np.array(record.counts, dtype=np.int64)
        digest = None if number == FIRST_COHORT else record.snapshot_digest
        return Cohort(
            number,
            entry.number,
            record,
            counts,
            externals,
            first_past(entry.study, digest),
            record.snapshot_digest,
            record.snapshot_seal,
        )

    @property
    def drawn(self) -> list[Intent]:
        """The releases that were drawn, in order: all but copies."""
        return [each for each in self.intents.values() if each.source is None]

    def drawn_before(self, intent: Intent) -> list[Intent]:
        """Those that were drawn before a release, or before what it is a copy of."""
        return [each for each in self.drawn if each.entry.number < intent.drawn.entry.number]

    def steps_about(self, question: Question) -> list[int]:
        """Numbers of the steps, from 0, whose letters answer a question by the same names."""
        return [
            number
            for number, each in enumerate(self.drawn)
            if each.record.letters == question.labels and _is_same(each.request.question, question)
        ]

    def names_of_old_states(self, n_kept: int) -> list[str]:
        """Of the files with states after all that was drawn, but the last few."""
        return [intent.state_name for intent in self.drawn[:-n_kept]]

    @property
    def n_left(self) -> int:
        """How many records there are."""
        return self.record.records - self.n_erased

    @property
    def corrected(self) -> int:
        """How many of them were erased before, and joined again."""
        return self.record.corrected if isinstance(self.record, JoinedRecord) else 0

    def without(self, left: ErasedCohortRecord, digests: Mapping[int, str]) -> Cohort:
        """The cohort after an erasure.

        Args:
            left: what it has left of the cohort.
            digests: number of each release that was delivered -> digest of its file from now on.
        """
        return replace(
            self,
            intents=self._with_digests(digests),
            n_erased=self.n_erased + left.erased,
            snapshot_digest=left.snapshot_digest,
            snapshot_seal=left.snapshot_seal,
        )

    def before_erasures(self, digests: Mapping[int, str], n_erased: int) -> Cohort:
        """The cohort when files had these digests, or their first, and fewer were erased."""
        first = {number: each.first_digest for number, each in self.intents.items()}
        return replace(self, intents=self._with_digests({**first, **digests}), n_erased=n_erased)

    def _with_digests(self, digests: Mapping[int, str | None]) -> dict[int, Intent]:
        return {
            number: replace(each, digest=digests[number]) if number in digests else each
            for number, each in self.intents.items()
        }


@dataclass(frozen=True, slots=True, eq=False)
class Books:
    """The state of a study after the entries of its ledger up to ``head``, for one of its cohorts.

    Parties and limits are the study's, and hold in every cohort. Counts, laws, releases and what
    coalitions hold are those of the cohort that is looked at: see ``look_at``.

    Attributes:
        head: the last entry read.
        created: what the first entry says.
        cohorts: all of them, in the order in which they joined.
        memory: the most states that a record's past is remembered by.
        cohort: the one that is looked at.
        limits: in force; those on single parties let these in.
        titles: party -> what it is called in lists and on pages.
        removals: name -> how many parties of that name were removed, where any was.
        approvals: parties for whose own requests a custodian's approval is required.
        accepted: hashes of lost entries, and names of states, that the custodian gave up when
            accepting a rollback.
        is_closed: whether the key was destroyed, or the study was made anew.
        successor: the study that took its place, if one did.
        erasures: those that are done.
        unfinished_erasure: one that was recorded, and whose records may still be there.
    """

    head: Head
    created: CreatedRecord
    cohorts: tuple[Cohort, ...]
    memory: int
    cohort: Cohort
    limits: tuple[Limit, ...] = ()
    titles: dict[str, str] = field(default_factory=dict)
    removals: dict[str, int] = field(default_factory=dict)
    approvals: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()
    is_closed: bool = False
    successor: str | None = None
    erasures: tuple[Erasure, ...] = ()
    unfinished_erasure: Erasure | None = None

    @property
    def n_erased(self) -> int:
        """How many records are gone, of all cohorts."""
        return sum(each.n_erased for each in self.cohorts)

    @property
    def n_left(self) -> int:
        """How many records there are, in all cohorts."""
        return sum(each.n_left for each in self.cohorts)

    @property
    def before_erasures(self) -> list[Books]:
        """The books as they were before each erasure, as far as files and papers show it."""
        stages = []
        digests: dict[int, str] = {}
        n_erased = {each.number: 0 for each in self.cohorts}
        for erasure in self.erasures:
            before = (each.before_erasures(digests, n_erased[each.number]) for each in self.cohorts)
            stages.append(self.with_cohorts(before))
            digests |= erasure.digests
            for number, erased in enumerate(erasure.by_cohort, 1):
                n_erased[number] += erased
        return stages

    @property
    def erased_persons(self) -> frozenset[str]:
        """Keyed hashes of the normalised ids of all whose last erasure was no correction."""
        last = {each: erasure for erasure in self.erasures for each in erasure.persons}
        return frozenset(each for each, erasure in last.items() if not erasure.is_correction)

    @property
    def erased_ids(self) -> frozenset[str]:
        """Keyed hashes of the ids of all records that were erased, or are to be."""
        return self._erased_after(0)

    def erased_ids_of(self, cohort: Cohort) -> frozenset[str]:
        """Those of erasures after a cohort joined: records erased before may join again in it."""
        return self._erased_after(cohort.joined)

    def _erased_after(self, entry: int) -> frozenset[str]:
        unfinished = () if self.unfinished_erasure is None else (self.unfinished_erasure,)
        later = (each for each in (*self.erasures, *unfinished) if each.number > entry)
        return frozenset().union(*(each.id_hashes for each in later))

    def look_at(self, number: int) -> Books:
        """The books for a cohort.

        Raises:
            InvalidInputError: there is none of this number.
        """
        if number == self.cohort.number:
            return self
        if not 1 <= number <= len(self.cohorts):
            raise InvalidInputError(
                f"there is no cohort {number}: the study has {len(self.cohorts)}, from 1"
            )
        return replace(self, cohort=self.cohorts[number - 1])

    @property
    def by_cohort(self) -> list[Books]:
        """The books for each cohort."""
        return [self.look_at(each.number) for each in self.cohorts]

    @property
    def with_records(self) -> list[Books]:
        """The books for each cohort that has records left."""
        return [each for each in self.by_cohort if each.cohort.n_left]

    @property
    def cohort_shown(self) -> int | None:
        """The number of the cohort that is looked at; ``None`` where there is no other."""
        return self.cohort.number if len(self.cohorts) > 1 else None

    def with_cohorts(self, cohorts: Iterable[Cohort]) -> Books:
        """The books with other cohorts in the place of all."""
        others = tuple(cohorts)
        return replace(self, cohorts=others, cohort=others[self.cohort.number - FIRST_COHORT])

    @property
    def counts(self) -> Counts:
        """Records of the cohort in each cell x."""
        return self.cohort.counts

    @property
    def externals(self) -> dict[str, Question]:
        """External column -> its question, with its law in the cohort."""
        return self.cohort.externals

    @property
    def past(self) -> str:
        """Name of all that was released about the cohort so far."""
        return self.cohort.past

    @property
    def intents(self) -> dict[int, Intent]:
        """All releases about the cohort, by their number in the ledger."""
        return self.cohort.intents

    @property
    def releases(self) -> dict[int, Intent]:
        """All releases about any cohort, by their number in the ledger."""
        if len(self.cohorts) == 1:
            return self.cohort.intents
        return dict(sorted(each for one in self.cohorts for each in one.intents.items()))

    def with_limits(self, limits: tuple[Limit, ...]) -> Books:
        """The books if these were the limits.

        Whom the account follows depends on those on coalitions: where these change, it starts anew.
        """
        changed = replace(self, limits=limits)
        if changed.shared_limits == self.shared_limits:
            return changed
        return changed.with_cohorts(replace(each, account=None) for each in self.cohorts)

    @property
    def shared_limits(self) -> tuple[Limit, ...]:
        """Those on coalitions."""
        return tuple(each for each in self.limits if each.whom.party is None)

    @property
    def p_x(self) -> Array:
        """The public law of a record's cell."""
        return np.asarray(self.cohort.counts / self.cohort.counts.sum())

    @property
    def proved_account(self) -> Account:
        """What every coalition holds; read from the releases anew after a change of limits."""
        if self.cohort.account is not None:
            return self.cohort.account
        account = self.empty_account
        intents = [*self.cohort.intents.values()]
        if intents:
            with refuse_nonsense(intents[0].entry) as reading:
                for number, intent in enumerate(intents):
                    reading.entry = intent.entry
                    account = intent.add_to(account, intents[:number])
        object.__setattr__(self.cohort, "account", account)
        return account

    @property
    def empty_account(self) -> Account:
        """The account before the first release: no two cells are told apart."""
        nothing_told = np.zeros(len(self.cohort.counts), dtype=np.intp)
        return Account.start(self.cohort.counts, self.memory, self.shared_limits, nothing_told)

    @property
    def class_of_x(self) -> ClassOfX:
        """Class of each cell: what no release or request so far has told apart."""
        last = self._last_drawn
        return np.zeros(len(self.cohort.counts), dtype=np.intp) if last is None else last.class_of_x

    @property
    def _last_drawn(self) -> Intent | None:
        last = (each for each in reversed(self.cohort.intents.values()) if each.source is None)
        return next(last, None)

    def classes_for(self, question: Question) -> ClassOfX:
        """The classes, refined so that a question has one law in each ([M] fact 10).

        They follow from the questions alone, so that the ledger need not record them.
        """
        classes, p_x = self.class_of_x, self.p_x
        return refine_classes(classes, question.p_r_given_x, p_x)

    def account_for(self, question: Question) -> Account:
        """The account on the classes of a question, for a release that answers it."""
        return self.proved_account.refine(self.classes_for(question)).with_fewer_states()

    def scheme(self, account: Account) -> Scheme:
        """For designing what comes next, given the account on the classes of a question."""
        steps = steps_of(self.cohort.intents.values())
        return Scheme.resume(self.p_x, account.memory, steps, self.limits, reserve=RESERVE_BITS)

    def design(
        self,
        request: Request,
        before: Account,
        ceiling: float,
        told: Collection[int],
        *,
        work_limit: float,
        frugal: bool = True,
        progress: Progress | None = None,
    ) -> Design:
        """The best release for a request, as the engine finds it.

        Args:
            request: what is asked.
            before: what every coalition holds, on the classes of the question.
            ceiling: bits that its party may hold afterwards.
            told: steps whose letters may be handed on in the place of new ones.
            work_limit: for a design that is searched for, see ``solve``.
            frugal: among those as good, the one that tells everyone least.
            progress: called with value, bound and seconds meanwhile.
        """
        question = request.question
        return self.scheme(before).design(
            Variable(question.name, question.p_r_given_x, question.labels),
            party=request.party,
            utility=request.utility.posed,
            objective=request.measure.objective,
            ceilings=request.ceilings,
            analysable=request.analysable,
            individual=None if ceiling == inf else ceiling,
            gap_tol=GAP_TOL,
            work_limit=work_limit,
            frugal=frugal,
            progress=progress,
            told=told,
        )

    def bounds_on(self, party: str) -> dict[Parties, Bound]:
        """What every coalition that a release to a party feeds may hold."""
        return bounds(self.limits, self.holders, party)

    def least_on(self, *parties: str) -> Bound:
        """What parties may hold together, by the limits on them and on coalitions around them."""
        return least(self.limits, frozenset(parties))

    def own_limit(self, party: str) -> Limit:
        """The limit that was set for a party by itself."""
        return own_limit(self.limits, party)

    @property
    def n_states(self) -> int:
        """States that a record can be in now."""
        last = self._last_drawn
        return 1 if last is None else int(last.next_state.max()) + 1

    @property
    def holders(self) -> Parties:
        """Parties that received something about the cohort."""
        return frozenset(intent.request.party for intent in self.cohort.intents.values())

    def holding(self, coalition: Parties) -> HoldingRecord:
        """What was recorded of a coalition after the last release that fed it.

        What was proved then still holds. It is proved here where nothing was recorded, because
        nothing limited the coalition.
        """
        parties = coalition & self.holders
        fed = [each for each in self.cohort.intents.values() if each.request.party in parties]
        for holding in fed[-1].record.holdings if fed else ():
            if parties == frozenset(holding.parties):
                return holding
        [proved] = record_holdings(
            self.proved_account, {coalition: least(self.limits, coalition).bits}, {}, {}
        )
        return proved

    def find_party(self, name: str) -> str:
        """The name of a party that was let in.

        Raises:
            InvalidInputError: there is none of this name.
        """
        if name not in self.titles:
            if Whom.parse(name).party is None:
                raise InvalidInputError(f"{name!r} is a coalition: name one party")
            known = nearest_first(name, self.titles) or "none yet"
            raise InvalidInputError(
                f"party {name!r} is unknown (parties: {known}): let it in",
                suggestions=[Suggestion("set_limit", {"whom": name, "bits": None})],
            )
        return name

    def with_release(self, cohort: Cohort, intent: Intent, past: str) -> Books:
        """The books with one more release about a cohort, and what was drawn about it then."""
        account, number = cohort.account, intent.entry.number
        after = replace(
            cohort,
            intents=cohort.intents | {number: intent},
            past=past,
            account=None if account is None else intent.add_to(account, cohort.intents.values()),
        )
        cohorts = (*self.cohorts[: cohort.number - 1], after, *self.cohorts[cohort.number :])
        return replace(self, cohorts=cohorts, cohort=cohorts[self.cohort.number - 1])

    def find(self, identity: str) -> Intent | None:
        """The latest release for a request about the cohort, if there is one."""
        same = [each for each in self.cohort.intents.values() if each.record.identity == identity]
        return same[-1] if same else None

    def range_given_r(self, intent: Intent) -> tuple[Array, Array]:
        """Least and greatest p(letter | r, all else that can be known of a record), [r, letter].

        In a subgroup that a recipient chooses by columns of its own, letters follow a law between
        the two. Where they are equal, the release is analysable: given r, a letter depends on
        nothing else. That is so where its table reads r only, and for a copy of the letters of such
        a release.
        """
        intent = intent.drawn
        some_x = np.unique(
            np.where(self.cohort.counts > 0, intent.class_of_x, -1), return_index=True
        )[1]
        some_x = some_x[self.cohort.counts[some_x] > 0]
        asked = intent.request.question.p_r_given_x[some_x]
        # States that a record of the cell can be in; laws of earlier letters that read no past,
        # with the letters that are possible in each state.
        reached = np.ones((1, len(some_x)), dtype=bool)
        drawn: list[tuple[Array, NDArray[np.bool_]]] = []
        for each in self.cohort.drawn:
            rows = each.channel.law[:, each.class_of_x[some_x]]
            if each.entry.number == intent.entry.number:
                break
            is_possible = np.asarray((reached[..., None] & (rows > 0)).any(axis=1))  # [m, letter]
            drawn = [(law, _follow(told[:, None], is_possible, each)) for law, told in drawn]
            if (rows == rows[:1]).all() and np.array_equal(_asked(each, some_x), asked):
                letters = np.eye(rows.shape[-1], dtype=bool)[None]
                drawn.append((rows[0], _follow(letters, is_possible, each)))
            reached = _follow(
                (reached[..., None] & (rows > 0)).transpose(0, 2, 1), is_possible, each
            )
        states, cells = np.nonzero(reached)
        own = _range(rows[states, cells], asked[cells])
        copies = [_range(law @ copy, asked) for law, told in drawn for copy in _copies(rows, told)]
        exact = [both for both in copies if np.array_equal(*both)]
        return exact[0] if exact else own

    def question(self, record: QuestionRecord) -> Question:
        """A question as it stands in the ledger."""
        if record.external is not None:
            return self.cohort.externals[record.external]
        letter = np.array(record.letter_of_cell, dtype=np.intp)
        return Question.of_function(
            record.name, record.labels, record.numbers, letter, sql=record.sql
        )


def first_past(study: str, joined: str | None = None) -> str:
    """The past of a cohort that nothing was released about.

    Args:
        study: its id.
        joined: digest of the snapshot that the cohort joined with; ``None`` for the first one. So
            no two cohorts share random numbers, and the same records that join again after a
            restored backup do.
    """
    if joined is None:
        return _hash(b"tacit past 1", study.encode())
    return _hash(b"tacit past 2", study.encode(), joined.encode())


def draw_of(past: str, channel: IntegerChannel, class_of_x: ClassOfX) -> str:
    """Name of the random numbers that a release is drawn with: its table, after its past.

    The past is the study, every earlier release's table and the states that follow from it, in
    order. No time, no party's name and no hash of a ledger entry is in it. So the same table after
    the same past is drawn with the same numbers and gives the same letters, even if the ledger was
    restored from a backup in between and has lost the entry: nobody gets a second, independent
    draw of it.

    Another table after the same past is drawn with other numbers. With the same numbers, the
    letters of the two together could tell more than the sum of what each tells. Tables are the
    same if each cell has the same rows, whatever the classes are.

    Args:
        past: before the release.
        channel: its table.
        class_of_x: class of each cell.
    """
    rows, row_of_x = _different_rows(channel, class_of_x)
    return _hash(b"tacit draw 2", past.encode(), _content(rows), _content(row_of_x))


def _different_rows(channel: IntegerChannel, class_of_x: ClassOfX) -> tuple[Counts, ClassOfX]:
    """The rows [row, m, letter] that differ, in the order of their first cell; row of each cell."""
    by_class = np.ascontiguousarray(channel.weights.transpose(1, 0, 2), dtype=np.int64)
    some_class, of_class = np.unique(
        by_class.reshape(len(by_class), -1), axis=0, return_index=True, return_inverse=True
    )[1:]
    of_x = of_class.reshape(-1)[class_of_x]
    first_x = np.unique(of_x, return_index=True)[1]
    order = np.argsort(first_x)
    return by_class[some_class[order]], np.argsort(order)[of_x]


def next_past(past: str, draw: str, next_state: Transitions) -> str:
    """The past after a release.

    Args:
        past: before it.
        draw: name of its numbers.
        next_state: state after each letter, [m, letter].
    """
    return _hash(b"tacit next 1", past.encode(), draw.encode(), _content(next_state))


def _content(numbers: NDArray[np.integer]) -> bytes:
    """Shape and numbers: not the compressed form, which may differ between versions of zlib."""
    return repr(numbers.shape).encode() + b":" + np.ascontiguousarray(numbers, "<i8").tobytes()


def _hash(*parts: bytes) -> str:
    """SHA-256 of the parts, each behind its length."""
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
