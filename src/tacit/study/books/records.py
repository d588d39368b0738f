"""What a study writes into its ledger: one model for the body of each kind of entry.

What the entries do is in ``tacit.study.entry_kinds``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, prod
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    model_validator,
)

from tacit.auditing.disclosure import Disclosure
from tacit.errors import CorruptLedgerError, InvalidInputError, LedgerError, TacitError
from tacit.information.laws import bits_up, percent_used
from tacit.ledger import Entry, Overlap
from tacit.limits import MOST_TIMES, Limit, Whom
from tacit.problem import DISTORTIONS, INFORMATION, MEAN, OBJECTIVES, SHARES, Costs, Utility
from tacit.scheme import Transition
from tacit.scheme.memory import Copy
from tacit.scheme.views import Labels

STUDY_FORMAT = 4
"""Of a study's folder and of its entries; no other one is read."""

FIRST_COHORT = 1
"""Number of the records that a study began with."""

Bits = Annotated[float, Field(ge=0)]
BitsOrInfinite = Annotated[
    float,
    Field(ge=0, allow_inf_nan=True),
    BeforeValidator(lambda stored: inf if stored is None else stored),
]
"""Bits that somebody may hold; infinite, ``None`` in JSON, where only times are limited."""

Count = Annotated[int, Field(ge=0, le=2**53)]
Weight = Annotated[float, Field(ge=0)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def _ascending(parties: tuple[str, ...]) -> tuple[str, ...]:
    _require(list(parties) == sorted(set(parties)), "parties are not in order, or one is twice")
    return parties


Coalition = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_ascending)]
"""Parties that pool what they hold, in the order of their names."""

NO_LEVELS: Mapping[str, float] = MappingProxyType({})

AUTHOR = "by"
"""Field of any entry's body: who made it. It is left out where nobody was named."""

_MOST_LISTED = 3
"""At most this many fields of an unreadable entry are named."""

_MOST_LABELS = 10
"""As many levels of a request are named."""


