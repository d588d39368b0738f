"""Commands run as real processes, on a real terminal of 80 columns."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = 80

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SESSION = """
import fcntl, json, sys, termios
from tacit.cli import run
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C reaches it
for words in json.loads(sys.argv[1]):
    print(f"$ tacit {words[0]}", flush=True)
    print(f"exit code {run(words)}", flush=True)
"""


def process(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command whose output goes into pipes."""
    command = [sys.executable, "-m", "tacit.cli", *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )


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
    *commands: Sequence[object],
    cwd: Path | None = None,
    typed: Sequence[str] = (),
    columns: int = COLUMNS,
) -> list[Shown]:
    """Run commands one after the other in a session of a terminal.

    Args:
        commands: what is typed after ``tacit``.
        cwd: where.
        typed: answers to questions that end in ``[y/N]``.
        columns: of the terminal.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    keep = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    words = json.dumps([[str(word) for word in command] for command in commands])
    with subprocess.Popen(
        [sys.executable, "-c", _SESSION, words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env=keep | {"TERM": "xterm-256color"},
        start_new_session=True,
    ):
        os.close(theirs)
        sent = _read_all(ours, list(typed))
        os.close(ours)
    parts = re.split(
        r"^\$ tacit \w+\r\n(.*?)^exit code (\d+)\r\n", sent, flags=re.DOTALL | re.MULTILINE
    )
    return [Shown(int(code), said) for said, code in zip(parts[1::3], parts[2::3], strict=True)]


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
