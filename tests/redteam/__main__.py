"""All attacks, long: ``python -m tests.redteam --minutes 10``; ends with 1 if one succeeds."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tacit.tables.questions.cells import Cells
from tests.redteam.forger import try_cases
from tests.redteam.hostile import expressions, try_expression
from tests.redteam.studies import make_study, write_table

SLOWEST = 90
"""Seconds that one random study may take before it is given up, and counted as slow."""

VISITS = 20
FORGED_AT_ONCE = 100


@dataclass(slots=True)
class Line:
    """What one kind of attack came to."""

    attack: str
    tried: int = 0
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.redteam", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for all of it, about")
    end = time.monotonic() + 60 * parser.parse_args().minutes
    lines = [_tests(), _expressions(), _ledgers(end), _visits(end), _lives(end), _accounts(end)]
    print(f"{'attack':<44} {'tried':>7} {'succeeded':>9}")
    for line in lines:
        print(f"{line.attack:<44} {line.tried:>7} {len(line.faults):>9}")
        for said in (*line.faults, *line.remarks):
            print(f"    {said}")
    return int(any(line.faults for line in lines))


def _tests() -> Line:
    """The short attacks, as in ``make test``."""
    folder = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    *_, last = done.stdout.splitlines() or [done.stderr]
    failed = [said for said in done.stdout.splitlines() if said.startswith(("FAILED", "ERROR"))]
    if done.returncode and not failed:
        failed = [f"pytest ended with {done.returncode}"]
    passed = re.search(r"(\d+) passed", last)
    n_passed = int(passed[1]) if passed else 0
    return Line("tests of this folder", n_passed + len(failed), failed, [last])


def _expressions() -> Line:
    line = Line("hostile expressions")
    with TemporaryDirectory() as name:
        place = Path(name)
        rows = [(f"r{n}", ("red", "blue", "green")[n % 3]) for n in range(60)]
        table = write_table(place / "t.csv", ("id", "colour"), rows)
        with make_study(place / "study", table, id="id", private=["colour"]) as study:
            cells = Cells(study.attributes)
        for sql in expressions(place / "secret.txt"):
            line.tried += 1
            try:
                try_expression(cells, sql)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                line.faults.append(f"{sql[:60]!r}: {error!r}"[:200])
    return line


def _ledgers(end: float) -> Line:
    """Forged ledgers, for a quarter of the time."""
    line, found = Line("forged ledgers"), Counter[str]()
    until = time.monotonic() + (end - time.monotonic()) / 4
    with TemporaryDirectory() as name:
        first = 0
        while time.monotonic() < until:
            place = Path(name) / str(first)
            place.mkdir()
            for each in try_cases(place, range(first, first + FORGED_AT_ONCE), seed=1):
                line.tried += 1
                found[each.verdict] += 1
                if each.verdict == "raw":
                    line.faults.append(f"case {each.case} ({each.forgery}): {each.said}"[:200])
            first += FORGED_AT_ONCE
    line.remarks.append(", ".join(f"{verdict}: {n}" for verdict, n in found.most_common()))
    return line


def _visits(end: float) -> Line:
    """A party that comes back: how long each visit takes, and whether limits hold."""
    line = Line(f"a party that comes back {VISITS} times (Adult)")
    seconds, timeout = [], max(1.0, (end - time.monotonic()) / 2)
    for visit in _said("tests.redteam.returning", VISITS, timeout=timeout, line=line):
        line.tried += 1
        line.faults += visit["faults"]
        seconds.append(f"{visit['seconds']:.1f}" + ("r" if visit["refusal"] else ""))
    line.remarks.append(f"seconds for each visit (r: refused): {' '.join(seconds)}")
    return line


def _lives(end: float) -> Line:
    """Ten lives for each seed, for half of the time that is left."""
    line, number = Line("lives of studies"), 0
    until = time.monotonic() + (end - time.monotonic()) / 2
    while (left := until - time.monotonic()) > 0:
        command = [sys.executable, "-m", "tests.redteam.lives", str(number)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=left, check=False)
        except subprocess.TimeoutExpired:
            line.remarks.append(f"seed {number} was given up after {left:.0f} seconds")
            break
        line.tried += 1
        if done.returncode:
            line.faults.append(f"seed {number}: {done.stderr.decode()}")
        number += 1
    return line


def _accounts(end: float) -> Line:
    """Random studies until the time is over."""
    line, outcomes, seed = Line("accounts of random studies"), Counter[str](), 1000
    while (left := end - time.monotonic()) > 0:
        timeout = min(SLOWEST, left)
        for found in _said("tests.redteam.adversary", seed, timeout=timeout, line=line):
            line.tried += found["compared"]
            outcomes.update(found["outcomes"])
            outcomes["undecided"] += found["undecided"]
            outcomes["more told than bits asked"] += len(found["overshot"])
            line.faults += [f"seed {seed}: {fault}" for fault in found["faults"]]
            line.remarks += [f"seed {seed}: {each}" for each in found["unclean"]]
        seed += 1
    counted = ", ".join(f"{name}: {count}" for name, count in outcomes.most_common() if count)
    line.remarks.insert(0, f"{seed - 1000} studies; {counted}")
    return line


def _said(module: str, argument: int, timeout: float, line: Line) -> Iterator[dict[str, Any]]:
    """JSON lines of another process, as far as it came; a traceback is a fault."""
    command = [sys.executable, "-m", module, str(argument)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
        output = done.stdout
        if done.returncode:
            *_, last = done.stderr.decode().splitlines()
            line.faults.append(f"{module} {argument} broke: {last}")
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        line.remarks.append(f"{module} {argument} was given up after {timeout:.0f} seconds")
    yield from map(json.loads, output.splitlines())


if __name__ == "__main__":
    sys.exit(main())