_SENSELESS = (
    TacitError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Exceptions that only a forged entry can cause."""


class Record(BaseModel):
    """The body of an entry."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """The body of an entry that is in the ledger, without its author."""
        author_of(entry)  # refused here where it is no text
        said = {name: value for name, value in entry.body.items() if name != AUTHOR}
        try:
            return cls.model_validate(said)
        except ValidationError as error:
            raise _unreadable(entry, error) from error


def author_of(entry: Entry) -> str | None:
    """Who made an entry, as ``Study.open`` was told; ``None`` where nobody was named.

    Raises:
        CorruptLedgerError: it is no text.
    """
    author = entry.body.get(AUTHOR)
    if author is None or isinstance(author, str):
        return author
    raise CorruptLedgerError(
        f"entry {entry.number} of study {entry.study} was made by {str(author)[:20]!r}, which is "
        "no name: restore the ledger from a backup"
    )


def _unreadable(entry: Entry, error: ValidationError) -> LedgerError:
    """The error for a body that does not fit its model."""
    wrong = {".".join(map(str, each["loc"])): each for each in error.errors(include_url=False)}
    unknown = [name for name, each in wrong.items() if each["type"] == "extra_forbidden"]
    if unknown:
        return LedgerError(
            f"entry {entry.number} of study {entry.study}, {entry.kind!r}, has fields that this "
            f"version of tacit does not know ({_listed(unknown)}): update tacit"
        )
    reasons = [f"{name}: {each['msg']}" if name else each["msg"] for name, each in wrong.items()]
    return CorruptLedgerError(
        f"entry {entry.number} of study {entry.study} is no {entry.kind!r} entry that this "
        f"version of tacit can read ({_listed(reasons)}): update tacit, or restore the ledger from "
        "a backup"
    )


def _listed(texts: list[str]) -> str:
    more = len(texts) - _MOST_LISTED
    return ", ".join(texts[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


@dataclass(slots=True)
class Reading:
    """Which entry is read at the moment."""

    entry: Entry


@contextmanager
def refuse_nonsense(entry: Entry) -> Iterator[Reading]:
    """Raise CorruptLedgerError, in one line, for every error that an entry's content causes.

    The owner of the database can write any entry and seal it. Sums that are no numbers raise, too.

    Args:
        entry: the one to name. Whoever reads several sets ``entry`` of what is yielded.
    """
    reading = Reading(entry)
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield reading
    except LedgerError:
        raise
    except _SENSELESS as error:
        entry, said = reading.entry, str(error).partition("\n")[0]
        raise CorruptLedgerError(
            f"entry {entry.number} of study {entry.study}, {entry.kind!r}, makes no sense after "
            f"those before it ({type(error).__name__}: {said}): verify the study, and restore the "
            "ledger from a backup"
        ) from error


def read_bodies(entries: Sequence[Entry], models: Sequence[type[Record]]) -> list[Any]:
    """The record of each entry, by its model; raises as ``refuse_nonsense`` does."""
    records = []
    with refuse_nonsense(entries[0]) as reading:
        for entry, model in zip(entries, models, strict=True):
            reading.entry = entry
            records.append(model.of(entry))
    return records


class ExternalRecord(Record):
    """An external column's public law: records by cell and level, [x, r]."""

    labels: tuple[str, ...]
    numbers: tuple[float | None, ...] | None
    counts: list[list[Count]]


class AttributeRecord(Record):
    """A private attribute as everybody may know it."""

    name: str
    labels: tuple[str, ...]


class OtherStudyRecord(Record):
    """Another study of the same ledger.

    Attributes:
        study: its id.
        made: when it began.
        table: name of the table that it was made of; ``None`` where it does not say it.
    """

    study: str
    made: str
    table: str | None


def other_studies(known: Iterable[Overlap], study: str = "") -> tuple[OtherStudyRecord, ...]:
    """Studies that have some of the same ids as one that is made, or as records that join one."""
    return tuple(
        OtherStudyRecord(study=each.study, made=each.made, table=each.table)
        for each in known
        if each.study != study
    )


class CohortRecord(Record):
    """Records join a study together. Digests are keyed: what they digest is private.

    Attributes:
        records: how many there are.
        counts: records in each cell x.
        externals: external column -> its law.
        snapshot_digest: of the encoded table.
        snapshot_seal: of its files, byte by byte, which is checked before every draw.
        table: name of the table, for papers.
        known_in: other studies that had some of the same ids, which was accepted.
    """

    records: Annotated[Count, Field(ge=1)]
    counts: list[Count]
    externals: dict[str, ExternalRecord]
    snapshot_digest: Digest
    snapshot_seal: Digest
    table: str
    known_in: tuple[OtherStudyRecord, ...] = ()

    @model_validator(mode="after")
    def _counts_every_record_once(self) -> Self:
        _require(sum(self.counts) == self.records, "counts do not sum to the records")
        for name, external in self.externals.items():
            sums = [sum(row) for row in external.counts]
            _require(sums == self.counts, f"the counts of {name} do not sum to those of the cells")
            _require(_is_table(external.counts, len(external.labels)), f"{name} has other levels")
            _require(_has_number_each(external), f"{name} has other numbers than levels")
        return self


class JoinedRecord(CohortRecord):
    """More records join a study, as a cohort of their own.

    Attributes:
        corrected: how many of them were erased before, and join again with other values.
        registration: seal of the study's registration from now on, whose sketch has their ids.
    """

    corrected: Count
    registration: Digest


class CreatedRecord(CohortRecord):
    """A study begins, with its first cohort. The check of the key is keyed, too.

    Attributes:
        format: of everything that a study writes.
        made_by: version of tacit.
        attributes: axes of the cells, in C order.
        memory: the most states that a record's past is remembered by.
        everyone: bits about one record that all parties may hold together; ``None`` for no limit.
        is_id_public: whether release files carry raw ids.
        key_check: tells this study's key from others.
        organisation: whose table it is, for papers; ``None`` where nobody said it.
    """

    format: int
    made_by: str
    attributes: tuple[AttributeRecord, ...]
    memory: Annotated[int, Field(ge=1)]
    everyone: Bits | None
    is_id_public: bool
    key_check: Digest
    organisation: Text | None = None

    @model_validator(mode="after")
    def _counts_every_cell(self) -> Self:
        n_cells = prod(len(attribute.labels) for attribute in self.attributes)
        _require(len(self.counts) == n_cells, "counts are not one for each cell")
        return self


class LimitRecord(Record):
    """What some parties may learn from now on, in the place of what they might before.

    A limit on a single party lets it in; one without amounts takes the limit away, and the party.

    Attributes:
        whom: as ``Whom.parse`` reads it.
        bits: mutual information about one record, over all that they ever hold.
        times: after any answer, no combination of levels is more times as likely as before.
        title: what a single party is called in lists and on pages; ``None`` for coalitions.
    """

    whom: str
    bits: Bits | None = None
    times: Annotated[float, Field(ge=1, lt=MOST_TIMES)] | None = None
    title: Text | None = None

    @model_validator(mode="after")
    def _says_what_a_limit_is(self) -> Self:
        on = Whom.parse(self.whom)
        _require(str(on) == self.whom, "the parties of a limit are in no order")
        is_party = on.party is not None and self.bits is not None
        _require((self.title is not None) == is_party, "a title goes with a party")
        _require(on.party is None or is_party or self.times is None, "a party has no bits")
        return self

    @property
    def on(self) -> Whom:
        """On whom it is."""
        return Whom.parse(self.whom)

    @property
    def limit(self) -> Limit | None:
        """The limit; ``None`` where one is taken away."""
        if self.bits is None and self.times is None:
            return None
        return Limit(self.on, self.bits, self.times)


class ApprovalRecord(Record):
    """Whether a custodian has to approve what a party asks for by itself."""

    party: str
    is_required: bool


class QuestionRecord(Record):
    """What was asked: a function of the cell, or an external column by its name."""

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...] | None
    external: str | None
    sql: str | None
    letter_of_cell: tuple[int, ...] | None

    @model_validator(mode="after")
    def _gives_every_cell_a_letter(self) -> Self:
        _require(_has_number_each(self), "there are other numbers than labels")
        letters = self.letter_of_cell
        if self.external is None:
            _require(letters is not None, "no cell has a letter")
        is_known = not letters or 0 <= min(letters) <= max(letters) < len(self.labels)
        _require(is_known, "unknown letters")
        return self


