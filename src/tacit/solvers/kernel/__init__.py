"""The compiled interior point: C sources beside this file, and how Python calls them.

The library is built when tacit is installed (``hatch_build.py``). It borrows BLAS and LAPACK from
SciPy. Its structs are mirrored here field by field: ``kernel.h`` says what each means.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack

_LIBRARY = Path(__file__).with_name(
    "tacit_kernel.dll" if sys.platform == "win32" else "tacit_kernel.so"
)


class _Lapack(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ("dsyrk", "dtrmm", "dgesv", "dpotrf", "dpotrs", "dtrtri")
    ]


class KernelProblem(ctypes.Structure):
    """``Problem`` of kernel.h."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("n_rhat", "n_z", "n_x", "n_views", "n_rows")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "mass",
                "cost",
                "view_of_row",
                "row_of_z",
                "law",
                "budget",
                "is_exact",
                "price",
            )
        ),
        *(
            (name, ctypes.c_double)
            for name in ("frugality", "gap_tol", "frugal_tol", "row_stiffness")
        ),
        ("is_multiplicative", ctypes.c_bool),
    ]


class KernelOutcome(ctypes.Structure):
    """``Outcome`` of kernel.h."""

    _fields_ = [
        *(
            (name, ctypes.c_void_p)
            for name in ("channel", "is_zero", "witness", "multiplier", "row_force", "full_force")
        ),
        ("frugality", ctypes.c_double),
        ("bound", ctypes.c_double),
        ("waste", ctypes.c_double),
        ("steps", ctypes.c_int),
    ]


def run_kernel(problem: KernelProblem, outcome: KernelOutcome) -> None:
    """Solve one problem; the caller owns every array that the two structs point to."""
    minimise, lapack = _kernel()
    if not minimise(ctypes.byref(lapack), ctypes.byref(problem), ctypes.byref(outcome)):
        cells = f"{problem.n_rhat} x {problem.n_z} x {problem.n_x}"
        raise MemoryError(
            f"a problem of {cells} letters of rhat, histories and records with {problem.n_rows} "
            "letters in its views is too large to be held or indexed: bound the memory of the "
            "scheme, or limit fewer coalitions"
        )


@cache
def _kernel() -> tuple[Callable[..., bool], _Lapack]:
    try:
        library = ctypes.CDLL(str(_LIBRARY))
        sizes = library.tacit_problem_bytes(), library.tacit_outcome_bytes()
        minimise = library.tacit_minimise
    except (OSError, AttributeError) as error:
        raise _not_usable(str(error)) from error
    if sizes != (ctypes.sizeof(KernelProblem), ctypes.sizeof(KernelOutcome)):
        raise _not_usable("it was built from other sources")
    minimise.restype = ctypes.c_bool
    minimise.argtypes = [ctypes.c_void_p] * 3
    blas, lapack = scipy.linalg.cython_blas.__pyx_capi__, scipy.linalg.cython_lapack.__pyx_capi__
    capsules = (
        blas["dsyrk"],
        blas["dtrmm"],
        lapack["dgesv"],
        lapack["dpotrf"],
        lapack["dpotrs"],
        lapack["dtrtri"],
    )
    return minimise, _Lapack(*map(_address, capsules))


def _not_usable(reason: str) -> ImportError:
    return ImportError(
        f"tacit's compiled kernel {_LIBRARY.name} cannot be loaded ({reason}): install tacit "
        "again, so that it is built for this machine"
    )


def _address(capsule: object) -> int | None:
    """The function in a capsule that Cython exports."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address: int | None = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return address
