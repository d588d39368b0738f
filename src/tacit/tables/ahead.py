"""Work done ahead by threads, taken in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

N_THREADS = min(4, os.cpu_count() or 1)
"""More would not help: writing the file is one thread's work, and as long as all the rest."""


def in_order(
    pool: ThreadPoolExecutor, function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """``function`` of each item, in order, computed a few items ahead and no more.

    Unlike ``pool.map``, which computes all of them, however slowly they are taken.
    """
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > N_THREADS:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
