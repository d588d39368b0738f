"""Disclosed time-sharing that the engine chooses, through ledger, file and estimate.

A disclosed mixture is one channel with letters (t, rhat). Where letters are free, as in a study,
the engine seeks among all channels, these included, and merges letters that tell the same of R,
which loses nothing and leaks no more: a study never needs t. With two letters it does: that design
is recorded here in the place of the draft.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tacit import Problem, Solution, TimeSharing, estimate_file, solve
from tacit.sampling import IntegerChannel
from tacit.study import Study
from tacit.study.books.books import Request
from tacit.study.books.records import Measure
from tacit.study.entry_kinds import read_books
from tacit.study.requests.draft import Draft, draft
from tests.cli.clinic import done
from tests.study.clinic import entries_of, read_release, record_draft

COUNTS = {"a": (135, 0), "b": (30, 60), "c": (60, 75), "d": (9, 36)}
"""Group -> records whose answer is against, and for."""

BITS = 0.5

LEAST_MARGIN = 0.002
"""Bits: more than ten times what the engine's search asks of letters (5e-5)."""


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Study]:
    """A survey; one party holds 0.6 bits about the groups already."""
    rows = [
        (group, answer)
        for group, counts in COUNTS.items()
        for answer, count in zip(("against", "for"), counts, strict=True)
        for _ in range(count)
    ]
    with (tmp_path / "survey.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("person", "group", "answer"))
        writer.writerows((f"p{number:04d}", *row) for number, row in enumerate(rows))
    with Study.create(
        tmp_path / "survey",
        str(tmp_path / "survey.csv"),
        id="person",
        private=["group"],
        external=["answer"],
        everyone=0.78,
        ledger="folder",
    ) as made:
        made.set_party("first", 0.6)
        made.set_party("second", BITS)
        made.release("first", "group", out=tmp_path / "first.csv", bits=0.6)
        yield made


def test_two_letters_share_time_from_the_engine_to_the_estimate(
    survey: Study, tmp_path: Path
) -> None:
    drafted = drafted_with_two_letters(tmp_path / "survey")
    solution = drafted.design.solution
    assert solution.time_sharing is TimeSharing.DISCLOSED
    assert min(solution.weights) > 0.05
    n_shares = len(solution.weights)
    record_draft(tmp_path / "survey", drafted)
    for name in ("second.parquet", "second.csv"):
        out = tmp_path / name
        survey.release("second", "answer", out=out, utility="information", bits=BITS)
        names, rows = read_release(out)
        assert names == ["record", "rhat", "t"]
        assert {t for *_, t in rows} == {str(t) for t in range(n_shares)}
        assert {rhat for _, rhat, _ in rows} <= {"1", "2"}
        assert_estimated(out)
    assert survey.verify().problems == ()


@pytest.mark.slow
def test_the_study_does_better_with_more_letters_than_two_that_share_time(
    survey: Study, tmp_path: Path
) -> None:
    shared = drafted_with_two_letters(tmp_path / "survey")
    assert shared.design.solution.time_sharing is TimeSharing.DISCLOSED
    out = tmp_path / "second.csv"
    released = survey.release("second", "answer", out=out, utility="information", bits=BITS)
    made = survey.receipt(released.entry)
    assert made.value > shared.value + LEAST_MARGIN
    assert made.bound is not None
    assert made.bound >= made.value
    names, rows = read_release(out)
    assert names == ["record", "rhat"]
    assert len({rhat for _, rhat in rows}) > 2
    assert_estimated(out)
    assert survey.verify().problems == ()


def assert_estimated(file: Path) -> None:
    """The estimate reads all columns, and its interval holds the truth (errors: 1e-9)."""
    n_for, n_all = sum(count for _, count in COUNTS.values()), sum(map(sum, COUNTS.values()))
    found = {level.level: level for level in estimate_file(file, confidence=1 - 1e-9).levels}
    assert found["for"].low <= n_for / n_all <= found["for"].high
    assert found["for"].high - found["for"].low < 0.9
    said = done("estimate", file, "--json").json
    assert {level["level"] for level in said["levels"]} == {"against", "for"}


def drafted_with_two_letters(folder: Path) -> Draft:
    """The draft of the request, designed again by the engine with two letters."""
    books = read_books(entries_of(folder))
    wish = Request("second", books.externals["answer"], Measure.of_utility("information"), BITS)
    drafted = draft(books, wish)
    free = drafted.design.solution
    assert free.time_sharing is TimeSharing.NONE
    solution = solved_with_two_letters(free.problem)
    assert solution.value <= free.value + 1e-6
    channel = IntegerChannel.quantised(solution.channel)
    after, transition = drafted.before.after("second", channel)
    law = wish.told_law(drafted.before, channel)
    return replace(
        drafted,
        design=replace(drafted.design, solution=solution, table=solution.channel),
        channel=channel,
        told=transition,
        after=after,
        law=law,
        value=wish.utility.value(law),
    )


def solved_with_two_letters(problem: Problem) -> Solution:
    return solve(replace(problem, rhat_size=2))
