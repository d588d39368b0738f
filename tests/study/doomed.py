"""A server that runs commands of tacit in forks of itself, and kills them at a chosen step.

Importing takes most of a short command's time, so the server imports tacit once and forks for each
command; what a command that came to its end imported beside, the server imports, too. The forks are
processes like any others: they run the real command line and die of a real SIGKILL, which they send
to themselves at the n-th step of their dealings with files and databases: just before and just
after each call that opens, writes, renames, locks, removes, executes or commits. Imports do not
count.

It reads a JSON line for each command, ``{"words": [...], "die_at": n or null}``, and answers with
one: ``{"code": exit code or -signal, "output": ..., "steps": names of the steps that were made}``.
At step 0 nobody dies, and without a step none are counted.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType, ModuleType
from typing import IO

FILE_CALLS = frozenset(
    (
        *("open", "write", "flush", "close", "fsync", "flock"),
        *("mkdir", "rename", "replace", "rmdir", "unlink"),
    )
)
DATABASE_CALLS = frozenset(["connect", "execute", "executemany", "commit", "rollback"])
COUNTED = FILE_CALLS | DATABASE_CALLS

_OF_PYTHON = ("call", "return")

IMPORTED = (
    "tacit.cli",
    "tacit.study.study",
    "psycopg",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "pandas",  # pyarrow imports it where it is installed
)
"""What every command imports when it runs."""


class Steps:
    """A profiler that counts steps, writes their names down, and dies at one of them."""

    def __init__(self, log: IO[str], die_at: int) -> None:
        self._log = log
        self._die_at = die_at
        self._done = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        called = frame.f_code.co_name if event in _OF_PYTHON else getattr(argument, "__name__", "")
        name = _name(frame, argument, event) if called in COUNTED else None
        if name is None or _is_importing(frame):
            return
        self._done += 1
        self._log.write(f"{'after' if 'return' in event else 'before'} {name}\n")
        if self._done == self._die_at:
            self._log.flush()
            os.kill(os.getpid(), signal.SIGKILL)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the step is part of an import, which another run of the command may not need."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _name(frame: FrameType, called: object, event: str) -> str | None:
    """What a step is called; ``None`` for a call that neither touches files nor databases."""
    if event in _OF_PYTHON:  # Python code: of these, only the driver of PostgreSQL counts
        name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
        is_driver = module in ("psycopg.connection", "psycopg.cursor")
        return f"psycopg {name}" if is_driver and name in DATABASE_CALLS else None
    name, owner = getattr(called, "__name__", ""), getattr(called, "__self__", None)
    if isinstance(owner, ModuleType):
        is_file = owner.__name__ in ("posix", "fcntl", "io", "_io") and name in FILE_CALLS
        return f"{owner.__name__} {name}" if is_file else None
    module = type(owner).__module__
    if module == "_io" and name in FILE_CALLS:
        return f"file {name}"
    return f"sqlite {name}" if module == "sqlite3" and name in DATABASE_CALLS else None


def _run(words: Sequence[str], die_at: int | None, place: Path) -> None:
    """Be the command ``tacit``; does not return."""
    from tacit.cli import main

    descriptor = os.open(place / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.argv = ["tacit", *words]
    code: object = 1
    with (place / "steps").open("w", buffering=1) as steps:
        sys.setprofile(None if die_at is None else Steps(steps, die_at))
        try:
            main()
        except SystemExit as end:
            code = end.code
        finally:
            sys.setprofile(None)
            sys.stdout.flush()
            sys.stderr.flush()
            (place / "modules").write_text("\n".join(sys.modules))
            os._exit(code if isinstance(code, int) else 0)


def _answer(words: Sequence[str], die_at: int | None) -> dict[str, object]:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        child = os.fork()
        if not child:
            _run(words, die_at, place)
        _, status = os.waitpid(child, 0)
        if (place / "modules").exists():
            _import((place / "modules").read_text().splitlines())
        return {
            "code": os.waitstatus_to_exitcode(status),
            "output": (place / "output").read_text(),
            "steps": (place / "steps").read_text().splitlines(),
        }


def _import(modules: Iterable[str]) -> None:
    for module in modules:
        with suppress(ImportError):
            import_module(module)


def serve() -> None:
    """Answer until there are no more lines."""
    _import(IMPORTED)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_answer(asked["words"], asked["die_at"])), flush=True)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code, or minus the signal that killed it."""

    code: int
    output: str
    steps: list[str]


class Doomed:
    """A client of the server."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self._server = server

    def rehearse(self, *words: str) -> Ended:
        """Run a command to its end, and count its steps."""
        return self.run(*words, die_at=0)

    def run(self, *words: str, die_at: int | None = None) -> Ended:
        """Run a command, to its end or to its death."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps({"words": words, "die_at": die_at}), file=self._server.stdin, flush=True)
        return Ended(**json.loads(self._server.stdout.readline()))


@contextmanager
def doomed() -> Iterator[Doomed]:
    """A running server."""
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_root()
    ) as server:
        yield Doomed(server)
        assert server.stdin is not None
        server.stdin.close()


def _root() -> Path:
    return Path(__file__).parents[2]


if __name__ == "__main__":
    serve()
