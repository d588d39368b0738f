"""[TVC] Table II: conditional distributions at three pairs of multipliers, beside our own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from tacit.arrays import Array
from tacit.paper.table1 import JOINT
from tacit.solvers.iteration.blahut_arimoto import Run, blahut_arimoto

PRINTED: dict[tuple[float, float], Array] = {
    (0.01, 0.01): np.array([[[0, 1], [1, 0]], [[0, 1], [1, 0]]], dtype=float),
    (0.1, 0.1): np.array([[[0.041, 0.959], [0.975, 0.025]], [[0.143, 0.857], [0.887, 0.113]]]),
    (5.0, 5.0): np.array([[[0.567, 0.433], [0.593, 0.407]], [[0.367, 0.630], [0.381, 0.619]]]),
}
"""(mu1, mu2) -> p(rhat | z, x) as printed, [z, x, rhat]."""

HALF_DIGIT = 0.0005
"""A number printed with three decimals is the true one within this."""

EARLY_START: Array = np.array([[0.724, 0.408], [0.580, 0.160]])
"""p(rhat = 0 | z, x) of a start from which a loose stopping rule prints Table II(c).

Found by a search for the printed digits. So such a run is possible; we do not know whether the
authors made it.
"""

EARLY_TOL = 1e-3
"""That stopping rule: no entry moved by more than this in a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One part of Table II: what is printed and what a converged, certified run gives."""

    mu: tuple[float, float]
    printed: Array
    run: Run

    @property
    def difference(self) -> float:
        """The largest distance between a printed entry and ours."""
        return float(np.abs(self.printed - self.run.channel).max())

    @property
    def matches(self) -> bool:
        """Whether every printed digit is right."""
        return self.difference <= HALF_DIGIT

    @property
    def printed_row_error(self) -> float:
        """How far a printed row is from summing to 1."""
        return float(np.abs(self.printed.sum(axis=-1) - 1).max())


@cache
def table2() -> tuple[Comparison, ...]:
    """The three parts of Table II, each run from the uniform start until nothing moves."""
    return tuple(
        Comparison(mu, printed, blahut_arimoto(JOINT, "hamming", mu))
        for mu, printed in PRINTED.items()
    )


def early_stop() -> Run:
    """Algorithm 1 at (5, 5), stopped where it moves less than 0.001 a step: Table II(c)."""
    start = np.stack([EARLY_START, 1 - EARLY_START], axis=-1)
    return blahut_arimoto(JOINT, "hamming", (5.0, 5.0), start=start, tol=EARLY_TOL)


def table2_text() -> str:
    """Table II, printed beside ours, for people."""
    lines: list[str] = []
    comparisons = table2()
    for part, comparison in zip("abc", comparisons, strict=True):
        run = comparison.run
        lines.append(
            f"II({part})  (mu1, mu2) = {comparison.mu}: {run.steps} steps, objective "
            f"{run.objective:.6f}, certified within {run.gap:.1e}"
        )
        lines.append("   z x   printed rhat=0, 1   ours rhat=0, 1")
        for z, x in np.ndindex(2, 2):
            printed, ours = comparison.printed[z, x], run.channel[z, x]
            lines.append(
                f"   {z} {x}     {printed[0]:.3f}  {printed[1]:.3f}       "
                f"{ours[0]:.3f}  {ours[1]:.3f}"
            )
        lines.append(f"   largest difference {comparison.difference:.4f}\n")
    return "\n".join([*lines, _early_text(comparisons[-1].run.objective)])


def _early_text(optimum: float) -> str:
    run = early_stop()
    rows = ", ".join(f"{p:.3f}" for p in run.channel[..., 0].ravel())
    return (
        f"An early stop at (5, 5): from another start, stopping when no entry moves by more than "
        f"{EARLY_TOL:g},\nstep {run.steps} has p(rhat=0 | z, x) = {rows}: Table II(c), "
        f"still {run.objective - optimum:.4f} above the optimum."
    )


if __name__ == "__main__":
    print(table2_text())
