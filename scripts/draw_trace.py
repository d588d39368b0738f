"""Draw which files of tacit one request passes through: ``make trace``.

``tacit release`` runs on the demo's table and ``tacit.solve`` on one problem, each once before it
is traced, so that imports are not counted. Python's profiler then reports every call in every
thread. The pictures in docs/figures are for CONTRIBUTING.md.
"""

from __future__ import annotations

import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from html import escape
from io import StringIO
from math import log10
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import numpy as np

import tacit

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "figures"
PACKAGE = Path(tacit.__file__).parent


@dataclass(frozen=True, slots=True)
class Trace:
    """The files that one request passed through.

    Attributes:
        request: what was traced.
        calls: file, relative to the package -> calls of its functions, in order of the first.
        changes: how often a call was in another file than the call before it.
    """

    request: str
    calls: dict[str, int]
    changes: int

    @property
    def rooms(self) -> list[str]:
        """Rooms of the files, from the highest layer of the import contract to the lowest."""
        return sorted({room_of(file) for file in self.calls}, key=_layers().index)


class Profile:
    """Counts calls while it is the profile function of every thread."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.changes = 0
        self._last = ""

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Count one event, if it is a call of a function of tacit's."""
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(str(PACKAGE)):
            return
        file = Path(path).relative_to(PACKAGE).as_posix()
        self.calls[file] = self.calls.get(file, 0) + 1
        self.changes += self._last not in ("", file)
        self._last = file

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the calls made inside."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def trace(request: str, make: Callable[[], object]) -> Trace:
    """Make a request and count the calls."""
    profile = Profile()
    with profile.running():
        make()
    return Trace(request, profile.calls, profile.changes)


def trace_solve() -> Trace:
    """One certified solution, of a problem with an earlier release."""
    joint = np.random.default_rng(1).dirichlet(np.ones(60)).reshape(4, 5, 3)
    problem = tacit.Problem(joint, individual=0.1, collusion=0.5)
    tacit.solve(problem)
    return trace("tacit.solve", lambda: tacit.solve(problem))


def trace_release() -> Trace:
    """A release to a second party, with limits on each, on any two and on everyone."""
    from tacit.cli import run
    from tacit.cli.demo import write_people

    def command(*words: str) -> None:
        with redirect_stdout(StringIO()) as said:
            code = run(list(words))
        if code != 0:
            raise SystemExit(f"tacit {' '.join(words)} ended with {code}: {said.getvalue()}")

    with TemporaryDirectory() as folder:
        environ["TACIT_LEDGER"] = f"sqlite:///{folder}/ledger.sqlite"
        write_people(Path(folder))
        clinic = f"{folder}/clinic"
        groups = f"education:map={folder}/education.json"
        private = ("--private", "age:cut=30,45,60", "--private", groups, "--private", "income")
        table = ("--table", f"{folder}/people.csv", "--id", "person")
        command("init", clinic, *table, *private, "--everyone", "0.9")
        command("limit", clinic, "lab-a", "--bits", "0.3")
        command("limit", clinic, "lab-b", "--bits", "0.3")
        command("limit", clinic, "any 2", "--bits", "0.5")
        command("release", clinic, "lab-a", "education", "--out", f"{folder}/a.parquet")
        second = ("lab-b", "income", "--bits", "0.2", "--out", f"{folder}/b.parquet")
        return trace("tacit release", lambda: command("release", clinic, *second))


TRACES = {"trace_release.svg": trace_release, "trace_solve.svg": trace_solve}


def room_of(file: str) -> str:
    """The room of a file: its folder in the package, or the module itself."""
    return file.partition("/")[0].removesuffix(".py")


