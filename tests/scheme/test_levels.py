"""The worst level, ceilings and analysable releases, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

import tacit
from tacit.datasets import adult
from tacit.limits import Limit

GAP_TOL = 1e-6


def education(**options: object) -> tacit.scheme.Release:
    """Adult's education at 0.3 bit, without history."""
    scheme = tacit.Scheme.from_counts(adult().counts, ("education", "income", "age"))
    return scheme.release("education", party="a", individual=0.3, **options)


def test_the_mean_forgets_a_level_that_the_worst_level_keeps():
    mean, worst = education(), education(objective="worst-level", gap_tol=GAP_TOL)
    assert mean.value == pytest.approx(0.412, abs=5e-4)
    assert mean.solution.level_errors.max() == pytest.approx(1, abs=1e-4)
    assert worst.value == pytest.approx(0.436, abs=5e-4)
    assert worst.solution.level_errors == pytest.approx(worst.value, abs=1e-4)


def test_a_ceiling_lies_between_the_two():
    mean, capped = education(), education(ceilings={0: 0.6}, gap_tol=GAP_TOL)
    assert capped.solution.level_errors[0] <= 0.6 + 1e-9
    assert mean.value < capped.value < 0.436


def after_others(
    memory: int | None, limits: Sequence[tacit.Limit] = (), bits: float = 0.3
) -> tacit.Scheme:
    """Two releases that later ones may read."""
    attributes = ("education", "income", "age")
    scheme = tacit.Scheme.from_counts(adult().counts, attributes, memory=memory, limits=limits)
    scheme.release("income", party="a", individual=bits)
    scheme.release("age", party="b", individual=bits)
    return scheme


@pytest.mark.parametrize("memory", [None, 32])
def test_an_analysable_release_reads_only_what_was_asked(memory):
    scheme = after_others(memory)
    limits = {"individual": 0.2, "collusion": 0.6}
    adaptive = scheme.design("education", party="c", **limits)
    asked = scheme.release("education", party="c", analysable=True, **limits)
    assert asked.value >= adaptive.solution.value - GAP_TOL
    level = asked.variable.p_r_given_x.argmax(axis=1)
    for r in range(level.max() + 1):
        assert np.ptp(asked.channel[:, level == r], axis=(0, 1)).max() == 0
    assert np.ptp(adaptive.channel[:, level == 0], axis=(0, 1)).max() > 0.01


@pytest.mark.parametrize("memory", [None, 64, 2])
@pytest.mark.parametrize(
    "options", [{}, {"objective": "worst-level", "gap_tol": GAP_TOL}, {"utility": "shares"}]
)
def test_a_copy_of_an_analysable_release_is_free(memory, options):
    scheme = after_others(memory)
    wish = {"analysable": True, "individual": 0.2} | options
    first = scheme.release("education", party="c", **wish)
    scheme.release("income", party="d", individual=0.1)
    held = scheme.leakage()
    again = scheme.release("education", party="e", **wish)
    assert scheme.leakage() == pytest.approx(held, abs=1e-14)
    assert again.value == pytest.approx(first.value, abs=1e-9)
    assert scheme.steps[again.source].holders == {"c", "e"}
    assert again.p_rhat_given_r == pytest.approx(first.p_rhat_given_r, abs=1e-9)


@pytest.mark.parametrize("memory", [None, 64])
@pytest.mark.parametrize("cap", [inf, 4.0, 3.0])
def test_a_copy_is_free_where_limits_and_caps_on_coalitions_bind(memory, cap):
    """A new design would tell everyone 0.13 bits more, or a little less within the cap."""
    limits = [Limit("any 2", 0.35), Limit("everyone", 0.75, times=None if cap == inf else 2**cap)]
    scheme = after_others(memory, limits, bits=0.2)
    wish = {"analysable": True, "individual": 0.3}
    first = scheme.release("education", party="c", **wish)
    held, worst = scheme.leakage(), scheme.worst_answer()
    again = scheme.release("education", party="d", **wish)
    assert scheme.leakage({"c"}) < 0.2  # its own limit does not bind
    assert scheme.leakage() == pytest.approx(held, abs=1e-14)
    assert scheme.worst_answer() == pytest.approx(worst, abs=1e-14)
    assert again.value == pytest.approx(first.value, abs=1e-9)
    assert scheme.steps[again.source].holders == {"c", "d"}


def test_another_limit_is_no_copy():
    scheme = after_others(None)
    scheme.release("education", party="c", individual=0.2, analysable=True)
    held = scheme.leakage()
    scheme.release("education", party="e", individual=0.3, analysable=True)
    assert scheme.leakage() > held + 0.01


@pytest.mark.parametrize("memory", [None, 64])
def test_shares_after_another_utility_are_designed_anew(memory):
    """Letters that forget a level are no copy: they do not tell the shares."""
    scheme = after_others(memory)
    scheme.release("education", party="c", individual=0.2, analysable=True)
    held = scheme.leakage()
    asked = scheme.release(
        "education", party="e", individual=0.2, utility="shares", analysable=True
    )
    assert scheme.leakage() > held + 0.01
    assert np.linalg.matrix_rank(asked.p_rhat_given_r) == 4
    assert "/ n is the largest variance of a share" in repr(asked)


def test_what_reads_more_is_not_copied():
    """The letters of an adaptive release depend on more than what was asked."""
    scheme = after_others(None)
    scheme.release("education", party="c", individual=0.2, collusion=0.62)
    copied = scheme.design("education", party="e", individual=0.2, analysable=True)
    assert copied.source is None


def test_a_question_that_is_no_function_cannot_be_analysable():
    scheme = tacit.Scheme([0.5, 0.5])
    with pytest.raises(tacit.InvalidInputError, match="function of x"):
        scheme.release([[0.9, 0.1], [0.2, 0.8]], party="a", individual=0.1, analysable=True)


def test_a_symmetric_channel_has_no_objective():
    scheme = tacit.SymmetricScheme([0.5, 0.5])
    with pytest.raises(tacit.InvalidInputError, match="fixed form"):
        scheme.release(np.eye(2), party="a", individual=0.1, objective="worst-level")
