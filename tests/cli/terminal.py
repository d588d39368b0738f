"""Commands run as real processes, on a real terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.cli import run
from tests.cli.clinic import Answer
from tests.processes import run_command, start

COLUMNS = 80

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def process(*arguments: object) -> Answer:
    """A command whose output goes into pipes."""
    out, into_out = os.pipe()
    err, into_err = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    streams = {0: nothing, 1: into_out, 2: into_err}
    running = start(run_command, [*map(str, arguments)], streams=streams)
    with os.fdopen(out) as printed, os.fdopen(err) as complained:
        said = printed.read(), complained.read()
    running.join()
    assert running.exitcode is not None
    return Answer(running.exitcode, *said)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a command sent to its terminal, stderr included, and its exit code."""

    code: int
    sent: str

    @property
    def lines(self) -> list[str]:
        """The lines that stay on the screen: without colours, without what was overwritten."""
        text = _CONTROL.sub("", self.sent).replace("\r\n", "\n")
        return [line.rpartition("\r")[2].rstrip() for line in text.splitlines()]


def on_terminal(
    *commands: Sequence[object], typed: Sequence[str] = (), columns: int = COLUMNS
) -> list[Shown]:
    """Run commands one after the other in a session of a terminal.

    Args:
        commands: what is typed after ``tacit``.
        typed: answers to questions that end in ``[y/N]``.
        columns: of the terminal.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    words = [[*map(str, command)] for command in commands]
    running = start(_run_session, words, streams=dict.fromkeys((0, 1, 2), theirs))
    sent = _read_all(ours, list(typed))
    os.close(ours)
    running.join()
    parts = re.split(
        r"^\$ tacit \w+\r\n(.*?)^exit code (\d+)\r\n", sent, flags=re.DOTALL | re.MULTILINE
    )
    return [Shown(int(code), said) for said, code in zip(parts[1::3], parts[2::3], strict=True)]


def _run_session(commands: Sequence[Sequence[str]]) -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C reaches it
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    os.environ["TERM"] = "xterm-256color"
    for words in commands:
        print(f"$ tacit {words[0]}", flush=True)
        print(f"exit code {run(words)}", flush=True)


def _read_all(terminal: int, typed: list[str]) -> str:
    sent, n_asked = b"", 0
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # the other side is closed: so Linux says the end
            return sent.decode()
        sent += chunk
        if typed and sent.count(b"[y/N]") > n_asked:
            n_asked += 1
            os.write(terminal, typed.pop(0).encode())
