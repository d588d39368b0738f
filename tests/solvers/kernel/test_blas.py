"""BLAS and LAPACK of the library that NumPy links."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tacit.solvers.kernel import blas


@pytest.fixture(autouse=True)
def _found_anew() -> object:
    blas.borrow.cache_clear()
    yield
    blas.borrow.cache_clear()


def test_every_function_is_found_once() -> None:
    addresses = blas.borrow()
    assert list(addresses) == list(blas.FUNCTIONS)
    assert len(set(addresses.values())) == len(addresses)
    assert all(addresses.values())


def test_a_library_with_32_bit_integers_serves_as_well() -> None:
    """SciPy's is one: it reads the low halves of what the kernel hands over."""
    from scipy.linalg import cython_lapack  # loads the library that it links

    library = ctypes.CDLL(cython_lapack.__file__)
    [spelling] = [each for each in blas._SPELLINGS if hasattr(library, each.format("dgetrf"))]
    assert "64" not in spelling
    names = {name: library[spelling.format(name)] for name in blas.FUNCTIONS}
    blas._check({name: ctypes.cast(each, ctypes.c_void_p).value for name, each in names.items()})


def test_a_library_that_answers_otherwise_is_refused() -> None:
    """As one would that reads the other half of an integer, and so sees no equation."""

    @ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 9)
    def leave(*_: int) -> None:
        """Solve nothing."""

    wrong = ctypes.cast(leave, ctypes.c_void_p).value
    with pytest.raises(ImportError, match="solves a system of two equations wrongly"):
        blas._check(blas.borrow() | {"dgetrs": wrong})


def test_without_any_library_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_libraries", lambda: iter(()))
    with pytest.raises(ImportError, match=rf"NumPy {np.__version__} links no .* from PyPI"):
        blas.borrow()


def test_libraries_that_are_loaded_serve_where_dependencies_are_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on Windows: NumPy's module stands before them, and shows none of the functions."""
    _, *others = blas._libraries()
    monkeypatch.setattr(blas, "_libraries", lambda: iter(others))
    assert all(blas.borrow().values())
