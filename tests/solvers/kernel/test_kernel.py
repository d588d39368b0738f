"""The compiled kernel: how it is called, and the paths in it that small random problems miss."""

from __future__ import annotations

import _ctypes
import ctypes
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tacit import Problem, solve
from tacit.solvers import kernel
from tacit.solvers.kernel import blas
from tests import oracles
from tests.solvers.solutions import ORACLE_TOL, assert_certified, held_bits

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


def functions_in_header(struct: str) -> dict[str, str]:
    """Names and argument types of a struct's function pointers, char, int and double by letter."""
    text = (
        HEADER.read_text(encoding="utf-8").split(f"}} {struct};")[0].split("typedef struct {")[-1]
    )
    found = re.findall(r"void \(\*(\w+)\)\((.*?)\);", text, flags=re.DOTALL)
    return {
        name: "".join(re.findall(r"\b([cId])(?:har|nteger|ouble) \*", arguments)).lower()
        for name, arguments in found
    }


def test_lapack_is_handed_over_as_the_header_declares_it() -> None:
    declared = functions_in_header("Lapack")
    assert declared == blas.FUNCTIONS
    assert list(declared) == [name for name, _ in kernel._Lapack._fields_]


def test_python_and_the_header_agree_on_the_abi() -> None:
    abi = re.search(r"#define TACIT_ABI (\d+)", HEADER.read_text(encoding="utf-8"))
    assert abi is not None
    assert int(abi[1]) == kernel.ABI


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


@pytest.fixture
def unloaded() -> Iterator[None]:
    """The library is loaded anew within the test, and again after it."""
    kernel._kernel.cache_clear()
    yield
    kernel._kernel.cache_clear()


@pytest.mark.usefixtures("unloaded")
def test_a_library_of_another_abi_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "ABI", 99)
    with pytest.raises(ImportError, match=r"its ABI is \d+, not 99\): install tacit again"):
        solve(Problem(np.eye(2), individual=0.5))


@pytest.mark.usefixtures("unloaded")
def test_a_library_without_an_abi_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those were that tacit 0.1 compiled: any other library stands in for one here."""
    monkeypatch.setattr(kernel, "_LIBRARY", Path(_ctypes.__file__))
    with pytest.raises(ImportError, match=r"its ABI is 1, not \d+"):
        solve(Problem(np.eye(2), individual=0.5))


def arguments(**changes: object) -> dict[str, object]:
    """What the kernel is given for one view that sees nothing, two histories and two records."""
    given: dict[str, object] = {
        "mass": np.full((2, 2), 0.25),
        "cost": np.stack([np.eye(2), 1 - np.eye(2)]),
        "view_of_row": np.zeros(1, dtype=int),
        "row_of_z": np.zeros((1, 2), dtype=int),
        "law": None,
        "budget": np.array([0.1, np.inf]),
        "is_exact": np.zeros(2, dtype=bool),
        "price": np.zeros(2),
        "pace": kernel.Pace(1e-8, 2e-5, 1e-9, 1e7, 1e-5, is_multiplicative=False),
    }
    return {**given, **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"price": np.zeros(3)}, r"price has shape \(3,\): the kernel reads \(2,\)"),
        ({"is_exact": np.zeros(1, dtype=bool)}, r"is_exact has shape \(1,\)"),
        ({"cost": np.ones((2, 2, 3))}, r"cost has shape \(2, 2, 3\): the kernel reads \(2, 2, 2\)"),
        ({"row_of_z": np.zeros((1, 3), dtype=int)}, r"row_of_z has shape \(1, 3\)"),
        ({"row_of_z": np.array([[0, 1]])}, r"row_of_z holds indices outside 0\.\.0"),
        ({"view_of_row": np.array([-1])}, r"view_of_row holds indices outside 0\.\.0"),
        ({"row_of_z": None, "law": np.ones((1, 2, 1))}, r"law has shape \(1, 2, 1\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kernel.minimise(**arguments(**changes))  # type: ignore[arg-type]


def test_the_layout_of_arrays_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    mass, cost = rng.dirichlet(np.ones(4)).reshape(2, 2), rng.random((3, 2, 2))
    plain = kernel.minimise(**arguments(mass=mass, cost=cost))  # type: ignore[arg-type]
    padded = np.zeros((2, 5))
    padded[:, ::3] = mass
    other = kernel.minimise(
        **arguments(  # type: ignore[arg-type]
            mass=padded[:, ::3],
            cost=np.asfortranarray(cost),
            budget=np.array([0.1, np.inf], dtype=">f8"),
            view_of_row=np.zeros(1, dtype=np.int8),
        )
    )
    assert np.array_equal(plain.channel, other.channel)


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