class Measure(Record):
    """How answers are judged: a name, or a table of costs [rhat, r].

    Attributes:
        kind: one of ``measure_names()``, or ``"costs"``.
        costs: what answering row rhat costs where column r is true, for ``"costs"``.
        objective: ``"mean"``, or ``"worst-level"`` where the largest mean cost at any level is
            minimised.
        ceilings: level, by its label -> the largest mean cost that is allowed there.
    """

    kind: str
    costs: tuple[tuple[Weight, ...], ...] | None = None
    objective: str = MEAN
    ceilings: dict[str, Weight] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_levels_only_with_costs(self) -> Self:
        _require(self.objective in OBJECTIVES, "another objective")
        _require(not self.has_levels or self.is_cost, f"{self.kind} has no level errors")
        return self

    @model_validator(mode="after")
    def _has_costs_if_it_says_so(self) -> Self:
        _require(self.kind in (*measure_names(), "costs"), "answers are judged otherwise")
        _require((self.kind == "costs") == (self.costs is not None), "costs go with their kind")
        if self.costs is not None:
            is_table = bool(self.costs) and _is_table(self.costs, len(self.costs[0]))
            _require(is_table, "the costs are no table")
        return self

    @classmethod
    def of_utility(
        cls, utility: str | Costs, objective: str = MEAN, ceilings: Mapping[str, float] = NO_LEVELS
    ) -> Measure:
        """As it is asked for: one of ``measure_names()``, or a table of costs."""
        _refuse_levels(utility, objective, ceilings)
        levels: dict[str, Any] = {"objective": objective, "ceilings": dict(ceilings)}
        if isinstance(utility, Costs):
            return cls(kind="costs", costs=utility.rows, **levels)
        if utility not in measure_names():
            raise InvalidInputError(
                f"utility {utility!r} is none of {', '.join(measure_names())}: give one of these "
                "words, or a table of costs as tacit.Costs"
            )
        return cls(kind=utility, **levels)

    @property
    def has_levels(self) -> bool:
        """Whether single levels count, beside the mean."""
        return self.objective != MEAN or bool(self.ceilings)

    @property
    def is_cost(self) -> bool:
        """Whether answers are judged by a mean cost."""
        return _has_errors(self.kind)

    def utility(self, labels: tuple[str, ...], numbers: tuple[float | None, ...] | None) -> Utility:
        """As the engine wants it.

        Args:
            labels: letters of R.
            numbers: where each letter lies on a scale, ``None`` for a missing value; ``None``
                altogether if the letters have no order.
        """
        if self.costs is not None:
            if any(len(row) != len(labels) for row in self.costs):
                raise InvalidInputError(
                    f"the table of costs has rows of {len(self.costs[0])} and the request has "
                    f"{len(labels)} levels: give one column for each of {_labels_in_words(labels)}"
                )
            return np.array(self.costs)
        if not self.is_cost:
            return self.kind
        named = DISTORTIONS[self.kind]
        if numbers is None and named.needs_numbers:
            raise InvalidInputError(
                f"utility {self.kind!r} needs levels that are numbers or bins, and "
                f"{_labels_in_words(labels)} have no order: use hamming, information or a table "
                "of costs"
            )
        places = range(len(labels)) if numbers is None else numbers
        return named.matrix(np.array([np.nan if at is None else at for at in places], dtype=float))


