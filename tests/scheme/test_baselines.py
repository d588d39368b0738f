"""The baselines: what they promise holds, what they do not promise is measured exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import tacit
from tacit.limits import Limit
from tacit.scheme import NonAdaptiveScheme, Scheme, SymmetricScheme
from tacit.solution import Status
from tests.oracles import mutual_information_bits

GAP_TOL = 1e-6
"""Asked of every design; the default of ``Scheme.release``."""

ROUNDING = 1e-12
"""Bits: sums of some tens of terms."""

NAMES = ("colour", "size")
BASELINES = (NonAdaptiveScheme, SymmetricScheme)


def counts() -> np.ndarray:
    return np.random.default_rng(3).integers(1, 40, size=(3, 4))


def noisy_request() -> np.ndarray:
    return np.random.default_rng(5).dirichlet(np.ones(3), size=12)


def told_bits(scheme: Scheme, channel: np.ndarray) -> float:
    """I(Rhat; X) of a channel [x, rhat], by brute force."""
    return mutual_information_bits((scheme.p_x[:, None] * channel).T)


@pytest.mark.parametrize("kind", BASELINES)
def test_each_release_is_designed_alone(kind: type[Scheme]) -> None:
    scheme = kind.from_counts(counts(), NAMES)
    first = scheme.release("colour", party="a", individual=0.3)
    scheme.release("size", party="b", individual=0.4)
    again = scheme.release("colour", party="c", individual=0.3)
    assert isinstance(scheme, kind)
    assert again.value == first.value
    assert again.channel.shape == (12, 12, 3)
    assert (again.channel == first.channel[0]).all()


@pytest.mark.parametrize("kind", BASELINES)
def test_cumulative_leakage_is_that_of_independent_releases(kind: type[Scheme]) -> None:
    scheme = kind.from_counts(counts(), NAMES)
    for party, asked in zip("abc", ("colour", "size", "colour"), strict=True):
        scheme.release(asked, party=party, individual=0.3)
    one, two, three = (release.channel[0] for release in scheme.history)
    joint = np.einsum("x,xa,xb,xc->abcx", scheme.p_x, one, two, three)
    assert scheme.is_exact()
    assert scheme.leakage() == pytest.approx(mutual_information_bits(joint.reshape(-1, 12)))
    pair = joint.sum(axis=1).reshape(-1, 12)
    assert scheme.leakage({"a", "c"}) == pytest.approx(mutual_information_bits(pair))


@pytest.mark.parametrize("kind", BASELINES)
@pytest.mark.parametrize("individual", [0.0, 1e-3, 0.2, 0.7])
def test_the_individual_limit_holds(kind: type[Scheme], individual: float) -> None:
    scheme = kind.from_counts(counts(), NAMES)
    release = scheme.release("size", party="a", individual=individual)
    assert told_bits(scheme, release.channel[0]) <= individual + ROUNDING
    assert release.solution.leakage[()] <= individual + ROUNDING


@pytest.mark.parametrize("kind", BASELINES)
def test_collusion_limits_are_not_enforced(kind: type[Scheme]) -> None:
    limits = [Limit("everyone", 0.35)]
    scheme = kind.from_counts(counts(), NAMES, limits=limits)
    for party in "aab":
        scheme.release("colour", party=party, individual=0.3, collusion=0.3)
    assert scheme.leakage() > 0.5
    assert scheme.leakage({"a"}) > 0.4  # the limit is on each release, not on what a party holds


@pytest.mark.parametrize("kind", BASELINES)
def test_bounded_memory_is_refused(kind: type[Scheme]) -> None:
    with pytest.raises(tacit.InvalidInputError, match="keeps the exact history"):
        kind.from_counts(counts(), NAMES, memory=8)


def test_non_adaptive_is_the_problem_without_history() -> None:
    scheme = NonAdaptiveScheme.from_counts(counts(), NAMES)
    scheme.release("colour", party="a", individual=0.3)
    law = noisy_request()
    release = scheme.release(law, party="b", utility="squared", individual=0.2)
    best = tacit.solve(tacit.Problem(scheme.p_x[:, None] * law, "squared", 0.2), gap_tol=GAP_TOL)
    assert release.solution.status is Status.OPTIMAL
    assert release.solution.gap is not None
    assert release.solution.gap <= GAP_TOL
    assert release.value == pytest.approx(best.value, abs=GAP_TOL)


def test_first_release_is_the_adaptive_one() -> None:
    adaptive, alone = (kind.from_counts(counts(), NAMES) for kind in (Scheme, NonAdaptiveScheme))
    ours = adaptive.release("size", party="a", individual=0.3, collusion=0.3)
    theirs = alone.release("size", party="a", individual=0.3, collusion=0.3)
    assert ours.value == pytest.approx(theirs.value, abs=GAP_TOL)
    assert adaptive.leakage() == pytest.approx(alone.leakage(), abs=1e-5)


def test_symmetric_channel_has_its_form_and_spends_its_limit() -> None:
    scheme = SymmetricScheme.from_counts(counts(), NAMES)
    release = scheme.release("size", party="a", individual=0.5)
    channel = release.channel[0]
    size_of_x = np.indices((3, 4))[1].reshape(-1)
    right = channel[np.arange(12), size_of_x]
    assert right == pytest.approx(np.full(12, right[0]))
    assert np.sort(channel, axis=1)[:, :-1] == pytest.approx(np.full((12, 3), (1 - right[0]) / 3))
    assert release.solution.leakage[()] == pytest.approx(0.5, abs=1e-9)
    assert release.value == pytest.approx(1 - right[0])
    assert release.solution.status is Status.FIXED
    assert release.solution.gap is None


def test_symmetric_probability_by_another_root_finder() -> None:
    scheme = SymmetricScheme.from_counts(counts(), NAMES)
    law = np.eye(4)[np.indices((3, 4))[1].reshape(-1)]

    def excess(p: float) -> float:
        return told_bits(scheme, p * law + (1 - p) / 3 * (1 - law)) - 0.5

    release = scheme.release("size", party="a", individual=0.5)
    assert 1 - release.value == pytest.approx(brentq(excess, 0.25, 1.0, xtol=1e-14), abs=1e-9)


def test_symmetric_draws_the_letter_where_r_is_no_function_of_x() -> None:
    scheme = SymmetricScheme.from_counts(counts(), NAMES)
    law = noisy_request()
    release = scheme.release(law, party="a")
    assert release.channel[0] == pytest.approx(law)  # rows of a request are normalised
    agree = float((scheme.p_x[:, None] * law**2).sum())
    assert release.value == pytest.approx(1 - agree)


def test_symmetric_with_every_utility() -> None:
    scheme = SymmetricScheme.from_counts(counts(), NAMES)
    colour = scheme.release("colour", party="a", utility="information")
    assert colour.value == pytest.approx(tacit.entropy(counts().sum(axis=1)))
    assert scheme.release("size", party="b", utility="squared").value == 0.0
    with pytest.raises(tacit.InvalidInputError, match="square matrix"):
        scheme.release("size", party="c", utility=np.ones((3, 4)))
    assert len(scheme.history) == 2


def test_symmetric_tells_nothing_at_limit_zero() -> None:
    scheme = SymmetricScheme.from_counts(counts(), NAMES)
    release = scheme.release("size", party="a", individual=0.0)
    assert release.solution.leakage[()] == 0.0
    assert scheme.leakage() <= ROUNDING
    assert release.value == pytest.approx(0.75)
