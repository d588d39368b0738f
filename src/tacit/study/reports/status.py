"""How a study stands: parties, coalitions, bits used and left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import inf
from typing import Any

import numpy as np

from tacit.accounting import Counts, other_rows_upper_bits
from tacit.auditing import Disclosure, may_disclose
from tacit.errors import InvalidInputError
from tacit.information import entropy
from tacit.information.laws import DIGITS, bits_down, bits_up, limit_in_words
from tacit.limits import (
    Kind,
    Limit,
    Parties,
    binding,
    bounds,
    coalition_name,
    whom_in_words,
)
from tacit.markup import html_table
from tacit.remark import Remark
from tacit.study.books.books import Books, Cohort
from tacit.study.disclosures import list_variables, recorded_disclosures
from tacit.study.reports.receipts import remarks_on_erased

_LEAST_SLACK = 10**-DIGITS
"""Bits. A smaller slack does not show in the figures."""

_LEAST_WORST_ANSWER_SLACK = 0.01
"""Bits of a worst answer: less is not worth a remark."""

_AUDITED = ("records_erased", "loose_caps")

FEW_RECORDS = 1_000
"""In a smaller table, everybody else's rows tell a person's more than a little."""

MOST_COALITIONS = 50
"""As many coalitions are listed, those nearest to their limit first."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What a coalition holds of its limit, in bits about one record; ``held`` is an upper bound.

    Attributes:
        parties: who pools what.
        name: for people.
        limit: what it may hold: the smallest limit on it or on a coalition around it.
        limited_by: on whom that limit was set.
        held: what it holds, at most.
        is_covered: whether ``held`` is that of everyone, for want of a closer bound.
        letters: how many answers, together, are told apart in what it holds; ``None`` where its
            law is not carried.
        slack: the truth is at most so far below ``held``: what merging letters added, or others'
            letters where the bound is that of others.
        worst_answer: bits of its worst single answer, at most: after any answer, no combination of
            levels is more than 2**bits times as likely as before.
        worst_answer_slack: bits by which that may be above the truth, at most.
        times: after any answer, no combination of levels may be more times as likely as before: the
            least on it or on a coalition around it; infinite for no limit.
        cohort: whom this is about.
    """

    parties: tuple[str, ...]
    name: str
    limit: float
    limited_by: str
    held: float
    is_covered: bool
    letters: int | None
    slack: float
    worst_answer: float
    worst_answer_slack: float
    times: float
    cohort: int

    @property
    def left(self) -> float:
        """What is left to it."""
        return max(0.0, self.limit - self.held)

    @property
    def slack_share(self) -> float:
        """The slack as a share of the limit."""
        return self.slack / self.limit if self.limit else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For machines; ``None`` for a limit that there is none of."""
        figures = {"limit": self.limit, "times": self.times, "left": self.left}
        finite = {name: None if bits == inf else bits for name, bits in figures.items()}
        return asdict(self) | finite | {"slack_share": self.slack_share}