def _refuse_levels(utility: str | Costs, objective: str, ceilings: Mapping[str, float]) -> None:
    """Refuse an objective or ceilings that make no sense."""
    if objective not in OBJECTIVES:
        raise InvalidInputError(
            f"objective {objective!r} is unknown: use {' or '.join(OBJECTIVES)}"
        )
    if not _has_errors(utility) and (objective != MEAN or ceilings):
        raise InvalidInputError(
            f"{utility} has no error at each level: leave the worst level and ceilings out"
        )
    for level, error in ceilings.items():
        if not 0 <= error < inf:
            raise InvalidInputError(
                f"the ceiling of {level!r} is {error:g}: give a number, 0 or more"
            )


def measure_names() -> tuple[str, ...]:
    """The measures that have a name."""
    return (*DISTORTIONS, INFORMATION, SHARES)


def _has_errors(utility: str | Costs) -> bool:
    """Whether single answers have an error, or a cost."""
    return utility not in (INFORMATION, SHARES)


def _labels_in_words(labels: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, labels[:_MOST_LABELS]))
    more = len(labels) - _MOST_LABELS
    return f"{shown} and {more:,} more" if more > 0 else shown


class HoldingRecord(Record):
    """A coalition that a release feeds: its limit, and what it holds at most after it.

    Attributes:
        parties: who pools what.
        limit: bits that it may hold.
        bits: what it holds, at most.
        is_covered: whether ``bits`` are those of others, because its law is not carried.
        multiplier: what a bit more would be worth.
        letters: answers that are told apart in what it holds; ``None`` where ``bits`` are those of
            others.
        slack: bits by which ``bits`` may be above the truth, at most: what merging letters added,
            or others' letters.
        times: after any answer, no combination of levels may be more times as likely as before;
            ``None`` where that is not limited.
        worst_answer: bits that its worst single answer has at most: after any answer, no
            combination of levels is more than 2**bits times as likely as before.
        worst_answer_slack: bits by which ``worst_answer`` may be above the truth, at most.
    """

    parties: Coalition
    limit: BitsOrInfinite
    bits: Bits
    is_covered: bool
    multiplier: Weight
    letters: Annotated[int, Field(ge=1)] | None
    slack: Bits
    times: float | None
    worst_answer: Bits
    worst_answer_slack: Bits

    @field_serializer("limit")
    def _write_limit(self, limit: float) -> float | None:
        return None if limit == inf else limit

    @property
    def name(self) -> str:
        """For people."""
        return " + ".join(self.parties)

    @property
    def is_used_up(self) -> bool:
        """Whether what is held is shown as no less than the limit."""
        return float(bits_up(self.bits)) >= self.limit

    @property
    def percent(self) -> float:
        """Of the limit, at most 100."""
        return percent_used(self.bits, self.limit)


def _without_gaps(labels: tuple[int, ...]) -> tuple[int, ...]:
    used = set(labels) - {-1}
    _require(used == set(range(len(used))), "labels of merged letters have gaps")
    return labels


Letters = Annotated[tuple[Annotated[int, Field(ge=-1)], ...], AfterValidator(_without_gaps)]
"""Label of every letter, -1 where it cannot occur; letters with the same label are one."""


class MergeRecord(Record):
    """Letters of what a coalition holds that became one after a release ([M] fact 12).

    Attributes:
        parties: the coalition.
        labels: of every letter, -1 where it cannot occur; letters with the same label are one. A
            letter is (y, rhat) of a coalition that received the release, y of another.
        slack: bits that the merge adds to what the coalition is said to hold.
    """

    parties: Coalition
    labels: Letters
    slack: Bits


