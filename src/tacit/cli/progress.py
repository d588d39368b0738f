"""Signs of life from long work, always on stderr: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

_LONG_SECONDS = 5.0
"""Work that takes longer says so where there is no terminal."""

_LONG_STEPS = 2_000_000
"""A release with fewer steps is written in about a second: no need for lines on its progress."""


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; elsewhere a line for each quarter of work that is long."""
    if not sys.stderr.isatty():
        yield _Quarters(what)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def waiting(what: str, seconds: float = _LONG_SECONDS) -> Iterator[None]:
    """A spinner on a terminal; elsewhere a line once work turns out to be long."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(what):
            yield
        return
    line = Timer(seconds, print, [f"{what} ..."], {"file": sys.stderr, "flush": True})
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()


class _Quarters:
    """Says a line whenever another quarter is done."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._said = 0

    def __call__(self, done: int, total: int) -> None:
        quarter = 4 * done // total
        if total >= _LONG_STEPS and self._said < quarter < 4:
            self._said = quarter
            print(f"{self._what}: {25 * quarter} %", file=sys.stderr, flush=True)
