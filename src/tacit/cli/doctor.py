"""The command ``tacit doctor``: whether an installation works, and how to get what is missing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Literal

import typer

from tacit.cli.display import plain, show_json, show_rows, waiting
from tacit.cli.failure import PACKAGES
from tacit.cli.options import AsJson
from tacit.errors import TacitError

BROKEN = 1
"""Exit code where something that is needed does not work."""

_PROGRAM_SECONDS = 30

_LEAST_JAVA = 17
"""What Spark 4 needs."""

_PROGRAMS = {
    "Java": ("pyspark", ("java",), "-version", "install Java 17, and set JAVA_HOME"),
    "Chromium": (
        "playwright",
        ("chromium", "chromium-browser", "google-chrome"),
        "--version",
        "install Chromium with the system's packages",
    ),
}
"""A program -> the package that wants it, its names, what makes it tell its version, a remedy."""


@dataclass(frozen=True, slots=True)
class Check:
    """What was found about one part.

    Attributes:
        part: of the installation.
        state: ``ok``; ``absent``, which is no fault; or ``broken``.
        found: what is there, or what is wrong.
        remedy: what to do about it; empty if nothing.
    """

    part: str
    state: Literal["ok", "absent", "broken"]
    found: str
    remedy: str = ""


def doctor(as_json: AsJson = False) -> None:
    """Check this installation.

    Says what is missing and how to get it. An extra that is not installed is no fault.
    """
    with waiting("checking the installation"):
        checks = list(_checks())
    n_broken = sum(check.state == "broken" for check in checks)
    if as_json:
        show_json({"checks": list(map(asdict, checks)), "is_whole": n_broken == 0})
    else:
        rows = [(check.state, check.part, _in_words(check)) for check in checks]
        show_rows(("", "part", "found"), rows, wide=2)
        print("everything that is installed works" if not n_broken else f"broken: {n_broken}")
    if n_broken:
        raise typer.Exit(BROKEN)


def _in_words(check: Check) -> str:
    return plain(f"{check.found}: {check.remedy}" if check.remedy else check.found)


def _checks() -> Iterator[Check]:
    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Check("tacit", "ok", f"{version('tacit')}, {python}")
    yield _try("kernel", _solve_twice, "install tacit again, so that it is built for this machine")
    yield _try("BLAS", _find_blas, "install NumPy again")
    for extra, packages in PACKAGES.items():
        yield _check_extra(extra, packages)
    if find_spec("sqlalchemy") is not None:
        yield _try("ledger", _open_ledger, "correct the variable TACIT_LEDGER, or start its server")
    for program in _PROGRAMS:
        yield _check_program(program)


def _try(part: str, find: Callable[[], str], remedy: str) -> Check:
    """Whether a part does what it is there for; anything that it raises is what is wrong."""
    try:
        return Check(part, "ok", find())
    except (TacitError, ImportError, OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        said = " ".join(str(error).split())
        still = "" if remedy in said else remedy
        return Check(part, "broken", said or type(error).__name__, still)


def _solve_twice() -> str:
    """Solve a small problem, first in a process of its own: a damaged library may end it."""
    alone = [sys.executable, "-c", "from tacit.cli.doctor import solve_small; solve_small()"]
    ended = subprocess.run(alone, capture_output=True, check=False, timeout=_PROGRAM_SECONDS)
    if ended.returncode < 0:
        raise RuntimeError(f"tacit's compiled kernel is damaged: signal {-ended.returncode}")
    return solve_small()


def solve_small() -> str:
    """Solve a small problem, and say how well."""
    import numpy as np

    import tacit

    joint = np.array([[[0.4, 0.1], [0.1, 0.4]]])
    solution = tacit.solve(tacit.Problem(joint, individual=0.1))
    return f"solves a small problem with a gap of {solution.gap:.0e}"


def _find_blas() -> str:
    """The library that NumPy has loaded, once the kernel can call it."""
    from threadpoolctl import ThreadpoolController

    from tacit.solvers.kernel import blas

    blas.borrow()
    found = {
        f"{library['internal_api']} {library['version'] or ''}".strip()
        for library in ThreadpoolController().info()
        if library["user_api"] == "blas"
    }
    return ", ".join(sorted(found)) or "one that threadpoolctl does not know; its threads stay on"


def _open_ledger() -> str:
    """Look at the ledger for new studies; its folder is made, as the first study would."""
    from tacit.ledger import Ledger, default_ledger
    from tacit.ledger.database import parse_address, shown_address

    address = default_ledger()
    Ledger.check(address)
    return shown_address(parse_address(address))


def _check_extra(extra: str, packages: tuple[str, ...]) -> Check:
    """Whether the packages of an extra can be imported."""
    part, remedy = f"tacit[{extra}]", f"pip install 'tacit[{extra}]'"
    missing, present = [], []
    for package in packages:
        if find_spec(package) is None:
            missing.append(package)
            continue
        try:
            import_module(package)
        except (ImportError, OSError) as error:
            return Check(part, "broken", f"{package} cannot be imported ({error})", remedy)
        present.append(package)
    if missing:
        return Check(part, "absent", f"not installed: {', '.join(missing)}", remedy)
    return Check(part, "ok", ", ".join(present))


def _check_program(program: str) -> Check:
    """Whether a program is there, where a package wants it."""
    package, names, option, remedy = _PROGRAMS[program]
    if find_spec(package) is None:
        return Check(program, "absent", f"not needed, because {package} is not installed")
    home = os.environ.get("JAVA_HOME") if program == "Java" else None
    path = f"{home}/bin" if home else None  # Spark looks nowhere else then
    place = next(filter(None, (shutil.which(name, path=path) for name in names)), None)
    if place is None:
        where = f" in {path}" if path else ""
        return Check(program, "broken", f"{package} needs it, and it is not found{where}", remedy)
    tell = _java_version if program == "Java" else _told_version
    return _try(program, lambda: tell(place, option), remedy)


def _java_version(place: str, option: str) -> str:
    told = _told_version(place, option)
    version_told = re.search(r'version "?(\d+)', told)  # "1.8.0" is Java 8
    if version_told and int(version_told[1]) < _LEAST_JAVA:
        raise RuntimeError(f"{told}: too old for Spark")
    return told


def _told_version(place: str, option: str) -> str:
    told = subprocess.run(
        [place, option], capture_output=True, text=True, check=False, timeout=_PROGRAM_SECONDS
    )
    if told.returncode:
        raise RuntimeError(f"{place} ends with exit code {told.returncode}")
    return f"{place}, {(told.stdout or told.stderr).strip().partition(os.linesep)[0]}"