def _layers() -> list[str]:
    """Rooms from the highest to the lowest, as in the import contract; first the package."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contract = tomllib.loads(text)["tool"]["importlinter"]["contracts"][0]
    return ["__init__", *(room for layer in contract["layers"] for room in layer.split(" | "))]


_STYLE = """
    .card { fill: #ffffff; stroke: #d0d7de; }
    .room { fill: #f3f5f8; }
    .name { font-weight: 600; fill: #1f2328; }
    .quiet { fill: #636c76; }
    .file { fill: #1f2328; stroke: #f3f5f8; stroke-width: 3px; paint-order: stroke; }
    .way { fill: none; stroke: #2f6fde; stroke-width: 2.5px; stroke-linecap: round; }
    .stop { fill: #2f6fde; stroke: #f3f5f8; stroke-width: 1.5px; }
    text { font: 12px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
    .title { font-size: 17px; }
    @media (prefers-color-scheme: dark) {
      .card { fill: #0d1117; stroke: #30363d; }
      .room { fill: #1a2029; }
      .name, .file { fill: #e6edf3; }
      .file { stroke: #1a2029; }
      .quiet { fill: #9198a1; }
      .way { stroke: #79b0ff; }
      .stop { fill: #79b0ff; stroke: #1a2029; }
    }
"""

_MARGIN, _ROW, _TOP, _BEND = 20, 23, 128, 8
_NARROWEST, _NARROW_ROOM, _LONG_NAME = 860, 88, 180


def draw(traced: Trace) -> str:
    """The picture, as SVG: a column for each room, a row for each file, one line through all."""
    rooms = traced.rooms
    column = max(_NARROW_ROOM, (_NARROWEST - 2 * _MARGIN) // len(rooms))
    width = 2 * _MARGIN + column * len(rooms)
    bottom = _TOP + _ROW * len(traced.calls)
    stops = [
        (
            _MARGIN + column * rooms.index(room_of(file)) + _NARROW_ROOM / 2,
            _TOP + _ROW * (row + 0.5),
        )
        for row, file in enumerate(traced.calls)
    ]
    parts = [
        f'<rect class="card" x=".5" y=".5" width="{width - 1}" height="{bottom + 35}" rx="10"/>',
        *_heading(traced),
        *(
            _room(traced, room, _MARGIN + column * i, column, bottom)
            for i, room in enumerate(rooms)
        ),
        f'<path class="way" d="{_way(stops)}"/>',
        *(
            _stop(file, calls, x, y, is_left=x + _LONG_NAME > width)
            for (file, calls), (x, y) in zip(traced.calls.items(), stops, strict=True)
        ),
    ]
    size = f'width="{width}" height="{bottom + 36}" viewBox="0 0 {width} {bottom + 36}"'
    lines = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n'
        f"  <style>{_STYLE}  </style>\n  {lines}\n</svg>\n"
    )


def _heading(traced: Trace) -> list[str]:
    files = f"{len(traced.calls)} files in {len(traced.rooms)} rooms"
    told = (
        "A dot is a file, the number its calls. Files come in the order in which they are first "
        "entered, from top to bottom."
    )
    counts = f"{files}, {traced.changes} changes of file"
    return [
        f"<title>{escape(traced.request)} passes through {files}</title>",
        f'<text class="name title" x="{_MARGIN}" y="36">{escape(traced.request)}</text>',
        f'<text class="quiet title" x="{_MARGIN + 130}" y="36">{counts}</text>',
        f'<text class="quiet" x="{_MARGIN}" y="58">{told}</text>',
        f'<text class="quiet" x="{_MARGIN}" y="75">A room imports only rooms to its right.</text>',
    ]


def _room(traced: Trace, room: str, x: float, width: float, bottom: float) -> str:
    n_files = sum(room_of(file) == room for file in traced.calls)
    files = "1 file" if n_files == 1 else f"{n_files} files"
    name = "tacit" if room == "__init__" else room
    middle = x + width / 2
    return (
        f'<rect class="room" x="{x + 2}" y="{_TOP - 38}" width="{width - 4}" '
        f'height="{bottom - _TOP + 52}" rx="8"/>'
        f'<text class="name" x="{middle}" y="{_TOP - 20}" text-anchor="middle">{name}</text>'
        f'<text class="quiet" x="{middle}" y="{_TOP - 5}" text-anchor="middle">{files}</text>'
    )


def _way(stops: list[tuple[float, float]]) -> str:
    """One line through the stops: down, across between two rows, down, with round bends."""
    (x, y), *later = stops
    steps = [f"M{x} {y}"]
    for to_x, to_y in later:
        if to_x == x:
            steps.append(f"V{to_y}")
        else:
            middle, turn = (y + to_y) / 2, _BEND if to_x > x else -_BEND
            steps += [
                f"V{middle - _BEND}Q{x} {middle} {x + turn} {middle}",
                f"H{to_x - turn}Q{to_x} {middle} {to_x} {middle + _BEND}V{to_y}",
            ]
        x, y = to_x, to_y
    return "".join(steps)


def _stop(file: str, calls: int, x: float, y: float, *, is_left: bool) -> str:
    """A file: a dot, larger for more calls, and the name beside it."""
    within = file.removesuffix(".py").removesuffix("/__init__")
    name = within.partition("/")[2] or within
    radius = round(4 + 1.2 * log10(calls), 1)
    at, anchor = (x - 11, "end") if is_left else (x + 11, "start")
    return (
        f'<circle class="stop" cx="{x}" cy="{y}" r="{radius}"/>'
        f'<text class="file" data-file="{file}" x="{at}" y="{y + 4}" text-anchor="{anchor}">'
        f'{name}<tspan class="quiet" dx="5">{calls}</tspan></text>'
    )


def main() -> None:
    """Draw the pictures."""
    for name, run in TRACES.items():
        traced = run()
        (FIGURES / name).write_text(draw(traced), encoding="utf-8")
        print(f"{FIGURES / name}: {len(traced.calls)} files, {traced.changes} changes of file")


if __name__ == "__main__":
    main()