@dataclass(frozen=True, slots=True)
class CohortStatus:
    """How a cohort stands: records that joined together.

    Attributes:
        number: from 1, in the order in which they joined.
        table: name of the table that they came in; ``None`` where it is not recorded.
        records: how many joined.
        erased: how many of them were erased.
        corrected: how many of them were erased in an earlier cohort, and joined again.
        entropy_bits: H(X), all there is to learn about one of them.
        releases: how many were recorded.
        parties: what every party holds about one of them.
        coalitions: the same of limited coalitions, nearest to the limit first.
        coalitions_left_out: how many more there are.
    """

    number: int
    table: str | None
    records: int
    erased: int
    corrected: int
    entropy_bits: float
    releases: int
    parties: tuple[Holding, ...]
    coalitions: tuple[Holding, ...]
    coalitions_left_out: int

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {
            "parties": [each.as_dict() for each in self.parties],
            "coalitions": [each.as_dict() for each in self.coalitions],
        }


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """How a study stands.

    Attributes:
        study: its id.
        records: how many joined, in all cohorts.
        erased: how many of them were erased.
        corrected: how many of these were erased before, and joined again.
        entropy_bits: H(X), all there is to learn about a record; of the cohort with the most.
        parties: every party, in the order in which they joined, in the cohort where least is left
            to it.
        coalitions: limited coalitions of parties that hold something, each in the cohort where
            least is left to it, nearest to the limit first.
        coalitions_left_out: how many more there are.
        cohorts: the same of each cohort.
        releases: how many were recorded.
        disclosures: levels that few records have and that parties or limited coalitions can tell,
            most complete first.
        undelivered: releases that are recorded but whose file was never written.
        head: number and hash of the last entry.
        is_closed: whether the key was destroyed.
        remarks: on entries that the ledger has lost, limits that protect nothing, and those that
            hold parties down.
    """

    study: str
    records: int
    erased: int
    corrected: int
    entropy_bits: float
    parties: tuple[Holding, ...]
    coalitions: tuple[Holding, ...]
    coalitions_left_out: int
    cohorts: tuple[CohortStatus, ...]
    releases: int
    disclosures: tuple[Disclosure, ...]
    undelivered: tuple[int, ...]
    head: tuple[int, str]
    is_closed: bool
    remarks: tuple[Remark, ...]

    def as_table(self, caption: str) -> str:
        """What every party and coalition holds of its limit, in HTML."""
        rows = [
            (each.name, bits_up(each.held), limit_in_words(each.limit), bits_down(each.left))
            for each in (*self.parties, *self.coalitions)
        ]
        return html_table(caption, ("bits about one record", "held", "limit", "left"), rows)

    @property
    def audit_remarks(self) -> tuple[Remark, ...]:
        """The remarks without which the figures of an audit would be misread."""
        return tuple(each for each in self.remarks if each.code in _AUDITED)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {
            "parties": [each.as_dict() for each in self.parties],
            "coalitions": [each.as_dict() for each in self.coalitions],
            "cohorts": [each.as_dict() for each in self.cohorts],
            "remarks": [each.as_dict() for each in self.remarks],
        }


@dataclass(frozen=True, slots=True)
class SmallCell:
    """A combination of levels that few records have.

    Attributes:
        levels: of the private attributes.
        records: how many have them.
        external: name and level of an external column that they have, too; ``None`` where the
            private attributes alone are few.
        cohort: whom they are of.
    """

    levels: tuple[str, ...]
    records: int
    external: tuple[str, str] | None
    cohort: int

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def small_cells(books: Books, below: int) -> list[SmallCell]:
    """Combinations of private levels, and of these with a level of an external column, that fewer
    records than ``below`` have, and any: first the private ones, each kind the smallest first.
    """
    if below < 0:
        raise InvalidInputError(f"cells with fewer than {below} records: give 0, for none, or more")
    return [cell for each in books.by_cohort for cell in _small_cells(each, below)]


def _small_cells(books: Books, below: int) -> list[SmallCell]:
    """Those of a cohort."""
    cohort, labels = books.cohort.number, [each.labels for each in books.created.attributes]
    cells = [SmallCell(levels, n, None, cohort) for levels, n in _few(books.counts, labels, below)]
    for name, question in books.externals.items():
        cells += [
            SmallCell(tuple(levels), n, (name, level), cohort)
            for (*levels, level), n in _few(question.counts, [*labels, question.labels], below)
        ]
    return cells


def _few(
    counts: Counts, labels: Sequence[tuple[str, ...]], below: int
) -> list[tuple[tuple[str, ...], int]]:
    """Levels of the entries between 0 and ``below``, and these, the smallest first."""
    table = counts.reshape([len(names) for names in labels])
    found = [
        (tuple(names[code] for names, code in zip(labels, codes, strict=True)), int(table[*codes]))
        for codes in np.argwhere((table > 0) & (table < below))
    ]
    return sorted(found, key=lambda each: each[1])


