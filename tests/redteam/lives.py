"""Whole lives of studies, made up by Hypothesis: after every step every promise is checked.

A step is what a custodian does: limits, requests, copies, quotes, records that join, change or are
erased, backups and losses. After it, the ledger is replayed without tacit (``replay``), ``verify``
has to find everything as recorded, and what parties were given has to be what they are given again.
``python -m tests.redteam.lives SEED`` lives longer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from math import ceil, inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tacit.errors import CapError, InfeasibleError, InvalidInputError
from tests.redteam.custodian import Custodian, Request, Table, adults
from tests.redteam.replay import replay

TOLD_APART = 2048
"""Letters of a view that the replay keeps apart: enough to decide on every cap."""

LENGTHS = settings(
    max_examples=6,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
LONG = settings(
    LENGTHS,
    max_examples=10,
    stateful_step_count=40,
    derandomize=False,
    database=None,
    phases=[Phase.generate],  # a fault is told at once, with all steps
)


MOST_COHORTS = 4
MOST_AT_ONCE = 5
"""Records that join, change or are erased in one step."""

TABLES = {
    "one record has a level": Table(
        ("level", "outside"), 1, [("rare", "yes"), *[("usual", "yes"), ("usual", "no")] * 9], {}
    ),
    "every row many times, a column with one exception": Table(
        ("one", "two", "same"),
        2,
        [*[("a", 0, "same"), ("b", 1, "same"), ("b", 2, "same")] * 8, ("b", 2, "other")],
        {"two": (0, 1)},
    ),
    "nearly the same column twice": Table(
        ("one", "two"), 2, [*[("a", "p"), ("b", "q")] * 12, ("a", "q")], {}
    ),
    "adults": adults(1500, at_least=1),
}

PARTIES = ("lab-a", "lab-b", "lab-c")
BITS = st.sampled_from((0.05, 0.2, 0.4, 0.9, 3.0))
TIMES = st.sampled_from((inf, inf, 1.25, 2.0, 5.5))
COALITIONS = ("everyone", "any 2", "+".join(PARTIES[:2]), "+".join(PARTIES[1:]))
ASKED_BITS = st.sampled_from((None, 0.01, 0.05, 0.3))
SOME = st.lists(st.integers(0, 999), min_size=1, max_size=MOST_AT_ONCE)
ANY = st.integers(0, 999)
"""Which of some things; of which there are as many as there are then."""


class Life(RuleBasedStateMachine):
    """A study, what it has to remember, and what must never happen."""

    def __init__(self) -> None:
        super().__init__()
        self.place = TemporaryDirectory()
        self.parties: set[str] = set()  # that were let in
        self.limited: set[str] = set()  # coalitions that have a limit
        self.values: dict[str, tuple[object, ...]] = {}  # of everybody who ever joined
        self.cohorts: list[set[str]] = []  # who is left in each
        self.given: dict[Request, dict[int, bytes]] = {}  # by the number of the cohort
        self.backups: list[tuple[Path, int, int]] = []  # with the entries and cohorts then
        self.is_checked = True
        self.custodian: Custodian

    @initialize(
        name=st.sampled_from(sorted(TABLES)),
        memory=st.sampled_from((1, 3, 8)),
        is_id_public=st.booleans(),
    )
    def begin(self, name: str, memory: int, is_id_public: bool) -> None:
        table = TABLES[name]
        self.values = {f"p{number}": values for number, values in enumerate(table.rows)}
        self.cohorts = [set(self.values)]
        self.custodian = Custodian(
            Path(self.place.name), table, self.values, memory=memory, is_id_public=is_id_public
        )
        for party in PARTIES[:2]:
            self.let_in(party, 0.5, inf)

    # -- limits -----------------------------------------------------------------------------

    @rule(party=st.sampled_from(PARTIES), bits=BITS, times=TIMES)
    def let_in(self, party: str, bits: float, times: float) -> None:
        self.raise_until_kept(party, bits, times)
        self.parties.add(party)

    @rule(whom=st.sampled_from(COALITIONS), bits=st.one_of(BITS, st.just(inf)), times=TIMES)
    def limit(self, whom: str, bits: float, times: float) -> None:
        named = set(whom.split("+")) & set(PARTIES)
        if not named <= self.parties:
            with pytest.raises(InvalidInputError, match="is unknown"):
                self.attempt(self.custodian.limit, whom, 1.0, inf)
        elif min(bits, times) < inf:
            self.raise_until_kept(whom, bits, times)
            self.limited.add(whom)
        elif whom in self.limited:
            self.attempt(self.custodian.limit, whom, inf, inf)
            self.limited.remove(whom)

    def raise_until_kept(self, whom: str, bits: float, times: float) -> None:
        """Set a limit; a refusal says how large it has to be, and no refusal says it twice.

        Another one may follow, of another limit.
        """
        while True:
            try:
                return self.attempt(self.custodian.limit, whom, bits, times)
            except CapError as error:
                least = ceil(2**error.held_bits * 1e6) / 1e6
                assert least > times
                times = least
            except InfeasibleError as error:
                least = max(1e-6, ceil(error.held_bits * 1e6) / 1e6)
                assert least > bits
                bits = least

    # -- requests ---------------------------------------------------------------------------

    @rule(which=ANY, column=ANY, form=ANY, bits=ASKED_BITS)
    def ask(self, which: int, column: int, form: int, bits: float | None) -> None:
        self.request(self.some_request(which, column, form, bits))

    @rule(which=ANY, column=ANY, form=ANY, bits=ASKED_BITS)
    def quote(self, which: int, column: int, form: int, bits: float | None) -> None:
        before = self.custodian.n_entries()
        with suppress(InfeasibleError):
            self.custodian.quote(self.some_request(which, column, form, bits))
        assert self.custodian.n_entries() == before

    @precondition(lambda self: self.given)
    @rule(which=ANY, party=ANY)
    def ask_what_another_asked(self, which: int, party: int) -> None:
        earlier = some(list(self.given), which)
        asker = some(sorted(self.parties), party)
        self.request(Request(asker, earlier.asked, earlier.sql, None, earlier.utility))

    @precondition(lambda self: self.given)
    @rule(which=ANY)
    def ask_the_same_again(self, which: int) -> None:
        """What was answered is answered again, and only for new cohorts something is spent."""
        self.request(some(list(self.given), which))

    def some_request(self, which: int, column: int, form: int, bits: float | None) -> Request:
        table = self.custodian.table
        party = some(sorted(self.parties), which)
        private = table.columns[: table.private]
        if form % 4 == 0:
            name = some(private, column)
            level = table.rows[0][private.index(name)]
            cut = table.cuts.get(name)
            return Request(
                party, None, f"{name} > {cut[0]}" if cut else f"{name} = '{level}'", bits
            )
        if form % 4 == 1 and len(private) > 1:
            return Request(party, private, None, bits)
        name = some(table.columns, column)
        return Request(
            party,
            (name,),
            None,
            bits,
            utility="absolute" if name in table.cuts else "hamming",
            objective="worst-level" if form % 3 == 0 else "mean",
            analysable=form % 5 == 0 and name in private,
        )

    def request(self, request: Request) -> None:
        try:
            files = self.attempt(self.custodian.release, request)
        except InfeasibleError as error:
            self.take_advice(request, error)
        else:
            self.receive(request, files)

    def take_advice(self, request: Request, error: InfeasibleError) -> None:
        """A refusal is of something new, and what it suggests helps."""
        assert not self.inhabited <= self.given.get(request, {}).keys()
        why = self.custodian.why_no_help(request, error)
        assert why is None, why

    def receive(self, request: Request, files: dict[int, bytes]) -> None:
        """Nobody is in the files who was erased, and who was answered before has the same bytes."""
        names = {person: person for person in self.left}
        if not self.custodian.is_id_public:
            names = self.custodian.pseudonyms(request.party, sorted(self.values))
            assert sorted(names) == self.left
        for number, content in files.items():
            here = {names[person] for person in self.cohorts[number - 1]}
            assert set(records_of(content)) == here
            if number in self.given.get(request, {}):
                header, *lines = self.given[request][number].splitlines(keepends=True)
                kept = (line for line in lines if line.partition(b",")[0].decode() in here)
                assert content == b"".join((header, *kept))
        self.given[request] = files

    def attempt(self, act: Callable[..., Any], *arguments: object) -> Any:
        """Do something that a limit may refuse; then nothing is recorded."""
        before = self.custodian.n_entries()
        self.is_checked = False
        try:
            return act(*arguments)
        except InfeasibleError:
            assert self.custodian.n_entries() == before
            raise

    # -- records ----------------------------------------------------------------------------

    @property
    def left(self) -> list[str]:
        return sorted(set().union(*self.cohorts))

    @property
    def inhabited(self) -> set[int]:
        """Numbers of the cohorts in which somebody is left."""
        return {number for number, cohort in enumerate(self.cohorts, 1) if cohort}

    @precondition(lambda self: len(self.cohorts) < MOST_COHORTS)
    @rule(rows=SOME)
    def extend(self, rows: list[int]) -> None:
        self.join(self.drawn(rows, (f"p{len(self.values) + n}" for n in range(len(rows)))))

    @precondition(lambda self: len(self.cohorts) < MOST_COHORTS)
    @rule(people=SOME, rows=SOME)
    def correct(self, people: list[int], rows: list[int]) -> None:
        """Others' rows are as they were: of these nothing changes."""
        corrected = self.drawn(rows, (some(self.left, each) for each in people))
        n_private = self.custodian.table.private
        changed = {
            name: values
            for name, values in corrected.items()
            if values[:n_private] != self.values[name][:n_private]
        }
        self.custodian.extend(corrected, corrects=True)
        self.is_checked = False
        self.joined(changed)

    @precondition(lambda self: len(self.left) < len(self.values))
    @precondition(lambda self: len(self.cohorts) < MOST_COHORTS)
    @rule(people=SOME, rows=SOME)
    def let_in_again(self, people: list[int], rows: list[int]) -> None:
        """Who was erased joins only if the custodian names them."""
        erased = sorted(self.values.keys() - set(self.left))
        returning = self.drawn(rows, (some(erased, each) for each in people))
        before = self.custodian.n_entries()
        for corrects in (False, True):
            with suppress(InvalidInputError):
                self.custodian.extend(returning, corrects=corrects)
            assert self.custodian.n_entries() == before
        self.join(returning, readmit=sorted(returning))

    def drawn(self, rows: list[int], names: Iterable[str]) -> dict[str, tuple[object, ...]]:
        """Records with values that others have."""
        table = self.custodian.table.rows
        return {name: some(table, row) for name, row in zip(names, rows, strict=False)}

    def join(self, rows: dict[str, tuple[object, ...]], **how: Any) -> None:
        self.custodian.extend(rows, **how)
        self.is_checked = False
        self.joined(rows)

    def joined(self, rows: dict[str, tuple[object, ...]]) -> None:
        for cohort in self.cohorts:
            cohort.difference_update(rows)
        self.cohorts += [set(rows)] if rows else []
        self.values |= rows

    @precondition(lambda self: len(self.left) > MOST_AT_ONCE)
    @rule(people=SOME)
    def erase(self, people: list[int]) -> None:
        names = {some(self.left, each) for each in people}
        self.custodian.erase(sorted(names))
        self.is_checked = False
        for cohort in self.cohorts:
            cohort.difference_update(names)

    # -- the folder -------------------------------------------------------------------------

    @rule()
    def back_up(self) -> None:
        file = self.custodian.back_up(f"backup-{len(self.backups)}")
        self.backups.append((file, self.custodian.n_entries(), len(self.cohorts)))

    @precondition(lambda self: self.backups)
    @rule(which=ANY)
    def restore(self, which: int) -> None:
        """An older backup will do where the ledger is left, unless records have joined since."""
        file, n_entries, n_cohorts = some(self.backups, which)
        is_newest = n_entries == self.custodian.n_entries()
        if n_cohorts == len(self.cohorts):
            self.custodian.lose_and_restore(file, keeps_ledger=not is_newest)
            self.is_checked = False

    # -- every promise, after every step ------------------------------------------------------

    @invariant()
    def is_as_promised(self) -> None:
        if not self.is_checked:
            found = replay(self.custodian.folder, most_seen=TOLD_APART)
            assert not found.faults, found.faults
            assert not found.undecided
            problems = self.custodian.problems()
            assert not problems, problems
            self.is_checked = True

    def teardown(self) -> None:
        """A life that went well ends: without the key all is still verifiable."""
        with self.place:
            if self.cohorts:
                with closing(self.custodian):
                    if self.is_checked:
                        self.custodian.destroy_key()
                        assert self.custodian.problems() == []


def some(things: Any, which: int) -> Any:
    """One of some things."""
    return things[which % len(things)]


def records_of(content: bytes) -> list[str]:
    """Names of records in a release's file, its first column."""
    return [line.partition(b",")[0].decode() for line in content.splitlines()[1:]]


def main(number: int) -> None:
    """Live for long; a fault ends it, with the steps that led there."""
    run_state_machine_as_test(seed(number)(Life), settings=LONG)


if __name__ == "__main__":
    main(int(sys.argv[1]))
