"""The compiled interior point: C sources beside this file, and how Python calls them.

    minimise    E cost + sum price * I(Rhat; X | Y) + frugality * I(Rhat; X | Z)
    subject to  I(Rhat; X | Y) <= budget  for every limited view, full collusion among them,
                Rhat independent of X given Y  for every exact view,
                p(rhat, y, x) <= cap(y, x) p(rhat, y)  for every capped view,
                sum_rhat c = 1, c > 0.

It is compiled because a step on a small problem costs microseconds in C and a millisecond in NumPy.
Its results are not trusted: ``convex.certificate`` makes every limit hold and proves the gap. Once
the gap is closed, the value becomes a limit and I(Rhat; X | Z) is minimised ([M] fact 5).
Prices replace the limits of views with hardly any bits left, where a limit is too curved for
Newton's model.

The library is built when tacit is installed (``hatch_build.py``). It borrows BLAS and LAPACK from
NumPy (``blas``). Its structs are mirrored here field by field: ``kernel.h`` says what each means.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import cache
from math import inf
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tacit.arrays import Array
from tacit.solvers.kernel import blas

Entry = TypeVar("Entry", bound=np.generic)

ABI = 9
"""Number of the interface between this file and the library: ``TACIT_ABI`` of kernel.h."""

_LIBRARY = Path(__file__).with_name(
    "tacit_kernel.dll" if sys.platform == "win32" else "tacit_kernel.so"
)


@dataclass(frozen=True, slots=True)
class Pace:
    """When the interior point stops, and how it gets there; costs are of order 1.

    Attributes:
        gap_tol: stop when the gap of the objective is below this, ...
        frugal_tol: ... and the leakage to everyone within this many nats of the least (only where
            full collusion does not bind).
        frugality: weight on I(Rhat; X | Z) while the gap is being closed, positive.
        row_stiffness: curvature that holds the constraints of exact views, until their multipliers
            do. Rounding grows with it; with too little of it, views that nearly depend on each
            other take very many steps.
        rarest: mass below which all cells' barriers are alike beside exact views. Where it is tiny
            the multipliers of rare rows become large; where it is 1 rare cells shorten the steps.
        is_multiplicative: whether steps scale the channel's entries instead of adding to them:
            better where the letters' frequencies hardly matter, worse where letters die out.
    """

    gap_tol: float
    frugal_tol: float
    frugality: float
    row_stiffness: float
    rarest: float
    is_multiplicative: bool


@dataclass(slots=True, eq=False)
class Outcome:
    """The best channel and the best proof met, per member of a batch.

    Attributes:
        channel: channels, [batch, rhat, z, x]; strictly positive, unless mixed with a constant.
        is_zero: entries of them that are 0 in the limit, by strict complementarity.
        witness: the channels whose posteriors gave the best bound.
        multipliers: of that bound: the partial views', then full collusion's, [batch, view + 1];
            prices included, frugality not.
        row_force: of that bound: multipliers of the exact views, [batch, rhat, row, x].
        full_force: those of exact full collusion, [batch, rhat, z, x]; 0 otherwise.
        row_cap: and of the partial views' caps, >= 0, [batch, rhat, row, x].
        full_cap: of full collusion's, [batch, rhat, z, x].
        frugality: of that bound: weight on I(Rhat; X | Z), [batch].
        bound: the bound itself, on E cost plus what is priced, without rounding, [batch].
        waste: nats by which the leakage to everyone may exceed the least, where that was sought and
            not found, [batch]; else 0.
        steps: Newton steps until the best channel, [batch].
        work: additions and multiplications that the search took, about, [batch].
    """

    channel: Array
    is_zero: NDArray[np.bool_]
    witness: Array
    multipliers: Array
    row_force: Array
    full_force: Array
    row_cap: Array
    full_cap: Array
    frugality: Array
    bound: Array
    waste: Array
    steps: NDArray[np.intp]
    work: Array

    @property
    def all_weights(self) -> Array:
        """Multipliers with the frugality added to full collusion's, [batch, view + 1]."""
        weights = self.multipliers.copy()
        weights[:, -1] += self.frugality
        return weights

    @staticmethod
    def joined(outcomes: list[Outcome]) -> Outcome:
        """Batches, one after the other."""
        if len(outcomes) == 1:
            return outcomes[0]
        return Outcome(
            *(
                np.concatenate([getattr(outcome, name) for outcome in outcomes])
                for name in Outcome.__slots__
            )
        )