def table_remarks(books: Books) -> list[Remark]:
    """What a custodian should know of the table that a cohort came in."""
    remarks = [Remark("external_column", {"column": name}) for name in books.externals]
    n_records = books.cohort.record.records
    if np.count_nonzero(books.counts) == 1:
        remarks.append(Remark("all_alike", {"records": n_records}))
    elif n_records < FEW_RECORDS:
        others_bits = other_rows_upper_bits(books.counts, None)
        remarks.append(Remark("few_records", {"records": n_records, "others_bits": others_bits}))
    return remarks


def read_status(study: str, books: Books, lost: Sequence[Remark] = ()) -> StudyStatus:
    """How the books stand.

    Args:
        study: the study's id.
        books: what its ledger says.
        lost: remarks on entries that the ledger has lost.
    """
    views = books.by_cohort
    parties = tuple(
        min((_holding(each, frozenset({party})) for each in views), key=lambda each: each.left)
        for party in books.titles
    )
    by_cohort = [_coalitions(each) for each in views]
    worst: dict[tuple[str, ...], Holding] = {}
    for holding in sorted((each for those in by_cohort for each in those), key=_nearest):
        worst.setdefault(holding.parties, holding)
    holdings = list(worst.values())
    undelivered = [each.entry.number for each in books.releases.values() if each.delivery is None]
    cohorts = tuple(map(_cohort_status, views, by_cohort))
    return StudyStatus(
        study=study,
        records=sum(each.records for each in cohorts),
        erased=books.n_erased,
        corrected=sum(each.corrected for each in cohorts),
        entropy_bits=max(each.entropy_bits for each in cohorts),
        parties=parties,
        coalitions=tuple(holdings[:MOST_COALITIONS]),
        coalitions_left_out=len(holdings[MOST_COALITIONS:]),
        cohorts=cohorts,
        releases=len(books.releases),
        disclosures=recorded_disclosures(views),
        undelivered=tuple(undelivered),
        head=(books.head.number, books.head.hash),
        is_closed=books.is_closed,
        remarks=(
            *lost,
            *unfollowed(books, [*parties, *holdings]),
            *([Remark("rollback_accepted")] if books.accepted else []),
            *reset_remarks(books.cohorts),
            *erasure_remarks(books),
            *limits_too_high(books, books.limits),
            *limits_below_own(books, books.titles),
            *loose_bounds([*parties, *holdings]),
            *loose_caps([*parties, *holdings]),
        ),
    )


def _coalitions(books: Books) -> list[Holding]:
    """What limited coalitions hold in a cohort, nearest to the limit first."""
    limited = [each for each in bounds(books.limits, books.holders) if len(each) > 1]
    return sorted((_holding(books, coalition) for coalition in limited), key=_nearest)


def _nearest(holding: Holding) -> tuple[float, int, tuple[str, ...]]:
    # Not by digits that nobody is shown: the last ones depend on the machine.
    return round(holding.left, DIGITS), len(holding.parties), holding.parties


def _cohort_status(books: Books, coalitions: list[Holding]) -> CohortStatus:
    cohort = books.cohort
    return CohortStatus(
        number=cohort.number,
        table=cohort.record.table,
        records=cohort.record.records,
        erased=cohort.n_erased,
        corrected=cohort.corrected,
        entropy_bits=entropy(books.p_x),
        releases=len(books.intents),
        parties=tuple(_holding(books, frozenset({party})) for party in books.titles),
        coalitions=tuple(coalitions[:MOST_COALITIONS]),
        coalitions_left_out=len(coalitions[MOST_COALITIONS:]),
    )


def reset_remarks(cohorts: Iterable[Cohort]) -> list[Remark]:
    """That other studies have some of the same ids, which was accepted."""
    studies = {each.study: each.model_dump() for one in cohorts for each in one.record.known_in}
    return [Remark("reset_accepted", {"studies": list(studies.values())})] if studies else []


def erasure_remarks(books: Books) -> list[Remark]:
    """That records were erased, or are still to be."""
    unfinished = books.unfinished_erasure
    records = 0 if unfinished is None else len(unfinished.id_hashes)
    return [
        *remarks_on_erased(books.n_erased, books.n_left),
        *([Remark("erasure_unfinished", {"records": records})] if records else []),
    ]


