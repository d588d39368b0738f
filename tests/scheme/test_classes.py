"""Classes of cells: results on them equal results on cells ([M] fact 10)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from tacit.accounting import Account
from tacit.limits import Limit
from tacit.sampling import IntegerChannel
from tacit.scheme.bounded_memory import BoundedMemory
from tacit.scheme.history import ExactHistory
from tacit.scheme.views import class_rows, class_sums, parent_classes, refine_classes
from tests.strategies import channels

GAP_TOL = 1e-7
NEAR = 1e-6
"""Values of two solutions within ``GAP_TOL``, and what rounding makes of them later."""

POLICY = [Limit("everyone", 0.9), Limit("any 2", 0.6)]
REQUESTS = (("education", "a"), ("income", "b"), ("education", "a"), ("age", "c"))


def counts() -> np.ndarray:
    table = np.random.default_rng(0).integers(1, 40, size=(3, 2, 4))
    table[0, 1] = 0
    return table


@given(st.data())
def test_cells_share_a_class_where_they_shared_one_and_their_rows_agree(data):
    n_x = data.draw(st.integers(1, 6))
    drawn = data.draw(st.lists(st.integers(0, 2), min_size=n_x, max_size=n_x))
    before = np.unique(drawn, return_inverse=True)[1]
    rows = data.draw(channels(n_x))
    weights = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n_x, max_size=n_x)))
    after = refine_classes(before, rows, weights)
    for x in range(n_x):
        is_same_row = (rows == rows[x]).all(axis=1) & (weights > 0)
        alike = (before == before[x]) & (is_same_row if weights[x] else weights == 0)
        assert np.array_equal(after == after[x], alike)
    assert np.array_equal(parent_classes(before, after)[after], before)
    occurs = weights > 0
    assert np.array_equal(class_rows(after, rows)[after][occurs], rows[occurs])


def test_classes_that_were_told_apart_are_never_joined():
    with pytest.raises(tacit.InvalidInputError, match="1 classes of 3 cells do not refine the 2"):
        parent_classes(np.array([0, 1, 1]), np.array([0, 0, 0]))
    with pytest.raises(tacit.InvalidInputError, match="2 classes of 2 cells do not refine"):
        parent_classes(np.array([0, 1, 1]), np.array([0, 1]))


@pytest.mark.parametrize("memory", [None, 8])
def test_releases_on_classes_are_those_on_cells(memory):
    on_classes = tacit.Scheme.from_counts(
        counts(), ("education", "income", "age"), limits=POLICY, memory=memory
    )
    p_x = on_classes.p_x
    cells = ExactHistory.start(p_x) if memory is None else BoundedMemory.start(p_x, memory, POLICY)
    on_cells = tacit.Scheme.resume(p_x, cells, (), POLICY)
    for asked, party in REQUESTS:
        options = {"party": party, "individual": 0.4, "gap_tol": GAP_TOL}
        mine = on_classes.release(asked, **options)
        theirs = on_cells.release(mine.variable.p_r_given_x, **options)
        assert mine.value == pytest.approx(theirs.value, abs=NEAR)
        assert theirs.table.shape[1] == len(p_x)
    assert [step.table.shape[1] for step in on_classes.steps] == [
        4,
        6,
        6,
        21,
    ]  # one without records
    for parties in (None, {"a"}, {"b"}, {"c"}, {"a", "b"}):
        assert on_classes.leakage(parties) == pytest.approx(on_cells.leakage(parties), abs=1e-3)
    law = on_classes.law({"a"})
    assert law.sum(axis=0) == pytest.approx(p_x)
    assert tacit.mutual_information(law) == pytest.approx(on_classes.leakage({"a"}), abs=1e-12)


def test_what_is_held_is_the_same_on_finer_classes():
    table = counts().reshape(-1)
    rng = np.random.default_rng(1)
    coarse = np.repeat(np.arange(3), 8)
    account = Account.start(table, 6, POLICY, coarse)
    whole = Account.start(table, 6, POLICY)
    for party in "aba":
        rows = rng.dirichlet(np.ones(3), size=(len(account.memory.mass), 3))
        account, transition = account.after(party, IntegerChannel.quantised(rows))
        whole, _ = whole.after(party, IntegerChannel.quantised(rows[:, coarse]), transition)
    refined = account.refine(np.arange(24))
    for parties in map(frozenset, ("a", "b", "ab")):
        assert account.upper_bits(parties) == pytest.approx(whole.upper_bits(parties), abs=1e-11)
        assert refined.upper_bits(parties) == pytest.approx(whole.upper_bits(parties), abs=1e-11)
    assert refined.memory.mass == pytest.approx(whole.memory.mass)
    assert class_sums(coarse, refined.memory.mass[0]) == pytest.approx(account.memory.mass[0])


def test_a_hundred_thousand_cells_are_as_many_classes_as_were_asked_about():
    table = np.random.default_rng(2).integers(0, 9, size=(4, 5, 5, 10, 100))
    scheme = tacit.Scheme.from_counts(table, tuple("abcde"), memory=8)
    scheme.release("a", party="p", individual=0.2)
    release = scheme.release("b", party="q", individual=0.2)
    assert release.table.shape == (4, 21, 5)  # one without records
    assert release.table.nbytes < 2**12
    assert release.channel.shape == (4, 100_000, 5)
