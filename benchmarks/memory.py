"""Peak memory of one tacit.solve, in a process of its own: ``python -m benchmarks.memory SIZE``.

Prints one JSON object. No other solver is imported, so that the peak is tacit's.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import tacit
from benchmarks.problems import random_problem, size_named

ROOT = Path(__file__).resolve().parent.parent


def peak_gigabytes() -> float:
    """Largest resident size of this program so far, in 10^9 bytes.

    On Linux ``ru_maxrss`` survives exec: a child starts with its parent's peak. The high-water mark
    of the address space does not, so that is read where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        marks = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(marks[0].split()[1]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9  # macOS counts bytes


def measure_in_subprocess(size_name: str, gap_tol: float) -> dict[str, float]:
    """Peak gigabytes and seconds of a cold solve of the random problem of that size."""
    command = [sys.executable, "-m", "benchmarks.memory", size_name, str(gap_tol)]
    finished = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(finished.stdout)
    return measured


def main(size_name: str, gap_tol: float) -> None:
    """Solve and print what it took."""
    problem = random_problem(size_named(size_name))
    before = peak_gigabytes()
    start = time.perf_counter()
    tacit.solve(problem, gap_tol=gap_tol)
    seconds = time.perf_counter() - start
    print(json.dumps({"peak_gb": peak_gigabytes(), "before_gb": before, "seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
