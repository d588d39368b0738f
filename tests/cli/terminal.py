"""Commands run as real processes, on a real terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

COLUMNS = 80

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_COMMAND = [sys.executable, "-m", "tacit.cli"]

_AS_ITS_OWN = """
import fcntl, termios
from tacit.cli import main
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C reaches it
main()
"""


def process(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command whose output goes into pipes."""
    command = [*_COMMAND, *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )


def on_terminal(*arguments: object, cwd: Path | None = None, typed: str = "") -> tuple[int, str]:
    """Exit code and everything that a command sent to its terminal, stderr included.

    Args:
        typed: sent once the command has said something.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    keep = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-c", _AS_ITS_OWN, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env=keep | {"TERM": "xterm-256color"},
        start_new_session=True,
    ) as running:
        os.close(theirs)
        sent = _read_all(ours, typed)
        os.close(ours)
    return running.returncode, sent


def _read_all(terminal: int, typed: str) -> str:
    chunks = []
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # the other side is closed: so Linux says the end
            break
        if not chunk:
            break
        chunks.append(chunk)
        if typed and b"[y/N]" in b"".join(chunks):
            os.write(terminal, typed.encode())
            typed = ""
    return b"".join(chunks).decode()


def seen(sent: str) -> list[str]:
    """The lines that stay on the screen: without colours, without what was overwritten."""
    text = _CONTROL.sub("", sent).replace("\r\n", "\n")
    return [line.rpartition("\r")[2].rstrip() for line in text.splitlines()]
