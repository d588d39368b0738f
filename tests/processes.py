"""Processes of the tests: forks of one process that has imported all that they need."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from multiprocessing import forkserver, reduction
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

from tacit.cli import main
from tests.pages import ROOT

_CONTEXT = multiprocessing.get_context("forkserver")

_CONTEXT.set_forkserver_preload(
    [
        "tests.ledger.workers",
        "tests.study.requesting",
        "cryptography.hazmat.primitives.kdf.hkdf",
        "pandas",  # pyarrow imports it where it is installed
        "psycopg",
        "pytest",  # the main module, which multiprocessing imports in every process
        "sqlalchemy.dialects.postgresql",
        "sqlalchemy.dialects.sqlite",
        "tacit.cli.serve",
        "tacit.service.serve",
    ]
)


def forks() -> ForkServerContext:
    """What makes processes that are forks of the one that has imported all.

    That one is started here, not when this module is imported: it imports this module itself.
    """
    # It imports from the folder where it starts. Elsewhere it would find other packages' tests.
    with chdir(ROOT):
        forkserver.ensure_running()
    return _CONTEXT


def start(
    target: Callable[..., None], *arguments: object, streams: Mapping[int, int]
) -> ForkServerProcess:
    """A process of its own session that calls a function.

    It has the environment and the folder of this one.

    Args:
        target: the function, of a module that can be imported.
        arguments: of it.
        streams: 0, 1 or 2 -> what is its standard input, output or error; closed here.
    """
    given = {number: _Handed(found) for number, found in streams.items()}
    place = (Path.cwd(), dict(os.environ))
    process = forks().Process(target=_be, args=(target, arguments, given, *place))
    process.start()
    for found in set(streams.values()):
        os.close(found)
    return process


def run_command(words: Sequence[str]) -> None:
    """Be the command ``tacit``."""
    sys.argv = ["tacit", *words]
    main()


class _Handed:
    """A file descriptor that a new process gets."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __reduce__(self) -> tuple[Callable[[Any], int], tuple[Any]]:
        return _detach, (reduction.DupFd(self._descriptor),)


def _detach(handed: Any) -> int:
    found: int = handed.detach()
    return found


def _be(
    target: Callable[..., None],
    arguments: Sequence[object],
    streams: Mapping[int, int],
    folder: Path,
    variables: Mapping[str, str],
) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    for number, found in streams.items():
        os.dup2(found, number)
        os.close(found)
    # Those that were there are closed, or remember that their files could be searched.
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    target(*arguments)