def minimise(
    *,
    mass: Array,
    cost: Array,
    view_of_row: NDArray[np.integer],
    row_of_z: NDArray[np.integer] | None,
    law: Array | None,
    budget: Array,
    is_exact: NDArray[np.bool_],
    price: Array,
    row_cap: Array | None = None,
    full_cap: Array | None = None,
    pace: Pace,
) -> Outcome:
    """Solve one problem; a batch of one comes out.

    Args:
        mass: p(z, x), [z, x]; every z and every x has some.
        cost: E[d(rhat, R) | z, x], of order 1, [rhat, z, x].
        view_of_row: the partial view of each row, a pair (view, letter y), [row].
        row_of_z: the row that each view shows on each history, [view, z]; ``None`` if the views
            are given by ``law``.
        law: p(y | z, x), [row, z, x]; ``None`` if the views are functions of the history.
        budget: nats left to each view, full collusion last, [view + 1]; inf without a limit.
        is_exact: which of them have no bits left, [view + 1].
        price: fixed price of a nat to each of them, [view + 1]; a positive one replaces the limit.
        row_cap: p(rhat, y, x) / p(rhat, y) at most, [row, x]; inf without a cap, ``None`` where no
            view has one.
        full_cap: the same for full collusion, [z, x].
        pace: when to stop.

    Raises:
        KeyboardInterrupt: Ctrl-C, or what another signal's handler raises; within a second.
        MemoryError: the problem is too large to be held or indexed.
        TimeoutError: the time or the work of a ``deadline`` ran out; within a second.
        ValueError: the arrays do not fit together.
    """
    (n_z, n_x), n_rhat = mass.shape, len(cost)
    n_views, n_rows = len(budget) - 1, len(view_of_row)
    # The kernel keeps the entries of one history, or of one row, together.
    given = {
        "mass": _required("mass", mass, float, (n_z, n_x)),
        "cost": _required("cost", cost.transpose(1, 0, 2), float, (n_z, n_rhat, n_x)),
        "view_of_row": _indices("view_of_row", view_of_row, (n_rows,), n_views),
        "budget": _required("budget", budget, float, (n_views + 1,)),
        "is_exact": _required("is_exact", is_exact, bool, (n_views + 1,)),
        "price": _required("price", price, float, (n_views + 1,)),
    }
    if row_of_z is not None:
        given["row_of_z"] = _indices("row_of_z", row_of_z, (n_views, n_z), n_rows)
    elif n_rows:
        given["law"] = _required("law", law, float, (n_rows, n_z, n_x))
    if row_cap is not None:
        given["row_cap"] = _required("row_cap", row_cap, float, (n_rows, n_x))
    if full_cap is not None:
        given["full_cap"] = _required("full_cap", full_cap, float, (n_z, n_x))
    channel, witness, full_force, of_full_cap = np.zeros((4, n_z, n_rhat, n_x))
    found = {
        "channel": channel,
        "is_zero": np.empty(channel.shape, dtype=bool),
        "witness": witness,
        "multiplier": np.empty(n_views + 1),
        "row_force": np.empty((n_rows, n_rhat, n_x)),
        "full_force": full_force,
        "row_cap": np.zeros((n_rows, n_rhat, n_x)),
        "full_cap": of_full_cap,
    }
    outcome = _Outcome(**_addresses(found))
    sizes = {"n_rhat": n_rhat, "n_z": n_z, "n_x": n_x, "n_views": n_views, "n_rows": n_rows}
    _run(_Problem(**sizes, **_addresses(given), **asdict(pace)), outcome)
    return Outcome(
        _by_letter(channel),
        _by_letter(found["is_zero"]),
        _by_letter(witness),
        found["multiplier"][None],
        _by_letter(found["row_force"]),
        _by_letter(full_force),
        _by_letter(found["row_cap"]),
        _by_letter(of_full_cap),
        np.array([outcome.frugality]),
        np.array([outcome.bound]),
        np.array([outcome.waste]),
        np.array([outcome.steps]),
        np.array([outcome.work]),
    )


