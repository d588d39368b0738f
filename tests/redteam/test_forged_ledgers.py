"""A ledger that somebody forged and sealed ends in problems or in one line, never in a raw error.

The long version is ``python -m tests.redteam.forger --cases 5000``.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tacit.errors import CorruptLedgerError
from tacit.study import Study, verify_study
from tests.redteam.forger import (
    SECONDS,
    Forgery,
    Row,
    bomb,
    little_memory,
    looked_at,
    make_originals,
    try_case,
)
from tests.words import in_words

SAMPLE = 120


@pytest.fixture(scope="module")
def forgeries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Forgery]]:
    """A study that is open and one that is closed, with ledgers to replace."""
    made = [Forgery(folder) for folder in make_originals(tmp_path_factory.mktemp("forged"))]
    yield made
    for forgery in made:
        forgery.close()


def test_the_originals_are_whole(forgeries: list[Forgery]) -> None:
    for forgery in forgeries:
        assert forgery.write(forgery.rows)
        assert looked_at(forgery.folder) == ("whole", "")


@pytest.mark.slow
def test_no_forged_ledger_ends_in_a_raw_error(forgeries: list[Forgery]) -> None:
    with little_memory():
        tried = [try_case(forgeries[case % 2], 1, case) for case in range(SAMPLE)]
    outcomes = [each for each in tried if each is not None]
    assert len(outcomes) > 0.9 * SAMPLE
    assert [each for each in outcomes if each.verdict == "raw"] == []
    assert max(each.seconds for each in outcomes) < SECONDS


def edited(rows: list[Row], kind: str, edit: Callable[[Any], object]) -> list[Row]:
    """Rows with another body in the first entry of a kind."""
    k = next(n for n, row in enumerate(rows) if row.kind == kind)
    tree = rows[k].tree
    edit(tree)
    return [*rows[:k], rows[k].with_tree(tree), *rows[k + 1 :]]


HOSTILE: dict[str, tuple[str, Callable[[Any], object]]] = {
    "an OverflowError": ("created", lambda body: body.update(counts=[10**30] * 12)),
    "a ZeroDivisionError": ("created", lambda body: body.update(counts=[0] * 12, records=0)),
    "counts below 0": ("created", lambda body: body["counts"].__setitem__(0, -1)),
    "a memory of nothing": ("created", lambda body: body.update(memory=0)),
    "cells that no attribute has": ("created", lambda body: body.update(counts=[120])),
    "an external column of other records": (
        "created",
        lambda body: body["externals"]["outcome"]["counts"].__setitem__(0, [9, 9]),
    ),
    "a state of a billion": ("intent", lambda body: body["next_state"][0].__setitem__(0, 10**9)),
    "no letters": ("intent", lambda body: body.update(letters=[])),
    "letters that no cell has": ("intent", lambda b: b["question"].update(letter_of_cell=[7] * 12)),
    "a measure that is none": ("intent", lambda body: body["measure"].update(kind="vibes")),
    "no holding of its own": ("intent", lambda body: body.update(holdings=[])),
    "a limit below 0": ("limit", lambda body: body.update(bits=-1)),
    "a limit on nobody": ("limit", lambda body: body.update(whom="")),
    "a coalition with a stranger": (
        "limit",
        lambda body: body.update(whom="lab-a+lab-x", title=None),
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_fields_are_found_and_not_opened(forgeries: list[Forgery], what: str) -> None:
    forgery = forgeries[0]
    assert forgery.write(edited(forgery.rows, *HOSTILE[what]))
    found = verify_study(forgery.folder)
    assert not found.is_whole
    assert all("\n" not in problem for problem in in_words(found.problems))
    with pytest.raises(CorruptLedgerError), Study.open(forgery.folder) as study:
        study.status()


def test_a_payload_that_inflates_without_end_is_a_problem(forgeries: list[Forgery]) -> None:
    forgery = forgeries[0]
    k = next(n for n, row in enumerate(forgery.rows) if row.kind == "intent")
    payload = bomb(64)
    assert forgery.write(
        [*forgery.rows[:k], replace(forgery.rows[k], payload=payload), *forgery.rows[k + 1 :]]
    )
    tracemalloc.start()
    try:
        found = verify_study(forgery.folder)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert "its shape is" in in_words(found.problems)[0]


def test_a_release_that_a_closed_study_never_made_is_found(forgeries: list[Forgery]) -> None:
    """Its hashes are new, and no key was kept for them."""
    forgery = forgeries[1]
    assert forgery.write(
        [replace(row, time="2020-01-01T00:00:00.000000+00:00") for row in forgery.rows]
    )
    assert any("not there when" in each for each in in_words(verify_study(forgery.folder).problems))