class ReleaseRecord(Record):
    """A release, as its party and the coalitions around it have it.

    Attributes:
        identity: requests with the same identity get the same release.
        party: who receives it.
        question: what was asked.
        measure: how answers are judged.
        bits: what the party was to learn at most; ``None`` for all that was left to it.
        letters: what each answer is called.
        p_rhat_given_r: what the recipient may know, [r, rhat].
        holdings: every limited coalition that the release feeds.
        everyone_bits: what all parties together hold at most after it.
        everyone_worst_answer: bits that the worst single answer of all parties together has at
            most.
        value: mean cost of the answers, that of the worst level, bits about R, or n times the
            largest variance of an estimated share among n records.
        blind: the same for answers that do not look at the record; ``None`` for shares.
        bound: no release within these limits does better; ``None`` where no proof is known.
        is_out_of_time: whether the search for a better one was ended by the clock.
        analysable: whether an answer may depend on nothing but what was asked.
        level_multipliers: level -> its weight in the bound on the worst level, [M] fact 13.
        ceiling_multipliers: level -> what raising its ceiling by 1 would be worth, at most.
        level_errors: level that records have -> mean cost of the answers there; none where answers
            only inform.
        reason: why it was released, as the custodian said it; ``None`` where nobody did.
        cohort: whom it is about.
        disclosures: levels that few records have and that it gives away, to its party or to one of
            the coalitions in ``holdings``, and that they could not tell before.
    """

    identity: str
    party: str
    question: QuestionRecord
    measure: Measure
    bits: Bits | None
    letters: tuple[str, ...]
    p_rhat_given_r: list[list[Weight]]
    holdings: tuple[HoldingRecord, ...]
    everyone_bits: Bits
    value: float
    blind: float | None
    bound: float | None
    is_out_of_time: bool
    analysable: bool
    level_multipliers: dict[str, Weight]
    ceiling_multipliers: dict[str, Weight]
    level_errors: dict[str, Weight]
    reason: Text | None
    everyone_worst_answer: Bits
    cohort: Annotated[int, Field(ge=FIRST_COHORT)]
    disclosures: tuple[Disclosure, ...]

    @model_validator(mode="after")
    def _tells_its_party_something(self) -> Self:
        told = self.p_rhat_given_r
        _require(len(told) == len(self.question.labels), "the law has other rows than labels")
        _require(_is_table(told, self.n_letters), "the law has other columns than letters")
        own = [each for each in self.holdings if each.parties == (self.party,)]
        _require(len(own) == 1, "the party's own holding is missing")
        return self

    @property
    def n_letters(self) -> int:
        """Columns of the integer channel."""
        return len(self.letters)


class IntentRecord(ReleaseRecord):
    """A release, recorded before the first letter is drawn; its integer channel is the payload.

    Attributes:
        next_state: state after it, [m, letter]; -1 where that cannot occur.
        draw: which random numbers it uses, see ``draw_of``.
        merges: letters that became one.
        everyone_labels: of every letter (y, rhat) of all parties together, -1 where it cannot
            occur; letters with the same label are one. ``None`` where they become the states.
    """

    next_state: list[list[Annotated[int, Field(ge=-1)]]]
    draw: str
    merges: tuple[MergeRecord, ...]
    everyone_labels: Letters | None

    @model_validator(mode="after")
    def _has_tables_of_one_size(self) -> Self:
        states = self.next_state
        _require(_is_table(states, self.n_letters), "the states have other columns than letters")
        # States are numbered without gaps. A larger number would allocate unused states.
        n_moves = len(states) * self.n_letters
        _require(all(state < n_moves for row in states for state in row), "unknown states")
        merged = [frozenset(each.parties) for each in self.merges]
        _require(len(set(merged)) == len(merged), "letters of a coalition are merged twice")
        return self

    @property
    def transition(self) -> Transition:
        """What it does to the memory."""
        merges = {frozenset(each.parties): each for each in self.merges}
        return Transition(
            np.array(self.next_state, dtype=np.intp),
            {who: np.array(each.labels, dtype=np.intp) for who, each in merges.items()},
            {who: each.slack for who, each in merges.items()},
            None if self.everyone_labels is None else np.array(self.everyone_labels, dtype=np.intp),
        )


class LaterMergeRecord(MergeRecord):
    """Letters that became one when what a coalition holds was followed again ([M] fact 16).

    Attributes:
        after: number of the release after which they did.
    """

    after: int