def _required(name: str, array: object, dtype: type, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array as C reads it."""
    required = np.require(array, dtype, ["C", "A"])
    if required.shape != shape:
        raise ValueError(f"{name} has shape {required.shape}: the kernel reads {shape}")
    return required


def _indices(name: str, array: NDArray[np.integer], shape: tuple[int, ...], n: int) -> NDArray[Any]:
    """Indices below ``n`` as C reads them."""
    if array.size and not (array.min() >= 0 and array.max() < n):
        raise ValueError(f"{name} holds indices outside 0..{n - 1}")
    return _required(name, array, np.intc, shape)


def _addresses(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    return {name: array.ctypes.data for name, array in arrays.items()}


def _by_letter(blocks: NDArray[Entry]) -> NDArray[Entry]:
    """[z or row, rhat, x] -> [1, rhat, z or row, x]."""
    return blocks.transpose(1, 0, 2)[None]


# -- the library -----------------------------------------------------------------------------------


def _fields(kind: type, names: str) -> list[tuple[str, type]]:
    return [(name, kind) for name in names.split()]


class _Lapack(ctypes.Structure):
    _fields_ = _fields(ctypes.c_void_p, " ".join(blas.FUNCTIONS))


class _Interpreter(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_void_p, "release acquire check_signals"),
        *_fields(ctypes.c_double, "seconds_left"),
    ]


class _Problem(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_int, "n_rhat n_z n_x n_views n_rows"),
        *_fields(ctypes.c_void_p, "mass cost view_of_row row_of_z law budget is_exact price"),
        *_fields(ctypes.c_void_p, "row_cap full_cap"),
        *_fields(ctypes.c_double, "frugality gap_tol frugal_tol row_stiffness rarest"),
        *_fields(ctypes.c_bool, "is_multiplicative"),
    ]


class _Outcome(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_void_p, "channel is_zero witness multiplier row_force full_force"),
        *_fields(ctypes.c_void_p, "row_cap full_cap"),
        *_fields(ctypes.c_double, "frugality bound waste work"),
        *_fields(ctypes.c_int, "steps"),
        *_fields(ctypes.c_bool, "is_late"),
    ]


def _run(problem: _Problem, outcome: _Outcome) -> None:
    """Solve one problem; the caller owns every array that the two structs point to."""
    run, lapack, python = _kernel()
    interpreter = _Interpreter(*python, raise_if_late())
    left = _LAST_WORK.get() - _WORK.get()
    outcome.work = left if left < inf else 0.0
    is_held = run(*map(ctypes.byref, (lapack, interpreter, problem, outcome)))
    _WORK.set(_WORK.get() + outcome.work)
    if outcome.is_late:
        raise TimeoutError("a limit on time or work ended a solve")
    if not is_held:
        cells = f"{problem.n_rhat} x {problem.n_z} x {problem.n_x}"
        raise MemoryError(
            f"a problem of {cells} letters of rhat, histories and records with {problem.n_rows} "
            "letters in its views is too large to be held or indexed: bound the memory of the "
            "scheme, or limit fewer coalitions"
        )


@cache
def _kernel() -> tuple[Callable[..., bool], _Lapack, tuple[int | None, ...]]:
    # PyDLL, because an exception that a signal's handler raises must reach the caller. The kernel
    # itself lets other threads run while it computes.
    try:
        library = ctypes.PyDLL(str(_LIBRARY))
    except OSError as error:
        raise _not_usable(str(error)) from error
    abi = library.tacit_abi() if hasattr(library, "tacit_abi") else 1
    if abi != ABI:
        raise _not_usable(f"it was built from other sources: its ABI is {abi}, not {ABI}")
    sizes = library.tacit_problem_bytes(), library.tacit_outcome_bytes()
    if sizes != (ctypes.sizeof(_Problem), ctypes.sizeof(_Outcome)):
        raise _not_usable("it was built from other sources: its structs have other sizes")
    run = library.tacit_minimise
    run.restype = ctypes.c_bool
    run.argtypes = [ctypes.c_void_p] * 4
    api = ctypes.pythonapi
    python = (api.PyEval_SaveThread, api.PyEval_RestoreThread, api.PyErr_CheckSignals)
    addresses = tuple(ctypes.cast(function, ctypes.c_void_p).value for function in python)
    return run, _Lapack(**blas.borrow()), addresses


def _not_usable(reason: str) -> ImportError:
    return ImportError(
        f"tacit's compiled kernel {_LIBRARY.name} cannot be loaded ({reason}): install tacit "
        "again, so that it is built for this machine (in a checkout, install it as editable)"
    )


# -- work and time ---------------------------------------------------------------------------------


_END: ContextVar[float] = ContextVar("end", default=inf)
"""When solves end, on the clock of ``monotonic``."""

_WORK: ContextVar[float] = ContextVar("work", default=0.0)
_LAST_WORK: ContextVar[float] = ContextVar("last_work", default=inf)
"""Operations of all solves in this context so far, and after how many of them solves end."""

A_SECOND = 1e10
"""Operations that take some second."""


def work_done() -> float:
    """Operations of all solves in this context so far: a clock that is the same on every machine.

    What is released must not depend on how fast a machine is, so nothing that a study does ends by
    the time.
    """
    return _WORK.get()


@contextmanager
def deadline(seconds: float | None = None, *, work: float | None = None) -> Iterator[None]:
    """Let solves inside end with TimeoutError after ``seconds`` or ``work``; ``None`` for never."""
    end = inf if seconds is None else monotonic() + seconds
    last_work = inf if work is None else _WORK.get() + work
    tokens = _END.set(min(end, _END.get())), _LAST_WORK.set(min(last_work, _LAST_WORK.get()))
    try:
        yield
    finally:
        _END.reset(tokens[0])
        _LAST_WORK.reset(tokens[1])


def raise_if_late(work: float = 0.0) -> float:
    """Count ``work``; the seconds that are left, inf without a deadline.

    Raises:
        TimeoutError: no time or no work is left.
    """
    _WORK.set(_WORK.get() + work)
    left = _END.get() - monotonic()
    if left <= 0 or _LAST_WORK.get() - _WORK.get() < 1:
        raise TimeoutError("a limit on time or work ended a search")
    return left


# -- threads ---------------------------------------------------------------------------------------


_SET_THREADS = tuple(
    f"{prefix}openblas_set_num_threads{suffix}"
    for prefix in ("scipy_", "")
    for suffix in ("", "64_", "_64")
)
"""Names of one function, in the builds of OpenBLAS that NumPy and others come with."""


class _Pools:
    """The thread pools of the BLAS libraries in use, held to one thread while anybody solves.

    OpenBLAS with its own threads has one thread count for the whole process. So the first holder
    sets it, and the last one restores what the first one found. Were each holder to restore what it
    found itself, the second of two overlapping solves would find 1 and leave the process at 1.
    Other threads' NumPy calls meanwhile run on one thread, too: slower, and right.

    The function is called directly, because threadpoolctl ignores calls from a second thread, and
    the last holder may be in another thread than the first. BLAS libraries that count per thread
    (``per_thread``) are left to threadpoolctl.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_holders = 0
        self._found: list[int] = []
        self._shared: list[tuple[Any, Callable[[int], object]]] = []
        controller, others = ThreadpoolController(), []
        for library in controller.lib_controllers:
            names = (name for name in _SET_THREADS if hasattr(library.dynlib, name))
            name = next(names, None)
            if name is None or library.info()["threading_layer"] != "pthreads":
                others.append(library.filepath)
            else:
                self._shared.append((library, getattr(library.dynlib, name)))
        self.per_thread = controller.select(filepath=others) if others else None

    def acquire(self) -> None:
        with self._lock:
            if not self._n_holders:
                self._found = [library.get_num_threads() for library, _ in self._shared]
                self._set([1] * len(self._shared))
            self._n_holders += 1

    def release(self) -> None:
        with self._lock:
            self._n_holders -= 1
            if not self._n_holders:
                self._set(self._found)

    def _set(self, counts: list[int]) -> None:
        for (_, set_threads), count in zip(self._shared, counts, strict=True):
            set_threads(count)


_FINDING = Lock()
"""Held while the pools are looked for, so that there is one count of holders."""


@cache
def _find_pools() -> _Pools:
    return _Pools()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run BLAS on one thread; solves in several threads may overlap.

    The matrices are small: threads would only wait for each other. Results are then the same
    whatever the machine's number of threads.
    """
    with _FINDING:
        pools = _find_pools()
    pools.acquire()
    try:
        with pools.per_thread.limit(limits=1) if pools.per_thread else nullcontext():
            yield
    finally:
        pools.release()
