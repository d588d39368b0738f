"""The command ``tacit doctor``: what is installed and works, and how to get what is missing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
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

_LEAST_JAVA = 17
"""What Spark 4 needs."""


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
    yield _check_kernel()
    for extra, packages in PACKAGES.items():
        missing = [package for package in packages if find_spec(package) is None]
        part, remedy = f"tacit[{extra}]", f"pip install 'tacit[{extra}]'"
        if missing:
            yield Check(part, "absent", f"not installed: {', '.join(missing)}", remedy)
        else:
            yield Check(part, "ok", ", ".join(packages))
    if find_spec("pyspark") is not None:
        yield _check_java()


def _check_kernel() -> Check:
    """Whether the compiled kernel solves a small problem."""
    import numpy as np

    import tacit

    joint = np.array([[[0.4, 0.1], [0.1, 0.4]]])
    try:
        solution = tacit.solve(tacit.Problem(joint, individual=0.1))
    except (TacitError, ImportError) as error:  # it says what to do
        return Check("kernel", "broken", str(error))
    return Check("kernel", "ok", f"solves a small problem with a gap of {solution.gap:.0e}")


def _check_java() -> Check:
    """Whether there is a Java that is new enough for Spark, where Spark looks for it."""
    home = os.environ.get("JAVA_HOME")
    place = shutil.which("java", path=f"{home}/bin" if home else None)
    remedy = f"install Java {_LEAST_JAVA}, and set JAVA_HOME"
    if place is None:
        where = f" in {home}/bin" if home else ""
        return Check("Java", "broken", f"pyspark needs it, and it is not found{where}", remedy)
    told = subprocess.run([place, "-version"], capture_output=True, text=True, check=False).stderr
    major = re.search(r'version "?(\d+)', told)  # "1.8.0" is Java 8
    if major is None or int(major[1]) < _LEAST_JAVA:
        return Check("Java", "broken", f"{place} is too old for Spark, or does not work", remedy)
    return Check("Java", "ok", f"{place}, version {major[1]}")
