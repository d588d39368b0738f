"""The compiled kernel: how it is called, and the paths in it that small random problems miss."""

from __future__ import annotations

import ctypes
import re
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tacit import Problem, solve
from tacit.solvers import kernel
from tests import oracles
from tests.test_solve import ORACLE_TOL, assert_certified, held_bits

HEADER = resources.files("tacit.solvers.kernel") / "kernel.h"

C_TYPES = {"int": ctypes.c_int, "double": ctypes.c_double, "bool": ctypes.c_bool}


def fields_in_header(struct: str) -> list[tuple[str, type]]:
    """Names and types of a struct's fields, pointers as void pointers."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    body = next(
        found.group(1)
        for found in re.finditer(r"typedef struct \{(.*?)\} (\w+);", text, flags=re.DOTALL)
        if found.group(2) == struct
    )
    fields = []
    for declaration in filter(str.strip, body.split(";")):
        kind, names = re.fullmatch(r"\s*(?:const )?(\w+) (.*)", declaration, re.DOTALL).groups()
        for name in names.split(","):
            is_pointer = name.strip().startswith("*")
            fields.append((name.strip(" *"), ctypes.c_void_p if is_pointer else C_TYPES[kind]))
    return fields


@pytest.mark.parametrize(
    ("struct", "mirror"), [("Problem", kernel._Problem), ("Outcome", kernel._Outcome)]
)
def test_python_mirrors_the_structs_of_the_header(
    struct: str, mirror: type[ctypes.Structure]
) -> None:
    assert fields_in_header(struct) == list(mirror._fields_)


def test_lapack_is_handed_over_in_the_order_of_the_header() -> None:
    names = re.findall(r"void \(\*(\w+)\)", HEADER.read_text(encoding="utf-8"))
    assert names == [name for name, _ in kernel._Lapack._fields_]


def test_a_missing_library_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel._kernel.cache_clear()
    monkeypatch.setattr(kernel, "_LIBRARY", tmp_path / "tacit_kernel.so")
    with pytest.raises(ImportError, match=r"tacit_kernel\.so cannot be loaded .* install tacit"):
        solve(Problem(np.eye(2), individual=0.5))
    monkeypatch.undo()
    assert_certified(solve(Problem(np.eye(2), individual=0.5)))


def test_a_library_of_other_sources_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class LongerProblem(kernel._Problem):
        _fields_ = (("one_more", ctypes.c_double),)

    kernel._kernel.cache_clear()
    monkeypatch.setattr(kernel, "_Problem", LongerProblem)
    with pytest.raises(ImportError, match="built from other sources"):
        solve(Problem(np.eye(2), individual=0.5))


def test_sizes_that_cannot_be_indexed_are_refused() -> None:
    problem = kernel._Problem(n_rhat=2, n_z=2**15, n_x=2**15)
    with pytest.raises(MemoryError, match=r"2 x 32768 x 32768 .* too large"):
        kernel._run(problem, kernel._Outcome())


def test_the_answer_is_the_same_to_the_last_bit_whatever_the_threads() -> None:
    rng = np.random.default_rng(5)
    joint = rng.dirichlet(np.ones(2 * 3 * 8 * 4)).reshape(2, 3, 8, 4)
    problem = Problem(joint, individual=0.1, coalitions={(0,): held_bits(joint, (0,)) + 0.05})
    first = solve(problem)
    with threadpool_limits(limits=1):
        again = solve(problem)
    assert np.array_equal(first.channel, again.channel)
    assert (first.value, first.bound) == (again.value, again.bound)


def test_a_long_history_before_views_by_laws() -> None:
    """With 64 histories and two records, histories are eliminated first, laws or not."""
    rng = np.random.default_rng(3)
    p_z_given_x = rng.dirichlet(np.full(64, 5.0), size=2)
    joint = np.einsum("xr,xz->zxr", [[0.4, 0.1], [0.1, 0.4]], p_z_given_x)
    law = rng.dirichlet(np.ones(2), size=joint.shape[:-1])
    view = {"broker": (law, oracles.view_leakage_bits(joint, np.ones((64, 2, 1)), law) + 0.02)}
    limits = {(): 0.2, (0,): held_bits(joint, (0,)) + 0.1}
    solution = solve(Problem(joint, "hamming", coalitions=limits, views=view))
    assert_certified(solution)
    assert solution.multipliers["broker"] > 0
    oracle = oracles.solve_by_cvxpy(joint, 1.0 - np.eye(2), limits, view)
    assert solution.value == pytest.approx(oracle.value, abs=ORACLE_TOL)


def test_many_letters_and_many_coalitions_at_once() -> None:
    """30 letters of rhat: every block is too large for the plain loops."""
    rng = np.random.default_rng(4)
    joint = np.einsum(
        "x,xa,xb,xr->abxr",
        rng.dirichlet(np.ones(4)),
        *(rng.dirichlet(np.ones(2), size=4) for _ in range(2)),
        rng.dirichlet(np.full(3, 0.3), size=4),
    )
    distortion = rng.random((30, 3))
    limits = {axes: held_bits(joint, axes) + 0.05 for axes in [(), (0,), (1,), (0, 1)]}
    solution = solve(Problem(joint, distortion, coalitions=limits))
    assert_certified(solution)
    oracle = oracles.solve_by_cvxpy(joint, distortion, limits)
    assert solution.value == pytest.approx(oracle.value, abs=ORACLE_TOL)
