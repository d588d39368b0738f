"""Processes that run a command, copied from one that has imported all that a server needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess

from tacit.cli import run

_CONTEXT = get_context("forkserver")
# Importing them takes longer than most tests of a server. ``pytest`` because multiprocessing
# imports the main module of its parent.
_CONTEXT.set_forkserver_preload(["pytest", "tacit.cli", "tacit.cli.serve", "tacit.service.serve"])


def start_command(words: Sequence[str]) -> tuple[ForkServerProcess, Connection]:
    """A process of its own group that runs a command, and the end of the pipe that it prints to."""
    reader, writer = _CONTEXT.Pipe(duplex=False)
    with writer:
        process = _CONTEXT.Process(target=_run, args=(words, writer, dict(os.environ)))
        process.start()
    return process, reader


def _run(words: Sequence[str], writer: Connection, variables: Mapping[str, str]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(variables)
    os.dup2(writer.fileno(), sys.stdout.fileno())
    sys.exit(run(words))
