"""Information quantities against closed forms, independent witnesses (dit, qif) and laws."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import dit
import numpy as np
import pytest
import qif
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import tacit.information as ti
from tacit.errors import InvalidInputError, TacitError
from tacit.information.laws import (
    entropy_terms,
    information_range_bits,
    information_upper_nats,
    xlogy,
)
from tests import strategies as own

# Sums of at most some 64 terms of magnitude near 1, each exact to a few units in the last place.
ROUNDING = 1e-12

HALF = [0.5, 0.5]
BINARY_SYMMETRIC = np.array([[0.9, 0.1], [0.1, 0.9]])

LEAKAGES = [
    ti.mutual_information,
    ti.min_entropy_leakage,
    ti.maximal_leakage,
    ti.local_dp_epsilon,
]
MEASURES = [*LEAKAGES, ti.bayes_vulnerability, ti.pointwise_maximal_leakage]


def joint_of(p_x, channel):
    return p_x[:, None] * channel


def is_at_most(smaller, larger):
    return smaller <= larger + ROUNDING


def binary_entropy(p):
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


SIZES = np.array([0.0, 5e-324, 1e-300, 1e-30, 1e-3, 0.25, 0.5, 1 - 1e-16, 1.0, 3.0, 1e10, 1e300])


def test_products_with_logarithms() -> None:
    x, y = np.meshgrid(SIZES, SIZES)
    np.testing.assert_allclose(xlogy(x, y), special.xlogy(x, y), rtol=ROUNDING)
    assert xlogy(0.0, 0.0) == 0.0
    assert xlogy(1.0, 0.0) == -math.inf
    np.testing.assert_allclose(xlogy(x, SIZES), special.xlogy(x, SIZES), rtol=ROUNDING)
    np.testing.assert_allclose(entropy_terms(SIZES), special.entr(SIZES), rtol=ROUNDING)


# --- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "bits"),
    [
        ([1.0], 0.0),
        ([0.0, 1.0, 0.0], 0.0),
        ([0.5, 0.25, 0.125, 0.125], 1.75),
        (np.full((2, 4), 1 / 8), 3.0),
        ([3, 1], binary_entropy(0.25)),
        ([1e308, 1e308], 1.0),
        ([5e-324, 5e-324], 1.0),
    ],
)
def test_entropy_closed_forms(p, bits):
    assert ti.entropy(p) == pytest.approx(bits, abs=ROUNDING)


def test_mutual_information_of_a_binary_symmetric_channel():
    expected = 1 - binary_entropy(0.1)
    assert ti.mutual_information(HALF, BINARY_SYMMETRIC) == pytest.approx(expected, abs=ROUNDING)


def test_mutual_information_of_an_erasure_channel():
    erasure = [[0.7, 0.3, 0], [0, 0.3, 0.7]]
    assert ti.mutual_information(HALF, erasure) == pytest.approx(0.7, abs=ROUNDING)


def test_conditional_mutual_information_of_exclusive_or():
    joint = np.zeros((2, 2, 2))
    for a, b in np.ndindex(2, 2):
        joint[a, b, a ^ b] = 0.25
    assert ti.mutual_information(joint.sum(axis=2)) == 0.0
    assert ti.conditional_mutual_information(joint) == pytest.approx(1.0, abs=ROUNDING)


def test_leakage_of_a_binary_symmetric_channel():
    args = (HALF, BINARY_SYMMETRIC)
    assert ti.bayes_vulnerability(*args) == pytest.approx(0.9, abs=ROUNDING)
    assert ti.min_entropy_leakage(*args) == pytest.approx(math.log2(1.8), abs=ROUNDING)
    assert ti.maximal_leakage(*args) == pytest.approx(math.log2(1.8), abs=ROUNDING)
    assert ti.pointwise_maximal_leakage(*args) == pytest.approx([math.log2(1.8)] * 2, abs=ROUNDING)
    assert ti.local_dp_epsilon(*args) == pytest.approx(math.log2(9), abs=ROUNDING)


def test_leakage_of_a_skewed_prior_through_a_z_channel():
    p_x, channel = [0.75, 0.25], [[1, 0], [0.5, 0.5]]
    # p(x, y) = [[6, 0], [1, 1]]/8 and p(y) = [7, 1]/8.
    assert ti.bayes_vulnerability(p_x, channel) == pytest.approx(7 / 8, abs=ROUNDING)
    assert ti.min_entropy_leakage(p_x, channel) == pytest.approx(math.log2(7 / 6), abs=ROUNDING)
    assert ti.maximal_leakage(p_x, channel) == pytest.approx(math.log2(1.5), abs=ROUNDING)
    expected = [math.log2(8 / 7), 2.0]
    assert ti.pointwise_maximal_leakage(p_x, channel) == pytest.approx(expected, abs=ROUNDING)
    assert ti.local_dp_epsilon(p_x, channel) == math.inf


@pytest.mark.parametrize("seed", range(40))
def test_a_chance_of_guessing_is_never_above_one(seed):
    rng = np.random.default_rng(seed)
    p_x = rng.dirichlet(np.ones(rng.integers(2, 9)))  # which may add up to more by rounding
    assert ti.bayes_vulnerability(np.diag(p_x)) <= 1.0
    assert ti.bayes_vulnerability(p_x, np.eye(len(p_x))) <= 1.0


def test_prior_vulnerability_is_that_of_a_channel_that_says_nothing():
    p_x = [0.2, 0.5, 0.3]
    assert ti.bayes_vulnerability(p_x) == pytest.approx(0.5, abs=ROUNDING)
    assert ti.bayes_vulnerability(p_x, [[1.0]] * 3) == pytest.approx(0.5, abs=ROUNDING)


def test_letters_that_cannot_occur_leak_nothing():
    channel = [[0.5, 0, 0.5], [0.5, 0, 0.5], [0, 1, 0]]
    p_x = [0.4, 0.6, 0.0]
    assert ti.pointwise_maximal_leakage(p_x, channel).tolist() == [0.0, -math.inf, 0.0]
    assert ti.local_dp_epsilon(p_x, channel) == 0.0
    assert ti.maximal_leakage(p_x, channel) == 0.0


def test_rows_of_probability_zero_need_not_be_laws():
    with_row, without = ([0.4, 0.6, 0], [*BINARY_SYMMETRIC, [0, 0]]), ([0.4, 0.6], BINARY_SYMMETRIC)
    for measure in MEASURES:
        np.testing.assert_array_equal(measure(*with_row), measure(*without))


def test_tiny_probabilities_neither_overflow_nor_vanish():
    p_x, channel = [1e-300, 1.0], [[1e-300, 1.0], [0.0, 1.0]]
    assert ti.mutual_information(p_x, channel) == 0.0
    expected = [300 * math.log2(10), 0.0]
    assert ti.pointwise_maximal_leakage(p_x, channel) == pytest.approx(expected)
    assert ti.pointwise_maximal_leakage([5e-324, 1], np.eye(2)).tolist() == [1074.0, 0.0]
    assert ti.local_dp_epsilon([0.5, 0.5], [[5e-324, 1], [1, 0]]) == math.inf
    assert ti.local_dp_epsilon([0.5, 0.5], [[5e-324, 1], [0.5, 0.5]]) == pytest.approx(1073.0)


# Each leaks nothing; the law of the last one sums to a little more than 1 in floats.
@pytest.mark.parametrize("counts", [[[7]], [[2, 3], [4, 6]], [[1] * 7] * 3, [[13], [14], [17]]])
def test_no_quantity_is_minus_zero_or_just_below_zero(counts):
    values = {measure.__name__: measure(counts) for measure in MEASURES}
    values["entropy"] = ti.entropy([0, 7])
    values["conditional"] = ti.conditional_mutual_information([counts, counts])
    for name, value in values.items():
        assert not np.signbit(value).any(), name


# --- independent witnesses ----------------------------------------------------------------------


@given(own.joints_zxr())
def test_dit_agrees_on_shannon_quantities(joint):
    witness = dit.Distribution.from_ndarray(joint)
    given_third = dit.multivariate.coinformation(witness, [[0], [1]], [2])
    assert ti.entropy(joint) == pytest.approx(dit.shannon.entropy(witness), abs=ROUNDING)
    assert ti.conditional_mutual_information(joint) == pytest.approx(given_third, abs=ROUNDING)
    pair = dit.shannon.mutual_information(witness, [0], [1])
    assert ti.mutual_information(joint.sum(axis=2)) == pytest.approx(pair, abs=ROUNDING)


@given(own.priors_and_channels())
def test_qif_agrees_on_leakage(prior_and_channel):
    p_x, channel = prior_and_channel
    bayes, shannon = qif.measure.bayes_vuln, qif.measure.shannon
    near = {"abs": ROUNDING, "rel": ROUNDING}
    assert ti.bayes_vulnerability(p_x) == pytest.approx(bayes.prior(p_x), **near)
    assert ti.bayes_vulnerability(p_x, channel) == pytest.approx(
        bayes.posterior(p_x, channel), **near
    )
    assert ti.min_entropy_leakage(p_x, channel) == pytest.approx(
        bayes.min_entropy_leakage(p_x, channel), **near
    )
    assert ti.mutual_information(p_x, channel) == pytest.approx(
        shannon.add_leakage(p_x, channel), **near
    )


@given(own.priors_and_channels())
def test_qif_agrees_on_measures_that_ignore_the_prior(prior_and_channel):
    p_x, channel = prior_and_channel
    occurring = np.ascontiguousarray(channel[p_x > 0])
    capacity_bits = math.log2(qif.measure.bayes_vuln.mult_capacity(occurring))
    assert ti.maximal_leakage(p_x, channel) == pytest.approx(capacity_bits, abs=ROUNDING)
    epsilon_nats = qif.measure.d_privacy.smallest_epsilon(occurring, qif.metric.discrete())
    epsilon_bits = epsilon_nats / math.log(2)
    assert ti.local_dp_epsilon(p_x, channel) == pytest.approx(epsilon_bits, abs=ROUNDING)


@given(own.priors_and_channels(), st.data())
def test_no_gain_function_gains_more_than_maximal_leakage(prior_and_channel, data):
    p_x, channel = prior_and_channel
    gain = data.draw(own.weights((data.draw(own.sizes()), p_x.size)))
    gain[:, p_x == 0] = 0
    if gain.any():
        leaked = math.log2(qif.measure.g_vuln.mult_leakage(gain, p_x, channel))
        assert is_at_most(leaked, ti.maximal_leakage(p_x, channel))


@given(own.priors_and_channels())
def test_guessing_rare_letters_attains_maximal_leakage(prior_and_channel):
    p_x, channel = prior_and_channel
    p_x, channel = p_x[p_x > 0], np.ascontiguousarray(channel[p_x > 0])
    leaked = math.log2(qif.measure.g_vuln.mult_leakage(np.diag(1 / p_x), p_x, channel))
    assert ti.maximal_leakage(p_x, channel) == pytest.approx(leaked, abs=ROUNDING)


# --- laws ---------------------------------------------------------------------------------------


@given(own.laws())
def test_entropy_lies_between_zero_and_that_of_equal_letters(p):
    assert ti.entropy(p) >= 0
    assert is_at_most(ti.entropy(p), math.log2(np.count_nonzero(p)))


@given(own.priors_and_channels())
def test_measures_are_ordered(prior_and_channel):
    p_x, channel = prior_and_channel
    maximal = ti.maximal_leakage(p_x, channel)
    pointwise = float(ti.pointwise_maximal_leakage(p_x, channel).max())
    mutual, guess = (
        ti.mutual_information(p_x, channel),
        ti.min_entropy_leakage(p_x, channel),
    )
    assert mutual >= 0
    assert guess >= 0
    assert is_at_most(mutual, maximal)
    assert is_at_most(guess, maximal)
    assert is_at_most(maximal, pointwise)
    assert is_at_most(pointwise, ti.local_dp_epsilon(p_x, channel))


@given(own.priors_and_channels())
def test_min_entropy_leakage_of_equal_letters_is_maximal_leakage(prior_and_channel):
    p_x, channel = prior_and_channel
    uniform = (p_x > 0) / np.count_nonzero(p_x)
    expected = ti.maximal_leakage(p_x, channel)
    assert ti.min_entropy_leakage(uniform, channel) == pytest.approx(expected, abs=ROUNDING)


@given(own.priors_and_channels())
def test_maximal_leakage_is_the_mean_of_pointwise_gains(prior_and_channel):
    p_x, channel = prior_and_channel
    mean = p_x @ channel @ np.exp2(ti.pointwise_maximal_leakage(p_x, channel))
    assert ti.maximal_leakage(p_x, channel) == pytest.approx(math.log2(mean), abs=ROUNDING)


@given(own.priors_and_channels(), st.data())
def test_processing_the_output_never_leaks_more(prior_and_channel, data):
    p_x, channel = prior_and_channel
    processed = channel @ data.draw(own.channels(channel.shape[1]))
    for measure in [*LEAKAGES, ti.bayes_vulnerability]:
        assert is_at_most(measure(p_x, processed), measure(p_x, channel)), measure.__name__
    before = ti.pointwise_maximal_leakage(p_x, channel).max()
    assert is_at_most(ti.pointwise_maximal_leakage(p_x, processed).max(), before)


@given(own.priors_and_channels(), st.data())
def test_relabelling_changes_nothing(prior_and_channel, data):
    p_x, channel = prior_and_channel
    x_order = data.draw(own.relabellings(p_x.size))
    y_order = data.draw(own.relabellings(channel.shape[1]))
    relabelled = p_x[x_order], channel[np.ix_(x_order, y_order)]
    for measure in [*LEAKAGES, ti.bayes_vulnerability]:
        expected = measure(p_x, channel)
        assert measure(*relabelled) == pytest.approx(expected, abs=ROUNDING), measure.__name__
    np.testing.assert_allclose(
        ti.pointwise_maximal_leakage(*relabelled),
        ti.pointwise_maximal_leakage(p_x, channel)[y_order],
        atol=ROUNDING,
    )


@given(own.priors_and_channels(), st.floats(1e-3, 1e6))
def test_joint_counts_and_prior_with_channel_are_one_law(prior_and_channel, scale):
    p_x, channel = prior_and_channel
    counts = scale * joint_of(p_x, channel)
    for measure in MEASURES:
        expected = measure(p_x, channel)
        np.testing.assert_allclose(measure(counts), expected, atol=ROUNDING, err_msg=repr(measure))


@given(own.joints_xr())
def test_mutual_information_is_symmetric_and_a_sum_of_entropies(joint):
    mutual = ti.mutual_information(joint)
    marginals = ti.entropy(joint.sum(axis=0)) + ti.entropy(joint.sum(axis=1))
    assert mutual == pytest.approx(marginals - ti.entropy(joint), abs=ROUNDING)
    assert mutual == pytest.approx(ti.mutual_information(joint.T), abs=ROUNDING)


@given(own.joints_z1z2xr())
def test_chain_rule(joint):
    joint_z1z2x = joint.sum(axis=3)
    n_x = joint_z1z2x.shape[2]
    together = ti.mutual_information(joint_z1z2x.reshape(-1, n_x))  # I(Z1, Z2; X)
    first = ti.mutual_information(joint_z1z2x.sum(axis=1))  # I(Z1; X)
    then = ti.conditional_mutual_information(joint_z1z2x.transpose(1, 2, 0))  # I(Z2; X | Z1)
    assert then >= 0
    assert together == pytest.approx(first + then, abs=ROUNDING)


@given(own.markov_joints_zxr())
def test_a_markov_chain_has_no_information_past_its_middle(joint):
    given_x = ti.conditional_mutual_information(joint.transpose(0, 2, 1))  # I(Z; R | X)
    assert given_x == pytest.approx(0, abs=ROUNDING)
    with_middle = ti.mutual_information(joint.sum(axis=2))
    assert is_at_most(ti.mutual_information(joint.sum(axis=1)), with_middle)


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.5, math.nan], r"p holds nan at index \(1,\): every entry must be a finite number"),
        ([[1, math.inf]], r"p holds inf at index \(0, 1\): every entry must be a finite number"),
        ([0.5, -0.25], r"p holds -0.25 at index \(1,\): no entry may be negative"),
        ([], r"p is empty \(shape \(0,\)\): give every variable at least one letter"),
        (np.ones((2, 0)), r"p is empty \(shape \(2, 0\)\)"),
        ([0, 0, 0], r"p is 0 everywhere \(shape \(3,\)\): give at least one positive entry"),
        ([[1], [1, 2]], r"p is not an array of numbers .*: give nested lists of equal length"),
        ("heads", r"p is not an array of numbers .*: give nested lists of equal length"),
        (None, r"p holds nan at index \(\)"),
    ],
)
@pytest.mark.parametrize("measure", [ti.entropy, ti.bayes_vulnerability, ti.mutual_information])
def test_unusable_laws_are_refused(measure, p, message):
    with pytest.raises(InvalidInputError, match=message):
        measure(p)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("p", "channel", "message"),
    [
        (np.ones((2, 2, 2)), None, r"p is 3-D \(shape \(2, 2, 2\)\): make it 2-D"),
        (np.ones((2, 2)), np.eye(2), r"p is 2-D \(shape \(2, 2\)\): make it 1-D"),
        (HALF, HALF, r"channel has shape \(2,\) but the law of x has 2 letters: give channel\[x, "),
        (HALF, np.eye(3), r"channel has shape \(3, 3\) but the law of x has 2 letters"),
        (HALF, [[1, 0], [0.5, 0.4]], r"row 1 of channel sums to 0.9, not to 1 within 1e-09: div"),
        (HALF, [[1, 0], [0.5, 0.5 + 2e-9]], r"row 1 of channel sums to 1.000000002, not to 1"),
        (HALF, [[1, 0], [math.nan, 1]], r"channel holds nan at index \(1, 0\)"),
        (HALF, [[1, 0], [1.5, -0.5]], r"channel holds -0.5 at index \(1, 1\)"),
        (HALF, np.ones((2, 0)), r"channel is empty \(shape \(2, 0\)\)"),
    ],
)
def test_unusable_joints_and_channels_are_refused(measure, p, channel, message):
    with pytest.raises(InvalidInputError, match=message):
        measure(p, channel)


@pytest.mark.parametrize("measure", [*LEAKAGES, ti.pointwise_maximal_leakage])
def test_a_prior_alone_has_no_leakage(measure):
    with pytest.raises(InvalidInputError, match=r"p is 1-D \(shape \(2,\)\): make it 2-D"):
        measure(HALF)


def test_conditional_mutual_information_needs_three_axes():
    with pytest.raises(InvalidInputError, match=r"joint is 2-D \(shape \(2, 2\)\): make it 3-D"):
        ti.conditional_mutual_information(np.ones((2, 2)))


def test_rows_within_tolerance_are_accepted():
    bits = ti.mutual_information(HALF, [[1, 0], [0, 1 + 5e-10]])
    assert bits == pytest.approx(1.0, abs=ROUNDING)


def test_errors_belong_to_the_tree_and_are_value_errors():
    with pytest.raises(TacitError):
        ti.entropy([])
    with pytest.raises(ValueError, match="p is empty"):
        ti.entropy([])


@pytest.mark.parametrize("size", [1e-9, 1e-7, 1e-5, 1e-3, 0.5])
def test_the_bound_on_a_small_leakage_is_above_the_truth_and_near_it(size):
    rng = np.random.default_rng(0)
    for _ in range(20):
        prior = rng.dirichlet(np.full(4, 0.5), size=3) * rng.dirichlet(np.ones(3))[:, None]
        tilt = rng.uniform(-size, size, size=prior.shape)
        channel = np.stack([0.3 * (1 + tilt), 1 - 0.3 * (1 + tilt)])
        _, upper = information_upper_nats(
            prior * channel, prior / prior.sum(axis=1, keepdims=True), n_operations=8
        )
        truth = exact_conditional_information_nats(prior, channel)
        # Ratios are exact to some 1e-14: a leakage of size**2 is off by size times that.
        assert truth <= upper.sum() <= truth * (1 + ROUNDING / size)


@pytest.mark.parametrize("noise", [1e-12, 1e-6, 0.1, 0.5])
def test_information_is_between_its_bounds_and_they_are_close(noise):
    """A fair bit through a binary symmetric channel: 1 - h(noise) bits."""
    p_yx = np.array([[1 - noise, noise], [noise, 1 - noise]], dtype=np.longdouble) / 2
    lowest, highest = information_range_bits(p_yx, n_operations=2)
    with localcontext(prec=60):
        rates = [Decimal(noise), 1 - Decimal(noise)]
        truth = 1 + sum(p * p.ln() for p in rates) / Decimal(2).ln()
    assert Decimal(lowest) <= truth <= Decimal(highest)
    if np.finfo(np.longdouble).nmant > 60:  # elsewhere long floats are doubles
        assert highest - lowest <= 1e-15


def test_a_single_letter_holds_exactly_nothing():
    assert information_range_bits(np.array([[0.3, 0.7]], dtype=np.longdouble), 0) == (0.0, 0.0)


def exact_conditional_information_nats(p_yx, channel):
    """I(A; X | Y) of floats read as exact numbers, rows of the channel made to sum to 1."""
    with localcontext(prec=60):
        total = Decimal(0)
        for y, row in enumerate(p_yx):
            mass = [Decimal(float(p)) for p in row]
            rows = [[Decimal(float(c)) for c in channel[:, y, x]] for x in range(len(row))]
            rows = [[c / sum(law) for c in law] for law in rows]
            for a in range(len(channel)):
                mean = sum(m * law[a] for m, law in zip(mass, rows, strict=True)) / sum(mass)
                total += sum(
                    m * law[a] * (law[a] / mean).ln() for m, law in zip(mass, rows, strict=True)
                )
        return float(total)
