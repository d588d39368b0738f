"""Commands in processes that are forked from one which has imported all that a server needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess

from tacit.cli import run
from tests.processes import PROCESSES


def start_command(words: Sequence[str]) -> tuple[ForkServerProcess, Connection]:
    """A process of its own group that runs a command, and the end of the pipe that it prints to."""
    reader, writer = PROCESSES.Pipe(duplex=False)
    with writer:
        process = PROCESSES.Process(target=_run, args=(words, writer, dict(os.environ)))
        process.start()
    return process, reader


def _run(words: Sequence[str], writer: Connection, variables: Mapping[str, str]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(variables)
    os.dup2(writer.fileno(), sys.stdout.fileno())
    sys.exit(run(words))
