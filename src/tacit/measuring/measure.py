"""What any files tell each party, and any that pool them, about a secret of the people in them.

No trust in anybody's noise is needed, and no study. Two kinds of figures stand beside each other:
by joint counts of the table itself, which overfit (at most so much is told), and by a learner that
was trained on other people (at least so much is told).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.information import entropy
from tacit.measuring.files import (
    ABSENT,
    HeldFile,
    Labels,
    Mask,
    People,
    fold,
    read_held,
    read_people,
    shown_as,
)
from tacit.measuring.learner import MOST_PEOPLE, predict_out_of_fold, right_among_surest
from tacit.remark import Remark
from tacit.similar_names import nearest_first

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.tables import Column
    from tacit.tables.sources.source import AnyTable

EVERYONE = "everyone"

SHARES = (0.5, 0.9, 1.0)
"""How sure counts are of a level, in ``Coalition.over``."""

_CURVE = np.linspace(0, 1, 101)

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Over:
    """People about whom counts are sure of a level, and the known columns alone were not.

    Attributes:
        at_least: how sure.
        people: how many, in groups of ``min_cell`` people or more.
        by_chance: how many where the secret is shuffled among people whose known columns agree.
        learner_right: share of ``people`` whose secret the learner guesses right; ``None`` where it
            was not asked or there is nobody.
    """

    at_least: float
    people: int
    by_chance: int
    learner_right: float | None


@dataclass(frozen=True, slots=True)
class Coalition:
    """What parties that pool their files can tell about the people in these.

    Shares are of the people in the files; what depends on a learner is ``None`` without one.

    Attributes:
        whom: the parties.
        people: how many of the table are in their files.
        alone: people whom somebody who truly knows their known columns matches to one row.
        small: the same with fewer rows than ``min_cell``.
        guess_before: share whose secret is guessed right from the known columns alone, out of fold.
        guess: the same with the files.
        guess_at_most: the same by counts, which overfit.
        surest_before: ``guess_before`` among the 5 % that the learner is surest of.
        surest: ``guess`` among the 5 % that it is surest of with the files.
        over: people about whom counts are sure.
        bits_at_least: about the secret, from known columns and files, by the learner's log loss.
        bits_at_most: the same by counts.
        right_before: hundredths of people -> how probable the known columns alone make the truth.
        right: the same with the files.
    """

    whom: str
    people: int
    alone: int
    small: int
    guess_before: float | None
    guess: float | None
    guess_at_most: float
    surest_before: float | None
    surest: float | None
    over: tuple[Over, ...]
    bits_at_least: float | None
    bits_at_most: float
    right_before: tuple[float, ...] | None
    right: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Measured:
    """What files tell about a secret.

    Attributes:
        secret: its column.
        levels: how many it has.
        known: columns that others are taken to know.
        people: in the table.
        min_cell: fewer rows than this are few.
        coalitions: each party, then those that pool.
        remarks: what the custodian should know about the files.
    """

    secret: str
    levels: int
    known: tuple[str, ...]
    people: int
    min_cell: int
    coalitions: tuple[Coalition, ...]
    remarks: tuple[Remark, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        rows = [asdict(each) for each in self.coalitions]
        said = [each.as_dict() for each in self.remarks]
        return own | {"known": [*self.known], "coalitions": rows, "remarks": said}

    def to_arrow(self) -> pa.Table:
        """A row for each coalition."""
        import pyarrow as pa

        return pa.Table.from_pylist([asdict(each) for each in self.coalitions])

    def __repr__(self) -> str:
        """One line for each coalition, without the curves."""
        rows = []
        for each in self.coalitions:
            guess = "" if each.guess is None else f", guess {each.guess:.3f}"
            rows.append(
                f"  {each.whom}: {each.people:,} people, {each.alone:,} alone, {each.small:,} in "
                f"groups under {self.min_cell}{guess}"
            )
        return "\n".join([f"Measured(secret={self.secret!r}, {self.people:,} people)", *rows])


def measure(
    people: AnyTable,
    *,
    id: str,  # noqa: A002 - the name that custodians know
    secret: str | Column,
    held: Mapping[str, AnyTable | Sequence[AnyTable]],
    known: Sequence[str] = (),
    same: Mapping[str, Mapping[str, str]] | None = None,
    link: Mapping[str, AnyTable] | None = None,
    pool: Sequence[str] | None = None,
    ids_shown: bool = False,
    min_cell: int = 10,
    learner: bool = True,
    progress: Progress | None = None,
) -> Measured:
    """Measure what files that are out tell about a secret. Writes nothing.

    Parties that pool are taken to know which rows of their files are of one person.

    Args:
        people: the custodian's table, a row for each person.
        id: the column that tells people apart, in the table and in every file without a link.
        secret: the column that must not be found out; a ``Column`` where it needs fewer levels.
        held: party -> its file, or several.
        known: columns of the table that others may know already.
        same: party -> column of its file -> the known column that it stands for, where the name
            differs.
        link: party -> a table of keys, for files that name people otherwise.
        pool: coalitions to look at beside each party, as ``"lab-a+lab-b"``; by default every pair,
            and everyone.
        ids_shown: whether the parties see whose row is whose.
        min_cell: fewer rows than this are few.
        learner: whether to train one (scikit-learn; on at most 50,000 people).
        progress: called with what is done and the share that is.
    """
    known = (known,) if isinstance(known, str) else tuple(known)
    report = progress or (lambda what, share: None)
    whoms = _coalitions([*held], pool)
    _check_parties("same", same or {}, held)
    _check_parties("link", link or {}, held)
    table = read_people(people, id, secret, known)
    files: list[HeldFile] = []
    for whom, given in held.items():
        report(f"reading {whom}", 0.3 * len(files) / len(held))
        of_party: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
        for each in of_party:
            keys = (link or {}).get(whom)
            files.append(read_held(table, whom, each, keys, (same or {}).get(whom, {})))
    findings = []
    before: dict[bytes, Array] = {}
    for k, (whom, parties) in enumerate(whoms):
        report(f"measuring {whom}", 0.3 + 0.7 * k / len(whoms))
        own = [each for each in files if each.whom in parties]
        findings.append(_look(table, whom, own, ids_shown, min_cell, learner, before))
    report("measured", 1.0)
    return Measured(
        table.secret,
        len(table.levels),
        known,
        len(table.ids),
        min_cell,
        tuple(findings),
        tuple(_remarks(files)),
    )


def _coalitions(
    parties: Sequence[str], pool: Sequence[str] | None
) -> list[tuple[str, frozenset[str]]]:
    """Each party, then who pools: name and parties."""
    if not parties:
        raise InvalidInputError("no file is given: say who holds what, as in lab-a=2019.csv")
    for party in parties:
        if "+" in party or party == EVERYONE or not party.strip():
            raise InvalidInputError(f"{party!r} cannot be a party's name: use one as in lab-a")
    named = [frozenset({party}) for party in parties]
    if pool is None:
        named += map(frozenset, combinations(parties, 2))
        named += [frozenset(parties)] if len(parties) > 2 else []
    for text in pool or ():
        members = parties if text == EVERYONE else text.split("+")
        for member in members:
            if member not in parties:
                raise InvalidInputError(
                    f"{text!r} names {member!r}, who holds no file (parties: "
                    f"{nearest_first(member, parties)})"
                )
        named.append(frozenset(members))
    in_order = [(tuple(each for each in parties if each in one), one) for one in named]
    names = {
        one: EVERYONE if len(shown) == len(parties) > 2 else "+".join(shown)
        for shown, one in in_order
    }
    return [(name, one) for one, name in names.items()]


def _check_parties(what: str, given: Mapping[str, object], held: Mapping[str, object]) -> None:
    for party in given:
        if party not in held:
            raise InvalidInputError(
                f"{what} names {party!r}, who holds no file (parties: {nearest_first(party, held)})"
            )


def _look(
    people: People,
    whom: str,
    files: Sequence[HeldFile],
    ids_shown: bool,
    min_cell: int,
    has_learner: bool,
    before: dict[bytes, Array],
) -> Coalition:
    """What a coalition can tell with its files."""
    has = np.any([each.has for each in files], axis=0)
    everybody = np.zeros(len(people.level), dtype=np.int64)
    known = fold([everybody, *people.known.values()])
    held = fold([known, *(each.row for each in files)])
    matches = _matches(people, files, has)
    alone, small = (
        int(has.sum() if ids_shown else np.count_nonzero((matches > 0) & (matches < below)))
        for below in (2, min_cell)
    )
    n_levels = len(people.levels)
    level = people.level[has]
    counts = _Counts.of(held[has], level, n_levels)
    predicted: Array | None = None
    figures: dict[str, Any] = dict.fromkeys(
        ("guess_before", "guess", "surest_before", "surest", "bits_at_least"), None
    ) | {"right_before": None, "right": None}
    sample = np.flatnonzero(has)
    if has_learner:
        if len(sample) > MOST_PEOPLE:
            drawn = np.random.default_rng(0).choice(len(sample), MOST_PEOPLE, replace=False)
            sample = sample[np.sort(drawn)]
        truth, seen = people.level[sample], sample.tobytes()
        own = [(people.known[name][sample], name in people.ordered) for name in people.known]
        if seen not in before:  # the same for all coalitions whose files are about the same people
            before[seen] = predict_out_of_fold(own, truth, n_levels)
        told = [
            (column[sample], name in each.ordered)
            for each in files
            for name, column in each.columns.items()
        ]
        predicted = predict_out_of_fold([*own, *told], truth, n_levels)
        figures = _by_learner(before[seen], predicted, truth, n_levels)
    return Coalition(
        whom=whom,
        people=len(level),
        alone=alone,
        small=small,
        guess_at_most=float(counts.most.sum() / len(level)),
        bits_at_most=max(0.0, counts.bits),
        over=tuple(_over(people, known, held, has, min_cell, sample, predicted)),
        **figures,
    )


def _by_learner(before: Array, after: Array, truth: Labels, n_levels: int) -> dict[str, Any]:
    rows = np.arange(len(truth))
    true_before, true_after = before[rows, truth], after[rows, truth]
    own_bits = entropy(np.bincount(truth, minlength=n_levels) / len(truth))
    return {
        "guess_before": float((before.argmax(axis=1) == truth).mean()),
        "guess": float((after.argmax(axis=1) == truth).mean()),
        "surest_before": right_among_surest(before, truth),
        "surest": right_among_surest(after, truth),
        "bits_at_least": max(0.0, own_bits + float(np.log2(true_after).mean())),
        "right_before": tuple(np.quantile(true_before, _CURVE).tolist()),
        "right": tuple(np.quantile(true_after, _CURVE).tolist()),
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """People of each group of those about whom the same is held.

    Attributes:
        total: how many.
        most: how many have the most frequent level.
        bits: I(level; group).
    """

    total: Labels
    most: Labels
    bits: float

    @staticmethod
    def of(group: Labels, level: Labels, n_levels: int) -> _Counts:
        n_groups = int(group.max()) + 1
        pairs, times = np.unique(group * n_levels + level, return_counts=True)
        total = np.bincount(group, minlength=n_groups)
        most = np.zeros(n_groups, dtype=np.int64)
        np.maximum.at(most, pairs // n_levels, times)
        n = len(level)
        occurs = total[total > 0]
        own = entropy(np.bincount(level, minlength=n_levels) / n)
        # H(level | group) from H(level, group) and H(group)
        joint = -float((times / n * np.log2(times / n)).sum())
        return _Counts(total, most, own - joint - float((occurs / n * np.log2(occurs / n)).sum()))

    def sure_of(self, group: Labels, share: float, least: int) -> Mask:
        """Who is in a group of at least so many, of whom at least a share have one level."""
        is_sure = (self.total >= least) & (self.most >= share * self.total)
        return np.asarray(is_sure[group])


def _over(
    people: People,
    known: Labels,
    held: Labels,
    has: Mask,
    min_cell: int,
    sample: Labels,
    predicted: Array | None,
) -> Iterator[Over]:
    """People of the files about whom counts are sure, and the known columns alone were not."""
    n_levels = len(people.levels)
    # Shuffled among people whose known columns agree: what is left is what chance makes.
    in_order = np.argsort(known, kind="stable")
    mixed = np.lexsort((np.random.default_rng(0).random(len(known)), known))
    shuffled = np.empty_like(people.level)
    shuffled[in_order] = people.level[mixed]
    for share in SHARES:
        sure = []
        for level in (people.level, shuffled):
            before = _Counts.of(known, level, n_levels).sure_of(known, share, 1)
            after = _Counts.of(held[has], level[has], n_levels).sure_of(held[has], share, min_cell)
            sure.append(after & ~before[has])
        is_over = np.zeros(len(known), dtype=bool)
        is_over[has] = sure[0]
        right = None
        if predicted is not None and is_over[sample].any():
            guessed = predicted.argmax(axis=1) == people.level[sample]
            right = float(guessed[is_over[sample]].mean())
        yield Over(share, int(sure[0].sum()), int(sure[1].sum()), right)


def _matches(people: People, files: Sequence[HeldFile], has: Mask) -> Labels:
    """How many of the pooled rows agree with each person's true known columns; 0 for those whose
    own row does not, and for who is in no file.
    """
    shown = [(each.has, each.columns[name]) for each in files for name in each.stands_for]
    truly = [
        shown_as(people, each.columns[name], known)
        for each in files
        for name, known in each.stands_for.items()
    ]
    matches = np.zeros(len(has), dtype=np.int64)
    is_right = has.copy()
    for (is_in, column), expected in zip(shown, truly, strict=True):
        is_right &= ~is_in | (column == expected)
    # Rows of people who are in the same files show the same columns.
    pattern = fold([each.has.astype(np.int64) for each in files])
    for number in np.unique(pattern[has]):
        rows = has & (pattern == number)
        visible = [
            (column[rows], expected[is_right])
            for (is_in, column), expected in zip(shown, truly, strict=True)
            if is_in[rows].any()
        ]
        if not visible:
            matches[is_right] += int(rows.sum())
            continue
        together = fold([np.concatenate(both) for both in visible])
        n_rows = int(rows.sum())
        times = np.bincount(together[:n_rows], minlength=int(together.max()) + 1)
        matches[is_right] += times[together[n_rows:]]
    return matches


def _remarks(files: Sequence[HeldFile]) -> Iterator[Remark]:
    for each in files:
        if each.strangers:
            yield Remark("held_strangers", {"file": each.shown, "rows": each.strangers})
        for column, rows in each.disagreeing.items():
            if rows:
                known = each.stands_for[column]
                yield Remark(
                    "held_disagrees",
                    {"file": each.shown, "column": column, "known": known, "rows": rows},
                )
        constant = [
            name
            for name, column in each.columns.items()
            if len(np.unique(column[column != ABSENT])) == 1
        ]
        if len(constant) == len(each.columns):
            yield Remark("held_constant", {"file": each.shown})
    for one, other in combinations(files, 2):
        if one.columns.keys() == other.columns.keys() and all(
            np.array_equal(column, other.columns[name]) for name, column in one.columns.items()
        ):
            yield Remark("held_twice", {"file": other.shown, "same_as": one.shown})
