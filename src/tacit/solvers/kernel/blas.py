"""Functions of BLAS and LAPACK for the kernel, taken from the library that NumPy links.

NumPy's wheels carry OpenBLAS (or use Apple's Accelerate) with 64-bit integers; a distribution's
NumPy links one with 32-bit integers. The kernel calls both alike, see ``Integer`` of kernel.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.linalg._umath_linalg as numpy_lapack
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

FUNCTIONS = {
    "dgemv": "ciiddididdi",
    "dtrmv": "cccididi",
    "dsyrk": "cciiddiddi",
    "dtrmm": "cccciiddidi",
    "dtrsm": "cccciiddidi",
    "dgemm": "cciiiddididdi",
    "dgesv": "iidiidii",
    "dgetrf": "iidiii",
    "dgetrs": "ciidiidii",
    "dpotrf": "cidii",
    "dpotrs": "ciididii",
    "dtrtri": "ccidii",
    "dgeqrf": "iididdii",
}
"""What the kernel calls, and what the arguments point to: char, int or double."""

_SPELLINGS = (
    "scipy_{}_64_",  # NumPy's wheels; 64-bit integers
    "scipy_{}_",
    "{}$NEWLAPACK$ILP64",  # Apple's Accelerate
    "{}$NEWLAPACK",
    "{}_64_",
    "{}_",  # most distributions
    "{}",
)
"""What the functions are called in the libraries that NumPy may link."""


@cache
def borrow() -> dict[str, int]:
    """The address of each function, once a small system came out right.

    Raises:
        ImportError: NumPy's library lacks a function, or takes other integers.
    """
    for library in _libraries():
        for spelling in _SPELLINGS:
            names = [spelling.format(name) for name in FUNCTIONS]
            if all(hasattr(library, name) for name in names):
                addresses = (
                    ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in names
                )
                borrowed = dict(zip(FUNCTIONS, addresses, strict=True))
                _check(borrowed)
                return borrowed
    raise ImportError(
        f"NumPy {np.__version__} links no BLAS and LAPACK whose functions tacit's kernel finds: "
        "install NumPy from PyPI"
    )


def _libraries() -> Iterator[ctypes.CDLL]:
    """NumPy's own module, whose dependencies are searched with it; then what else is loaded.

    Windows searches no dependencies: there the library itself is among those that are loaded.
    """
    yield ctypes.CDLL(numpy_lapack.__file__)
    for library in ThreadpoolController().lib_controllers:
        if library.user_api == "blas":
            yield library.dynlib


def _check(addresses: dict[str, int]) -> None:
    """Solve 2 y = 2, 4 x + y = 9, whose rows must be exchanged.

    Integers and pivots are handed over as the kernel does it.
    """
    by_columns, side = np.array([0.0, 4.0, 2.0, 1.0]), np.array([2.0, 9.0])
    n, one, info, pivots = (np.array(each, dtype=np.int64) for each in ([2], [1], [0], [0, 0]))
    _call(addresses, "dgetrf", n, n, by_columns, n, pivots, info)
    as_it_is = np.array([b"N"])
    _call(addresses, "dgetrs", as_it_is, n, one, by_columns, n, pivots, side, n, info)
    if info.any() or not np.allclose(side, [2.0, 1.0]):
        raise ImportError(
            f"the LAPACK of NumPy {np.__version__} solves a system of two equations wrongly as "
            "tacit's kernel calls it: install NumPy from PyPI"
        )


def _call(addresses: dict[str, int], name: str, *arrays: NDArray[Any]) -> None:
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
    kind(addresses[name])(*(array.ctypes.data for array in arrays))
