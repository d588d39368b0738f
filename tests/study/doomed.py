"""A server that runs commands of tacit in forks of itself, and kills them at a chosen step.

Importing takes most of a short command's time, so the server imports tacit once and forks for each
command; what a command that came to its end imported beside, the server imports, too. The forks are
processes like any others: they run the real command line and die of a real SIGKILL, which they send
to themselves at the n-th step of their dealings with files and databases: just before and just
after each call that opens, writes, renames, locks, removes, executes or commits. Imports do not
count.

It reads a JSON line for each command, ``{"words": [...], "die_at": n or null, "places": [...]}``,
and answers with one: ``{"code": exit code or -signal, "output": ..., "steps": names of the steps
that were made, "left": what is in the places at each step, as a digest}``. At step 0 nobody dies,
and without a step none are counted. A place is a folder or the URL of a PostgreSQL server.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
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

PARTIAL = ".partial"
"""How the name of a file or folder ends that is not finished."""

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
    """A profiler that counts steps, writes their names down, and dies at one of them.

    Beside each name it writes a digest of what is in the places.
    """

    def __init__(self, log: IO[str], die_at: int, places: Sequence[str]) -> None:
        self._log = log
        self._die_at = die_at
        self._places = places
        self._done = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        called = frame.f_code.co_name if event in _OF_PYTHON else getattr(argument, "__name__", "")
        name = _name(frame, argument, event) if called in COUNTED else None
        if name is None or _is_importing(frame):
            return
        self._done += 1
        when, left = "after" if "return" in event else "before", look_into(self._places)
        self._log.write(f"{left} {when} {name}\n")
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


def look_into(places: Sequence[str]) -> str:
    """What somebody else finds in the places now, which is what a process leaves that dies now."""
    found = hashlib.sha256()
    for place in places:
        for text in _transactions(place) if "://" in place else _files(Path(place)):
            found.update(text)
    return found.hexdigest()


def _files(folder: Path) -> Iterator[bytes]:
    """Names and contents; of what is unfinished the name alone: nobody reads it, and it is removed
    whatever is in it.
    """
    for path in sorted(folder.rglob("*")):
        if any(parent.suffix == PARTIAL for parent in path.parents):
            continue
        with suppress(FileNotFoundError):  # a thread of the command may just remove it
            has_content = path.is_file() and path.suffix != PARTIAL
            content = path.read_bytes() if has_content else b""
            yield f"{path} {path.stat().st_mode} {len(content)} ".encode() + content


def _transactions(url: str) -> Iterator[bytes]:
    """Which transactions that write have ended, and how many are open."""
    import psycopg

    n_open = "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid'"
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(f"SELECT pg_current_snapshot()::text, ({n_open})").fetchone()
    yield str(row).encode()


def _run(words: Sequence[str], die_at: int | None, places: Sequence[str], own: Path) -> None:
    """Be the command ``tacit``; does not return."""
    from tacit.cli import main

    descriptor = os.open(own / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.argv = ["tacit", *words]
    code: object = 1
    with (own / "steps").open("w", buffering=1) as steps:
        sys.setprofile(None if die_at is None else Steps(steps, die_at, places))
        try:
            main()
        except SystemExit as end:
            code = end.code
        finally:
            sys.setprofile(None)
            sys.stdout.flush()
            sys.stderr.flush()
            (own / "modules").write_text("\n".join(sys.modules))
            os._exit(code if isinstance(code, int) else 0)


def _answer(words: Sequence[str], die_at: int | None, places: Sequence[str]) -> dict[str, object]:
    with TemporaryDirectory() as folder:
        own = Path(folder)
        child = os.fork()
        if not child:
            _run(words, die_at, places, own)
        _, status = os.waitpid(child, 0)
        if (own / "modules").exists():
            _import((own / "modules").read_text().splitlines())
        lines = [line.split(" ", 1) for line in (own / "steps").read_text().splitlines()]
        return {
            "code": os.waitstatus_to_exitcode(status),
            "output": (own / "output").read_text(),
            "steps": [step for _, step in lines],
            "left": [left for left, _ in lines],
        }


_tried: set[str] = set()


def _import(modules: Iterable[str]) -> None:
    """Import what is new; a name that cannot be imported by itself is not tried again."""
    for module in set(modules) - _tried:
        with suppress(ImportError):
            import_module(module)
        _tried.add(module)


def serve() -> None:
    """Answer until there are no more lines."""
    _import(IMPORTED)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_answer(**asked)), flush=True)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code, or minus the signal that killed it."""

    code: int
    output: str
    steps: list[str]
    left: list[str]

    @property
    def kill_points(self) -> list[int]:
        """Numbers of steps to die at: the last before each change of what a death leaves.

        Nothing but files and committed transactions outlives a process, so a death at any other
        step leaves what a death at one of these does.
        """
        return [n for n, (now, then) in enumerate(pairwise([*self.left, ""]), 1) if now != then]


class Doomed:
    """A client of the server."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self._server = server

    def rehearse(self, *words: str, places: Sequence[Path | str] = ()) -> Ended:
        """Run a command to its end, count its steps, and look into the places at each of them."""
        return self._ask(words, 0, places)

    def run(self, *words: str, die_at: int | None = None) -> Ended:
        """Run a command, to its end or to its death."""
        return self._ask(words, die_at, ())

    def _ask(self, words: Sequence[str], die_at: int | None, places: Sequence[Path | str]) -> Ended:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        asked = {"words": words, "die_at": die_at, "places": [str(place) for place in places]}
        print(json.dumps(asked), file=self._server.stdin, flush=True)
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