class CopyRecord(ReleaseRecord):
    """The letters of an earlier release, handed to one more party: nothing is drawn.

    Attributes:
        source: number of the earlier release.
        merges: of the coalitions of the party, followed again from the first release on.
    """

    source: int
    merges: tuple[LaterMergeRecord, ...]

    @model_validator(mode="after")
    def _merges_once(self) -> Self:
        merged = [(each.after, frozenset(each.parties)) for each in self.merges]
        _require(len(set(merged)) == len(merged), "letters of a coalition are merged twice")
        return self

    def copy_of(self, drawn: Sequence[int]) -> Copy:
        """What it does to what coalitions hold.

        Args:
            drawn: numbers of all releases before it that were drawn, in order.
        """
        merges: dict[int, dict[frozenset[str], Labels]] = {}
        slacks: dict[int, dict[frozenset[str], float]] = {}
        for each in self.merges:
            step, parties = drawn.index(each.after), frozenset(each.parties)
            merges.setdefault(step, {})[parties] = np.array(each.labels, dtype=np.intp)
            slacks.setdefault(step, {})[parties] = each.slack
        return Copy(drawn.index(self.source), merges, slacks)


class DeliveredRecord(Record):
    """A release's file was written; the digest is keyed and does not depend on the format."""

    intent: int
    digest: Digest
    file: str


class ErasureRecord(Record):
    """Records are to be erased; keyed hashes of their ids, sorted, are the payload.

    Of each record it has two: of the id, and of the normalised id, which is one for all spellings.
    The hashes prove to whoever has the key and an id that it was erased, and no more.

    Attributes:
        records: how many.
        is_correction: whether they are erased to join again with other values. Otherwise they are
            refused from now on.
    """

    records: Annotated[Count, Field(ge=1)]
    is_correction: bool


class ErasedCohortRecord(Record):
    """What an erasure has left of a cohort.

    Attributes:
        erased: how many records are gone.
        snapshot_digest: of the encoded table without them, keyed.
        snapshot_seal: of its files.
    """

    erased: Count
    snapshot_digest: Digest
    snapshot_seal: Digest


class ErasedRecord(Record):
    """The records of an erasure are gone.

    Attributes:
        erasure: number of the entry that recorded it.
        snapshot_digest: of the first cohort's table without them, keyed.
        snapshot_seal: of its files.
        later: the same of each later cohort.
        digests: number of each release that was delivered, and the digest of its file without
            them.
        registration: seal of the study's registration without them, see ``ledger.entry``.
    """

    erasure: int
    snapshot_digest: Digest
    snapshot_seal: Digest
    digests: tuple[tuple[int, Digest], ...]
    registration: Digest
    later: tuple[ErasedCohortRecord, ...] = ()

    def by_cohort(self, records: int) -> tuple[ErasedCohortRecord, ...]:
        """What is left of each cohort, ``records`` having been erased in all."""
        erased = records - sum(each.erased for each in self.later)
        first = ErasedCohortRecord(
            erased=erased, snapshot_digest=self.snapshot_digest, snapshot_seal=self.snapshot_seal
        )
        return (first, *self.later)


class RollbackRecord(Record):
    """The custodian accepted that entries of the ledger were lost, and that their bits are not
    counted any more.

    Attributes:
        entries: number and hash of entries that the folder, or a file, shows and the ledger lacks.
        states: names of state files of releases that the ledger lacks.
    """

    entries: tuple[tuple[int, str], ...]
    states: tuple[str, ...]


class ClosedRecord(Record):
    """The key was destroyed: no more releases."""

    releases: int


class SupersededRecord(Record):
    """A study of which nothing was released is made anew: no more releases.

    Attributes:
        successor: the study that takes its place.
    """

    successor: str


def _require(is_so: bool, otherwise: str) -> None:
    """For validators: the owner of the database can write any body and seal it."""
    if not is_so:
        raise ValueError(otherwise)


def _is_table(rows: Sequence[Sequence[object]], n_columns: int) -> bool:
    """Whether there are rows, all of a length above 0."""
    return bool(rows) and n_columns > 0 and all(len(row) == n_columns for row in rows)


def _has_number_each(record: ExternalRecord | QuestionRecord) -> bool:
    return record.numbers is None or len(record.numbers) == len(record.labels)
