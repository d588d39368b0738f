"""When a search must end: one deadline for everything that runs inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic

_END: ContextVar[float] = ContextVar("end", default=inf)
"""On the clock of ``monotonic``."""


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Let solves inside end with TimeoutError after ``seconds``; ``None`` sets no limit."""
    end = inf if seconds is None else monotonic() + seconds
    token = _END.set(min(end, _END.get()))
    try:
        yield
    finally:
        _END.reset(token)


def raise_if_late() -> float:
    """Seconds that are left, inf without a deadline; TimeoutError where there are none."""
    left = _END.get() - monotonic()
    if left <= 0:
        raise TimeoutError("the time limit ended a search")
    return left