def loose_bounds(holdings: Sequence[Holding]) -> list[Remark]:
    """A remark on coalitions of which less may be held than is shown, the loosest by name."""
    loose = [each for each in holdings if each.slack >= _LEAST_SLACK]
    if not loose:
        return []
    most = max(loose, key=lambda each: each.slack)
    values = {"coalitions": len(loose), "most": most.name, "slack": most.slack}
    return [Remark("loose_bounds", values | {"slack_share": most.slack_share})]


def unfollowed(books: Books, holdings: Sequence[Holding]) -> list[Remark]:
    """A remark on coalitions that may be able to name more people than is known.

    What they hold is only bounded, and the bound on their worst answer does not rule it out.
    """
    names = []
    for each in holdings:
        if each.slack >= _LEAST_SLACK:
            cohort = books.look_at(each.cohort)
            if may_disclose(each.worst_answer, cohort.p_x, list_variables(cohort)):
                names.append(each.name)
    return [Remark("unfollowed", {"coalitions": names})] if names else []


def loose_caps(holdings: Sequence[Holding]) -> list[Remark]:
    """A remark on capped coalitions whose worst answer may tell less than is shown."""
    loose = [
        each
        for each in holdings
        if each.times < inf and each.worst_answer_slack >= _LEAST_WORST_ANSWER_SLACK
    ]
    if not loose:
        return []
    most = max(loose, key=lambda each: each.worst_answer_slack)
    values = {"coalitions": len(loose), "most": most.name, "slack": most.worst_answer_slack}
    return [Remark("loose_caps", values)]


def limits_too_high(books: Books, limits: Iterable[Limit]) -> list[Remark]:
    """Remarks on limits above all there is to learn about a record of some cohort, and on times
    that no answer about a record of any cohort could reach.
    """
    least = min(books.by_cohort, key=lambda each: entropy(each.p_x))
    most = max(1 / each.p_x[each.p_x > 0].min() for each in books.with_records)
    where = {} if least.cohort_shown is None else {"cohort": least.cohort_shown}
    remarks = []
    for limit in limits:
        on = {"limited_by": limit.whom.in_words}
        if limit.bits is not None and limit.bits >= entropy(least.p_x):
            values = on | {"bits": limit.bits, "entropy_bits": entropy(least.p_x)} | where
            remarks.append(Remark("limit_too_high", values))
        if limit.times is not None and limit.times >= most:
            values = on | {"times": limit.times, "most_times": float(most)}
            remarks.append(Remark("cap_too_high", values))
    return remarks


def limits_below_own(books: Books, parties: Iterable[str]) -> list[Remark]:
    """Remarks on limits on coalitions that leave parties less than their own, in bits or times."""
    kinds: tuple[Kind, ...] = ("bits", "times")
    held_down: dict[tuple[Kind, Limit], list[str]] = {}
    for party, kind in product(parties, kinds):
        own = books.own_limit(party)
        [lowest, *_] = binding(books.limits, frozenset({party}), kind)
        if lowest.amount(kind) < own.amount(kind) < inf:
            held_down.setdefault((kind, lowest), []).append(party)
    remarks = []
    for (kind, limit), names in held_down.items():
        values = {"limited_by": limit.whom.in_words, kind: limit.amount(kind), "parties": names}
        if kind == "bits":
            remarks.append(Remark("limit_below_own", values))
        else:
            remarks.append(Remark("cap_below_own", values))
    return remarks


def _holding(books: Books, coalition: Parties) -> Holding:
    holding, bound = books.holding(coalition), books.least_on(*coalition)
    return Holding(
        tuple(sorted(coalition)),
        coalition_name(coalition, books.holders),
        bound.bits,
        whom_in_words(binding(books.limits, coalition)),
        holding.bits,
        holding.is_covered and coalition != books.holders,
        holding.letters,
        holding.slack or 0.0,
        holding.worst_answer or 0.0,
        holding.worst_answer_slack or 0.0,
        bound.times,
        books.cohort.number,
    )
