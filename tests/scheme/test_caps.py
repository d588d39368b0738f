"""Caps: what a single answer may tell, against every answer counted out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from math import inf, log2

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tacit
from tacit.errors import CapError, InfeasibleError, InvalidInputError, UnconvergedError
from tacit.limits import Limit
from tacit.scheme import NonAdaptiveScheme, Scheme
from tests.strategies import weights

MET = 2e-9
"""Bits. Schemes are in double precision, and allow themselves 1e-9."""

VISITS = (("a", "age"), ("b", "sex"), ("a", "sex"), ("c", "age"), ("a", "age"))


def worst_answer(scheme: Scheme, parties: Collection[str]) -> float:
    """The largest log2 p(y | x) / p(y), every sequence of letters by itself."""
    p_x = scheme.p_x
    masses = {((), 0): p_x}
    for step in scheme.steps:
        grown: dict[tuple[tuple[int, ...], int], object] = defaultdict(float)
        for (seen, state), mass in masses.items():
            for letter, after in enumerate(step.next_state[state]):
                told = mass * step.channel[state, :, letter]
                if told.any():
                    own = (*seen, letter) if step.holders & {*parties} else seen
                    grown[own, int(after)] = grown[own, int(after)] + told
        masses = grown
    views: dict[tuple[int, ...], object] = defaultdict(float)
    for (seen, _), mass in masses.items():
        views[seen] = views[seen] + mass
    ratios = [
        mass[p_x > 0] / (mass.sum() * p_x[p_x > 0]) for mass in views.values() if mass.sum() > 1e-12
    ]
    return max(0.0, log2(max(ratio.max() for ratio in ratios)))


def made(
    counts: np.ndarray, limits: Sequence[Limit], memory: int | None, *, cap: float | None = None
) -> Scheme:
    """Five visits of three parties; what is refused is left out."""
    scheme = Scheme.from_counts(counts, ("age", "sex"), limits=limits, memory=memory)
    for visit, (party, asked) in enumerate(VISITS):
        try:
            scheme.release(asked, party=party, individual=0.2 + 0.1 * visit, cap=cap, gap_tol=1e-4)
        except (InfeasibleError, UnconvergedError):
            continue
    return scheme


@pytest.mark.slow
@given(
    counts=weights((3, 2)),
    caps=st.tuples(*[st.sampled_from([0.0, 0.3, 1.0, 2.0, inf])] * 3),
    memory=st.sampled_from([None, 2, 3, 6, 64]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_cap_is_kept_and_every_bound_is_true(
    counts: np.ndarray, caps: tuple[float, float, float], memory: int | None
) -> None:
    own, pair, everyone = caps
    limits = [Limit("everyone", 0.9, times=2**everyone if everyone < inf else None)]
    limits += [Limit("any 2", times=2**pair)] if pair < inf else []
    scheme = made(counts, limits, memory, cap=own)
    assume(scheme.steps)
    for party in scheme.parties:
        assert worst_answer(scheme, {party}) <= own + MET
        assert worst_answer(scheme, {party}) <= scheme.worst_answer({party}) + MET
        for other in scheme.parties:
            assert worst_answer(scheme, {party, other}) <= min(pair, everyone) + MET
    assert worst_answer(scheme, scheme.parties) <= everyone + MET
    assert worst_answer(scheme, scheme.parties) <= scheme.worst_answer() + MET


COUNTS = np.array([[20, 3], [1, 30], [9, 0]])


def test_the_exact_history_tells_the_worst_answer_exactly() -> None:
    scheme = made(COUNTS, [], None)
    for who in ({"a"}, {"b"}, {"a", "c"}, scheme.parties):
        assert scheme.worst_answer(who) == pytest.approx(worst_answer(scheme, who), abs=1e-9)


def test_a_merged_memory_bounds_it_from_above() -> None:
    """With so few states the bound is loose; it is never too small."""
    scheme = made(COUNTS, [], 3)
    assert not scheme.is_exact()
    assert worst_answer(scheme, scheme.parties) <= scheme.worst_answer() + MET
    assert scheme.worst_answer() <= log2(COUNTS.sum()) + MET  # some record is alone in its cell


def test_a_cap_of_0_tells_nothing() -> None:
    scheme = made(COUNTS, [], None, cap=0.0)
    assert len(scheme.history) == len(VISITS)
    assert scheme.leakage({"a"}) == pytest.approx(0, abs=1e-9)
    assert worst_answer(scheme, {"a"}) == pytest.approx(0, abs=MET)


def test_a_cap_without_bound_changes_nothing() -> None:
    plain, capped = made(COUNTS, [], 64), made(COUNTS, [], 64, cap=inf)
    high = made(COUNTS, [Limit("everyone", times=2 * COUNTS.sum())], 64)
    for one, two, three in zip(plain.steps, capped.steps, high.steps, strict=True):
        assert np.array_equal(one.table, two.table)
        assert np.array_equal(one.table, three.table)


def test_a_cap_holds_beside_a_limit_that_is_used_up() -> None:
    scheme = Scheme(COUNTS.reshape(-1), limits=[Limit("everyone", 0.2, times=2)])
    asked = np.repeat(np.eye(3), 2, axis=0)
    for visit in range(5):
        scheme.release(asked, party="ab"[visit % 2], individual=0.15, gap_tol=1e-4)
        assert scheme.leakage() <= 0.2 + 1e-9
        assert worst_answer(scheme, scheme.parties) <= 1.0 + MET


def test_a_cap_below_what_an_answer_told_is_refused() -> None:
    scheme = Scheme(COUNTS.reshape(-1))
    asked = np.repeat(np.eye(3), 2, axis=0)
    scheme.release(asked, party="a", individual=0.3)
    held = scheme.worst_answer({"a"})
    with pytest.raises(CapError, match="already has an answer") as refused:
        scheme.release(asked, party="a", individual=0.9, cap=0.5 * held)
    assert refused.value.coalition == ("a",)
    assert refused.value.held_bits == pytest.approx(held)
    assert len(scheme.steps) == 1


def test_only_coalitions_that_hold_are_capped() -> None:
    limits = [Limit("a+b", times=2**0.5)]
    scheme = made(COUNTS, limits, None)
    assert worst_answer(scheme, {"a", "b"}) <= 0.5 + MET
    assert worst_answer(scheme, {"c"}) > 0.5


def test_baselines_refuse_a_cap() -> None:
    with pytest.raises(InvalidInputError, match="keeps no caps"):
        NonAdaptiveScheme([1, 2]).release(np.eye(2), party="a", individual=0.1, cap=1.0)


def test_caps_bound_the_maximal_leakage() -> None:
    scheme = made(COUNTS, [], None, cap=0.7)
    law = scheme.law({"a"})
    assert law is not None
    assert tacit.maximal_leakage(law.T) <= 0.7 + MET
