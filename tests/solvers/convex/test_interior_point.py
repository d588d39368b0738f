"""Few unknowns beside views of many letters: certified, and what cvxpy finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.problem import Problem
from tacit.solution import Status
from tests import oracles
from tests.solvers.solutions import ORACLE_TOL, assert_certified, assert_honest, problem_with_view
from tests.strategies import Array


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    room=st.sampled_from([0.01, 0.05, 0.3]),
    share=st.sampled_from([0.02, 0.5]),
)
def test_many_letters_have_the_optimum_that_cvxpy_finds(
    seed: int, room: float, share: float
) -> None:
    problem = problem_with_view(seed, room, share=share)
    solution = tacit.solve(problem)
    assert_certified(solution)
    limits = {(): problem.limits[()]}
    found = oracles.solve_by_cvxpy(problem.joint, problem.distortion, limits, problem.views)
    assert solution.value <= found.value + ORACLE_TOL
    if found.status == "optimal":  # Clarabel's precision is enough to compare with
        assert solution.value == pytest.approx(found.value, abs=ORACLE_TOL)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), room=st.sampled_from([0.0, 1e-9, 1e-6, 1e-4]))
def test_hardly_any_bits_left_is_still_honest(seed: int, room: float) -> None:
    assert_honest(tacit.solve(problem_with_view(seed, room)))


def test_few_letters_and_many_have_the_same_optimum() -> None:
    """Letters split into equal parts tell nothing more, but the kernel solves only the first."""
    few = problem_with_view(3, 0.05, n_y=5)
    law, bits = few.views["heard"]
    split = np.repeat(np.asarray(law) / 8, 8, axis=1)
    many = Problem(few.joint, few.utility, few.individual, views={"heard": (split, bits)})
    assert tacit.solve(many).value == pytest.approx(tacit.solve(few).value, abs=2e-7)


def cut(law: Array, n_parts: int, rng: np.random.Generator) -> Array:
    """A view whose letters are cut into parts, each of which tells next to nothing more.

    Exactly nothing more would be merged again.
    """
    parts = rng.dirichlet(np.ones(n_parts), size=law.shape[-1])  # [y, part]
    parts = parts * (1 + 1e-5 * rng.random((*law.shape[:-1], *parts.shape)))
    law = law[..., None] * parts / parts.sum(axis=-1, keepdims=True)
    return np.asarray(law.reshape(*law.shape[:-2], -1))


@pytest.mark.parametrize("seed", range(6))
def test_views_with_far_more_letters_than_cells(seed: int) -> None:
    """The optimum is that of a problem with few letters, which the kernel solves in another order.

    Limits that bind or leave nothing, caps, and cells without mass.
    """
    rng = np.random.default_rng(seed)
    n_z, n_x = int(rng.integers(1, 4)), 8
    p_zx = rng.dirichlet(np.ones(n_z * n_x)).reshape(n_z, n_x)
    p_zx[:, 2:] *= rng.random((n_z, n_x - 2)) < 0.8
    p_zx[0] += 1e-3
    joint = p_zx[..., None] / p_zx.sum() * np.eye(3)[np.arange(n_x) % 3]
    nothing = np.ones((n_z, n_x, 1))

    def limited(laws: list[Array], rooms: list[float]) -> Problem:
        held = [oracles.view_leakage_bits(joint, nothing, law) for law in laws]
        views = {
            name: (law, told + room)
            for name, law, told, room in zip("ab", laws, held, rooms, strict=True)
        }
        return Problem(joint, individual=0.4, views=views)

    laws = [rng.dirichlet(np.full(3, 0.5), size=(n_z, n_x)) for _ in "ab"]
    rooms = [0.1, float(rng.choice([0.0, 0.2]))]
    few, many = limited(laws, rooms), limited([cut(law, 60, rng) for law in laws], rooms)
    if seed % 2:
        p_yx = np.einsum("zx,zxy->yx", joint.sum(axis=-1), laws[0])
        held = np.log2((p_yx / p_yx.sum(axis=1, keepdims=True) / p_yx.sum(axis=0)).max())
        caps = {"a": 0.5 * (held + tacit.solve(few).worst_answers["a"]) + 1e-3}
        few, many = replace(few, caps=caps), replace(many, caps=caps)
    one, other = tacit.solve(few), tacit.solve(many)
    assert one.status is other.status is Status.OPTIMAL
    assert other.value == pytest.approx(one.value, abs=1e-4 if seed % 2 else 1e-6)
    assert max(other.leakage[key] - bits for key, bits in many.limits.items()) <= 1e-9
    assert other.leakage[0,] == pytest.approx(one.leakage[0,], abs=1e-3)
