"""One BLAS thread while a kernel runs: the matrices are small and NumPy's and SciPy's pools fight.

It also makes results the same whatever the machine's default thread count.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401  (loads SciPy's own BLAS, so that the controller sees it)
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Context in which BLAS runs on one thread."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1)
    return limited
