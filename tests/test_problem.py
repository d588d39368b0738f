"""What a release problem accepts, what it refuses and in which words, and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInputError, TacitError
from tacit.problem import Problem
from tests import strategies as own

# One division by the maximum and one by the sum, each right to a unit in the last place.
ROUNDING = 1e-15

JOINT_XR = np.array([[3.0, 1.0], [0.0, 4.0]])
JOINT_ZXR = np.arange(12.0).reshape(3, 2, 2)
JOINT_Z1Z2XR = np.arange(48.0).reshape(2, 3, 4, 2)

FAIR_COIN = np.full((3, 2, 2), 0.5)
"""p(y | z, x) over the cells of JOINT_ZXR."""


# --- the joint ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 8, 1e-300, 1e300])
def test_counts_are_normalised(scale: float) -> None:
    problem = Problem(scale * JOINT_XR)
    np.testing.assert_allclose(problem.joint, JOINT_XR / 8, rtol=ROUNDING)
    assert problem.joint.sum() == pytest.approx(1.0, abs=ROUNDING)


def test_whole_numbers_and_nested_lists_are_joints() -> None:
    np.testing.assert_array_equal(
        Problem([[3, 1], [0, 4]]).joint,  # type: ignore[arg-type]
        Problem(JOINT_XR).joint,
    )


def test_counts_whose_sum_overflows_are_normalised() -> None:
    np.testing.assert_array_equal(Problem(np.full((2, 2), 1.7e308)).joint, np.full((2, 2), 0.25))


def test_the_joint_is_a_copy_that_cannot_be_written() -> None:
    given_joint = JOINT_XR.copy()
    problem = Problem(given_joint)
    given_joint[0, 0] = 100.0
    assert problem.joint[0, 0] == pytest.approx(3 / 8)
    with pytest.raises(ValueError, match="read-only"):
        problem.joint[0, 0] = 1.0


def test_a_problem_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Problem(JOINT_XR).individual = 0.1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (1.0, r"joint has 0 axes: give p\(x, r\) or p\(z1, ..., zk, x, r\), x and r last"),
        ([0.5, 0.5], r"joint has 1 axes: give p\(x, r\)"),
        (
            np.ones((2, 0)),
            r"joint is empty \(shape \(2, 0\)\): give every variable at least on",
        ),
        (np.ones((0, 2, 2)), r"joint is empty \(shape \(0, 2, 2\)\)"),
        ([[1, nan]], r"joint holds nan at index \(0, 1\): every entry must be a finite number"),
        ([[1, inf]], r"joint holds inf at index \(0, 1\)"),
        ([[1, -0.25]], r"joint holds -0.25 at index \(0, 1\): no entry may be negative"),
        (
            [[0, 0], [0, 0]],
            r"joint is 0 everywhere \(shape \(2, 2\)\): give at least one posi",
        ),
    ],
)
def test_unusable_joints_are_refused(joint: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Problem(joint)  # type: ignore[arg-type]


def test_errors_belong_to_the_tree_and_are_value_errors() -> None:
    with pytest.raises(TacitError):
        Problem(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="joint is 0 everywhere"):
        Problem(np.zeros((2, 2)))


# --- the utility --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "matrix"),
    [
        ("hamming", [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
        ("absolute", [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
        ("squared", [[0, 1, 4], [1, 0, 1], [4, 1, 0]]),
    ],
)
def test_named_distortions(name: str, matrix: list[list[int]]) -> None:
    problem = Problem(np.ones((2, 3)), name)
    assert problem.distortion.tolist() == matrix
    assert not problem.is_information


def test_a_matrix_is_its_own_distortion_and_may_have_any_number_of_rows() -> None:
    matrix = np.array([[0.0, 2.0], [1.0, 0.5], [3.0, 0.0]])
    problem = Problem(JOINT_XR, matrix)
    matrix[0, 0] = 7.0
    assert problem.distortion.tolist() == [[0.0, 2.0], [1.0, 0.5], [3.0, 0.0]]


def test_information_has_no_distortion_matrix() -> None:
    problem = Problem(JOINT_XR, "information")
    assert problem.is_information
    with pytest.raises(InvalidInputError, match='utility "information" has no distortion matrix'):
        _ = problem.distortion


@pytest.mark.parametrize(
    ("utility", "message"),
    [
        ("manhattan", r"utility 'manhattan' is unknown: use hamming, absolute, squared, informat"),
        ([0.0, 1.0], r"utility has shape \(2,\): a distortion is a matrix d\[rhat, r\] with 2 co"),
        (np.ones((2, 3)), r"utility has shape \(2, 3\): .* with 2 columns, one per letter of r"),
        (np.ones((0, 2)), r"utility has shape \(0, 2\)"),
        ([[0, -1]], r"utility holds -1 at index \(0, 1\): no entry may be negative"),
        ([[0, nan]], r"utility holds nan at index \(0, 1\): every entry must be a finite number"),
        ([[0, inf]], r"utility holds inf at index \(0, 1\)"),
    ],
)
def test_unusable_utilities_are_refused(utility: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Problem(JOINT_XR, utility)  # type: ignore[arg-type]


def test_rhat_size_sets_the_letters_of_information_only() -> None:
    assert Problem(JOINT_XR, "information", rhat_size=5).rhat_size == 5
    assert Problem(JOINT_XR, "information").rhat_size is None
    with pytest.raises(InvalidInputError, match=r"rhat_size=2 is for utility='information'; a dis"):
        Problem(JOINT_XR, "hamming", rhat_size=2)


@pytest.mark.parametrize("size", [0, -1, 2.5])
def test_rhat_size_is_a_whole_number_of_letters(size: float) -> None:
    with pytest.raises(InvalidInputError, match=rf"rhat_size is {size}: give a whole number of l"):
        Problem(JOINT_XR, "information", rhat_size=size)  # type: ignore[arg-type]


# --- limits -------------------------------------------------------------------------------------


def test_no_limit_is_infinite() -> None:
    problem = Problem(JOINT_ZXR)
    assert problem.limits == {(): inf, (0,): inf}
    assert Problem(JOINT_ZXR, individual=inf, collusion=None).limits == problem.limits


def test_every_kind_of_limit_is_kept_under_its_own_key() -> None:
    problem = Problem(
        JOINT_Z1Z2XR,
        individual=0.1,
        collusion=0.5,
        coalitions={(0,): 0.2, (1,): 0.3},
        views={"auditor": (np.ones((2, 3, 4, 1)), 0.4)},
    )
    assert problem.everyone == (0, 1)
    assert problem.limits == {(): 0.1, (0, 1): 0.5, (0,): 0.2, (1,): 0.3, "auditor": 0.4}


@pytest.mark.parametrize(("named", "by_axes"), [(0.1, 0.2), (0.2, 0.1), (None, 0.1), (0.1, inf)])
def test_of_two_limits_on_the_same_view_the_smaller_holds(
    named: float | None, by_axes: float
) -> None:
    alone = Problem(JOINT_Z1Z2XR, individual=named, coalitions={(): by_axes})
    assert alone.limits[()] == 0.1
    together = Problem(JOINT_Z1Z2XR, collusion=named, coalitions={(1, 0): by_axes})
    assert together.limits[0, 1] == 0.1


def test_members_of_a_coalition_are_a_set() -> None:
    problem = Problem(JOINT_Z1Z2XR, coalitions={(1, 0): 0.3, (0, 1): 0.2, (1, 1): 0.1})
    assert problem.limits == {(): inf, (0, 1): 0.2, (1,): 0.1}


def test_without_history_individual_and_collusion_are_one_view() -> None:
    problem = Problem(JOINT_XR, individual=0.3, collusion=0.2)
    assert problem.everyone == ()
    assert problem.limits == {(): 0.2}


@pytest.mark.parametrize("bits", [-0.1, nan, -inf])
@pytest.mark.parametrize(
    ("where", "limited"),
    [
        ("individual", lambda bits: {"individual": bits}),
        ("collusion", lambda bits: {"collusion": bits}),
        (r"coalitions\[\(0,\)\]", lambda bits: {"coalitions": {(0,): bits}}),
        (r"views\['coin'\]", lambda bits: {"views": {"coin": (FAIR_COIN, bits)}}),
    ],
)
def test_a_limit_is_a_number_of_bits(
    where: str, limited: Callable[[float], dict[str, object]], bits: float
) -> None:
    with pytest.raises(InvalidInputError, match=rf"{where} is {bits}: a limit is a number of bits"):
        Problem(JOINT_ZXR, **limited(bits))  # type: ignore[arg-type]


@pytest.mark.parametrize("axes", [(1,), (0, 1), (-1,)])
def test_a_coalition_names_axes_of_the_history(axes: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError, match=r"names an axis outside 0..0: the joint has 1 ear"):
        Problem(JOINT_ZXR, coalitions={axes: 0.1})


def test_without_history_there_is_nobody_to_collude_with() -> None:
    with pytest.raises(InvalidInputError, match=r"coalition \(0,\) names an axis.* 0 earlier rel"):
        Problem(JOINT_XR, coalitions={(0,): 0.1})


def test_with_limits_replaces_two_limits_and_keeps_the_rest() -> None:
    problem = Problem(
        JOINT_ZXR, "information", 0.1, 0.2, {(0,): 0.7}, {"coin": (FAIR_COIN, 0.6)}, rhat_size=3
    )
    other = problem.with_limits(0.3, None)
    assert (other.individual, other.collusion) == (0.3, inf)
    assert other.limits == {(): 0.3, (0,): 0.7, "coin": 0.6}
    assert (other.utility, other.rhat_size) == ("information", 3)
    np.testing.assert_allclose(other.joint, problem.joint, rtol=ROUNDING)
    assert problem.limits[()] == 0.1


@given(own.joints_z1z2xr(), st.data())
def test_with_limits_moves_no_probability(joint: own.Array, data: st.DataObject) -> None:
    distortion = data.draw(own.distortions(joint.shape[-1]))
    problem = Problem(joint, distortion)
    again = problem.with_limits(0.1, 0.2).with_limits(None, None)
    np.testing.assert_allclose(again.joint, problem.joint, rtol=4 * ROUNDING)
    np.testing.assert_array_equal(again.distortion, distortion)


# --- views --------------------------------------------------------------------------------------


def test_joints_without_history_have_one_flat_history() -> None:
    problem = Problem(JOINT_XR)
    assert problem.history_shape == ()
    assert problem.joint_zxr.shape == (1, 2, 2)
    assert problem.view(()).size == 1


def test_the_history_is_flattened_in_the_order_of_its_axes() -> None:
    problem = Problem(JOINT_Z1Z2XR)
    assert problem.history_shape == (2, 3)
    np.testing.assert_array_equal(problem.joint_zxr, problem.joint.reshape(6, 4, 2))


@pytest.mark.parametrize(
    ("axes", "letters"),
    [
        ((), [0, 0, 0, 0, 0, 0]),
        ((0,), [0, 0, 0, 1, 1, 1]),
        ((1,), [0, 1, 2, 0, 1, 2]),
        ((0, 1), [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_coalition_sees_its_own_axes(axes: tuple[int, ...], letters: list[int]) -> None:
    view = Problem(JOINT_Z1Z2XR).view(axes)
    assert view.letter_of_z is not None
    assert view.letter_of_z.tolist() == letters
    assert view.size == max(letters) + 1


@given(own.joints_z1z2xr(), st.data())
def test_both_descriptions_of_a_view_pool_alike(joint: own.Array, data: st.DataObject) -> None:
    cells = joint.shape[:-1]
    axes = data.draw(st.sampled_from([(), (0,), (1,), (0, 1)]))
    problem = Problem(joint)
    letters = problem.view(axes).letter_of_z
    assert letters is not None
    law = np.zeros((letters.size, cells[-1], problem.view(axes).size))
    law[np.arange(letters.size), :, letters] = 1.0
    named = Problem(joint, views={"same": (law.reshape(*cells, -1), 1.0)})
    mass = problem.joint_zxr.sum(axis=-1)
    seen = tuple(axis for axis in (0, 1) if axis not in axes)
    by_sums = problem.joint.sum(axis=-1).sum(axis=seen).reshape(-1, cells[-1])
    for view in (problem.view(axes), named.view("same")):
        np.testing.assert_allclose(view.pool(mass), by_sums, atol=ROUNDING)


def test_rows_of_a_view_that_miss_one_by_rounding_are_normalised() -> None:
    law = FAIR_COIN * (1 + 5e-10)
    kept, bits = Problem(JOINT_ZXR, views={"coin": (law, 0.1)}).views["coin"]
    np.testing.assert_array_equal(np.asarray(kept).sum(axis=-1), np.ones((3, 2)))
    assert bits == 0.1


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (0.5, r"views\['coin'\] has shape \(\): give p\(y \| z.., x\) with shape \(3, 2\) \+ "),
        (np.ones((3, 2)), r"views\['coin'\] has shape \(3, 2\): give"),
        (np.ones((2, 2, 1)), r"views\['coin'\] has shape \(2, 2, 1\): give"),
        (np.ones((3, 2, 0)), r"views\['coin'\] has shape \(3, 2, 0\): give"),
        (FAIR_COIN + 2e-9, r"row \(0, 0\) of views\['coin'\] sums to 1.000000004, not to 1 within"),
        (np.tile([1.5, -0.5], (3, 2, 1)), r"views\['coin'\] holds -0.5 at index \(0, 0, 1\)"),
        (np.tile([1.0, nan], (3, 2, 1)), r"views\['coin'\] holds nan at index"),
        (np.tile([1.0, inf], (3, 2, 1)), r"views\['coin'\] holds inf at index"),
    ],
)
def test_unusable_views_are_refused(law: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Problem(JOINT_ZXR, views={"coin": (law, 0.1)})  # type: ignore[dict-item]


def test_views_are_named_by_strings() -> None:
    with pytest.raises(InvalidInputError, match=r"view 7 is not named by a string or a frozenset"):
        Problem(JOINT_ZXR, views={7: (FAIR_COIN, 0.1)})  # type: ignore[dict-item]


# --- what is no number at all ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        ("joint", {"joint": [[1], [1, 2]]}),
        ("joint", {"joint": "heads"}),
        ("joint", {"joint": JOINT_XR + 1j}),
        ("utility", {"utility": [[0], [0, 1]]}),
        ("utility", {"utility": None}),
        ("individual", {"individual": "a little"}),
        ("collusion", {"collusion": [0.1]}),
        ("coalition", {"coalitions": {0: 0.1}}),
        ("coalition", {"coalitions": {(0.5,): 0.1}}),
        ("coalition", {"coalitions": {"party": 0.1}}),
        ("coalition", {"coalitions": {(0,): "a little"}}),
        ("views", {"views": {"coin": FAIR_COIN}}),
        ("views", {"views": {"coin": ("heads", 0.1)}}),
        ("rhat_size", {"utility": "information", "rhat_size": nan}),
        ("rhat_size", {"utility": "information", "rhat_size": "two"}),
    ],
)
def test_what_is_no_number_is_refused_by_name(argument: str, wrong: dict[str, object]) -> None:
    """Outside data enters here: whatever is wrong with it, the message says which argument."""
    with pytest.raises(InvalidInputError, match=argument):
        Problem(**{"joint": JOINT_ZXR, **wrong})  # type: ignore[arg-type]


# --- levels and what a release may read ---------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "median"}, "objective 'median' is unknown: use mean or worst-level"),
        ({"ceilings": {2: 0.5}}, "ceilings name the level 2: the levels of r are numbered 0 to 1"),
        ({"ceilings": {0.5: 0.5}}, "ceilings name the level 0.5"),
        ({"ceilings": {"low": 0.5}}, "ceilings name the level 'low'"),
        ({"ceilings": {0: -0.1}}, r"ceilings\[0\] is -0.1: give an error >= 0"),
        ({"ceilings": {0: nan}}, r"ceilings\[0\] is nan"),
        ({"utility": "information", "objective": "worst-level"}, "has no error at each level"),
        ({"utility": "information", "ceilings": {0: 0.5}}, "has no error at each level"),
        ({"utility": "shares"}, "add analysable=True"),
        ({"analysable": True}, r"record x=0 has the levels r=\[0, 1\]"),
    ],
)
def test_levels_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Problem(JOINT_XR, **options)  # type: ignore[arg-type]


def test_infinite_ceilings_are_none() -> None:
    assert Problem(JOINT_XR, ceilings={0: inf, 1: 1}).ceilings == {1: 1.0}


def test_other_limits_change_nothing_else() -> None:
    problem = Problem(
        np.eye(2), "absolute", 0.1, objective="worst-level", ceilings={0: 0.4}, analysable=True
    )
    other = problem.with_limits(0.2, None)
    assert (other.individual, other.collusion) == (0.2, inf)
    assert (other.utility, other.objective) == ("absolute", "worst-level")
    assert other.ceilings == {0: 0.4}
    assert other.analysable


def test_shares_have_no_distortion() -> None:
    with pytest.raises(InvalidInputError, match='utility "shares" has no distortion matrix'):
        _ = Problem(np.eye(2), "shares", analysable=True).distortion
