"""Run the benchmarks: ``python -m benchmarks [suite ...]``.

Targets are printed beside what was measured and never decide the exit status.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import scipy.linalg  # noqa: F401  (loads SciPy's own BLAS, so that its threads are limited too)
from threadpoolctl import threadpool_limits

from benchmarks import (
    adult,
    caps,
    coalitions,
    corners,
    coverage,
    delivery,
    engine,
    growth,
    information,
    levels,
    returning,
    service,
    single_answers,
    spark,
    surface,
    wide,
    year,
)

SUITES = {
    "engine": engine.run,
    "coalitions": coalitions.run,
    "returning": returning.run,
    "surface": surface.run,
    "adult": adult.run,
    "levels": levels.run,
    "single-answers": single_answers.run,
    "caps": caps.run,
    "growth": growth.run,
    "year": year.run,
    "wide": wide.run,
    "information": information.run,
    "corners": corners.run,
    "coverage": coverage.run,
    "delivery": delivery.run,
    "spark": spark.run,
    "service": service.run,
}


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes and short caps only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write results to FILE")
    arguments = parser.parse_args()
    if unknown := set(arguments.suites) - set(SUITES):
        parser.error(f"unknown suite {', '.join(sorted(unknown))}: choose from {', '.join(SUITES)}")
    return arguments


def describe_setting() -> dict[str, str]:
    """Versions and machine, so that numbers can be read later."""
    packages = ("numpy", "scipy", "cvxpy", "clarabel", "duckdb", "pyarrow")
    return {
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        **{package: version(package) for package in packages},
    }


def as_json(result: object) -> dict[str, object]:
    """A result's fields and its derived ratios."""
    assert dataclasses.is_dataclass(result)
    assert not isinstance(result, type)
    derived = [name for name, kind in vars(type(result)).items() if isinstance(kind, property)]
    return {**dataclasses.asdict(result), **{name: getattr(result, name) for name in derived}}


def main() -> None:
    """Run the chosen suites with one BLAS thread for everybody."""
    arguments = parse_arguments()
    setting = describe_setting()
    print(", ".join(f"{name} {value}" for name, value in setting.items()), flush=True)
    results: dict[str, object] = {"setting": setting}
    with threadpool_limits(limits=1):
        for suite in arguments.suites or SUITES:
            results[suite] = SUITES[suite](quick=arguments.quick)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2, default=as_json) + "\n")


if __name__ == "__main__":
    main()
