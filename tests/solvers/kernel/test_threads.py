"""One BLAS thread while solves run, in a process where several threads solve at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tacit import Problem, solve
from tacit.solvers.kernel import one_thread

WAIT = 30.0  # seconds; a test that hangs fails


def thread_counts() -> list[int]:
    """Threads of NumPy's BLAS; other packages may have brought their own."""
    return [
        library["num_threads"] for library in threadpool_info() if "numpy" in library["filepath"]
    ]


@pytest.fixture(autouse=True)
def _two_threads() -> object:
    """More than one thread to begin with, whatever the machine."""
    with threadpool_limits(limits=2, user_api="blas"):
        assert set(thread_counts()) == {2}
        yield
        assert set(thread_counts()) == {2}


def test_overlapping_holders_restore_what_the_first_one_found() -> None:
    """A enters, B enters, A leaves, B leaves: the order in which each restoring its own fails."""
    b_is_in, a_is_out = Event(), Event()

    def hold_second() -> list[int]:
        with one_thread():
            b_is_in.set()
            assert a_is_out.wait(WAIT)
            return thread_counts()

    with ThreadPoolExecutor(1) as pool:
        with one_thread():
            second = pool.submit(hold_second)
            assert b_is_in.wait(WAIT)
            assert set(thread_counts()) == {1}
        a_is_out.set()
        assert set(second.result(WAIT)) == {1}
    assert set(thread_counts()) == {2}


def test_an_exception_restores_the_threads() -> None:
    with pytest.raises(ZeroDivisionError), one_thread(), one_thread():
        _ = 1 / 0
    assert set(thread_counts()) == {2}


def test_solves_in_two_threads_beside_numpy_in_a_third() -> None:
    rng = np.random.default_rng(0)
    joints = [rng.dirichlet(np.ones(60)).reshape(4, 5, 3) for _ in range(12)]
    problems = [Problem(joint, individual=0.1) for joint in joints]
    alone = [solve(problem) for problem in problems]
    matrix = rng.random((200, 200))
    product = matrix @ matrix
    together, is_over = Barrier(3), Event()

    def solve_all() -> list[float]:
        together.wait(WAIT)
        return [solve(problem).value for problem in problems]

    def multiply() -> None:
        together.wait(WAIT)
        while not is_over.is_set():
            np.testing.assert_allclose(matrix @ matrix, product, rtol=1e-12)

    with ThreadPoolExecutor(3) as pool:
        solving = [pool.submit(solve_all) for _ in range(2)]
        multiplying = pool.submit(multiply)
        values = [future.result(WAIT) for future in solving]
        is_over.set()
        multiplying.result(WAIT)
    assert values == [[solution.value for solution in alone]] * 2
    assert set(thread_counts()) == {2}
