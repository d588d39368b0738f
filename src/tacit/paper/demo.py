"""``python -m tacit.paper.demo``: one release, solved, certified and drawn, in some seconds."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import TacitError
from tacit.paper.fig3 import draw_fig3, fig3, leaked_bits
from tacit.paper.table1 import table1_problem
from tacit.solution import Solution
from tacit.solvers import solve


@dataclass(frozen=True, slots=True, eq=False)
class Demo:
    """What the demo found: a release, and the two releases it lies between."""

    solution: Solution
    blind: float
    unlimited: float
    files: tuple[Path, ...]


def run_demo(out: Path, individual: float = 0.3, collusion: float = 0.5) -> Demo:
    """Solve Table I's problem under two limits in bits, and draw D(eps, delta)."""
    solution = solve(table1_problem(individual, collusion))
    blind = solve(table1_problem(0.0, leaked_bits()))
    unlimited = solve(table1_problem())
    return Demo(solution, blind.value, unlimited.value, tuple(draw_fig3(out, fig3())))


def as_text(demo: Demo) -> str:
    """The demo for people."""
    return "\n".join([*_asked(demo), *_release(demo), *_leakages(demo), *_files(demo)])


def _asked(demo: Demo) -> list[str]:
    individual, collusion = demo.solution.problem.limits.values()
    return [
        "What was asked",
        "  Release R̂, as close to R as possible (Hamming distortion), from the record X and the",
        "  earlier release Z, on the joint law of the paper's Table I (all variables binary).",
        f"  The receiving party alone may learn at most {individual:g} bits about X;",
        f"  together with everybody who holds Z, at most {collusion:g} bits.",
        "",
    ]


def _release(demo: Demo) -> list[str]:
    solution = demo.solution
    rows = [
        f"  {z}  {x}   {solution.channel[z, x, 0]:8.4f}   {solution.channel[z, x, 1]:8.4f}"
        for z, x in np.ndindex(solution.channel.shape[:2])
    ]
    return [
        "The release: probability of each R̂ for what is seen",
        "  z  x     R̂ = 0      R̂ = 1",
        *rows,
        "",
        "How good it is: expected distortion",
        f"  {demo.unlimited:.6f}   without any limit",
        f"  {solution.value:.6f}   this release",
        f"  {solution.bound:.6f}   proven: no release within the limits does better",
        f"             (gap {solution.gap:.1e}; {solution.status.value})",
        f"  {demo.blind:.6f}   a release that tells nobody anything new",
        "",
    ]


def _leakages(demo: Demo) -> list[str]:
    solution = demo.solution
    names = {(): "the party alone, I(R̂;X)", (0,): "everyone together, I(R̂,Z;X)"}
    rows = [
        f"  {names[key]:28} {solution.leakage[key]:9.6f} {solution.problem.limits[key]:9.6g}"
        f"   {solution.multipliers[key]:.4f}"
        for key in names
    ]
    return [
        "What is learned about X, in bits",
        f"  {'who':28} {'at most':>9} {'limit':>9}   one more bit is worth",
        *rows,
        "",
    ]


def _files(demo: Demo) -> list[str]:
    return [
        "The whole trade-off D(ε, δ) is drawn in",
        *(f"  {path}" for path in demo.files),
        "The page is interactive and needs no network. The rest of the paper's tables and figures:",
        "  .venv/bin/tacit reproduce --out build/paper",
    ]


def as_json(demo: Demo) -> dict[str, Any]:
    """The demo for machines; leakages in bits."""
    solution = demo.solution
    names = {(): "individual", (0,): "collusion"}
    return {
        "limits": {name: solution.problem.limits[key] for key, name in names.items()},
        "channel": solution.channel.tolist(),
        "distortion": solution.value,
        "bound": solution.bound,
        "gap": solution.gap,
        "status": solution.status.name,
        "leakage": {name: solution.leakage[key] for key, name in names.items()},
        "multipliers": {name: solution.multipliers[key] for key, name in names.items()},
        "distortion_blind": demo.blind,
        "distortion_unlimited": demo.unlimited,
        "files": [str(path) for path in demo.files],
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the demo from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tacit.paper.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="folder for figures")
    parser.add_argument("--individual", type=float, default=0.3, help="limit ε in bits")
    parser.add_argument("--collusion", type=float, default=0.5, help="limit δ in bits")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    options = parser.parse_args(arguments)
    try:
        demo = run_demo(options.out, options.individual, options.collusion)
    except TacitError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    print(json.dumps(as_json(demo), indent=2) if options.json else as_text(demo))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
