"""A hundred releases with bounded memory: what the k-th costs.

X has 256 cells of four 4-letter attributes; each request is a 4-letter function of x, each from a
new party. eps = 0.2, delta_k = 0.2 + 0.06 (k - 1), 64 states. Nothing to compare with: exact
histories would need 4 ** 100 states.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import tacit
from benchmarks.contenders import say
from benchmarks.tables import print_table, seconds_text

N_RELEASES, MEMORY = 100, 64
TARGET_RATIO = 1.5


@dataclass(frozen=True, slots=True)
class GrowthResult:
    """Seconds, everyone's bits and states after each release."""

    seconds: list[float]
    everyone_bits: list[float]
    states: list[int]

    @property
    def ratio(self) -> float:
        """Median cost of the last ten releases over that of releases 11 to 20."""
        return float(np.median(self.seconds[-10:]) / np.median(self.seconds[10:20]))

    @property
    def least_added_bits(self) -> float:
        """The least that any release added for everyone."""
        return float(np.diff([0.0, *self.everyone_bits]).min())


def run(*, quick: bool) -> list[GrowthResult]:
    """Release one after the other and print the growth table."""
    rng = np.random.default_rng(0)
    scheme = tacit.Scheme(rng.dirichlet(np.ones(256)), memory=MEMORY)
    seconds, bits, states = [], [], []
    for k in range(30 if quick else N_RELEASES):
        request = np.eye(4)[rng.integers(0, 4, size=256)]
        start = time.perf_counter()
        scheme.release(request, party=f"party-{k}", individual=0.2, collusion=0.2 + 0.06 * k)
        seconds.append(time.perf_counter() - start)
        bits.append(scheme.leakage())
        states.append(scheme.n_states)
        say(f"release {k + 1}: {seconds[-1]:.2f} s, {bits[-1]:.2f} bits to everyone")
    result = GrowthResult(seconds, bits, states)
    _print(result)
    return [result]


def _print(result: GrowthResult) -> None:
    shown = [k for k in range(len(result.seconds)) if k < 3 or (k + 1) % 10 == 0]
    rows = [
        [str(k + 1), seconds_text(seconds), f"{bits:.2f}", str(states)]
        for k, (seconds, bits, states) in enumerate(
            zip(result.seconds, result.everyone_bits, result.states, strict=True)
        )
        if k in shown
    ]
    print_table(
        f"A hundred releases, {MEMORY} states", ["release", "time", "bits, at most", "states"], rows
    )
    print(
        f"last ten over releases 11-20: {result.ratio:.2f} (target at most {TARGET_RATIO}); "
        f"least added by a release: {result.least_added_bits:.3f} bits"
    )


def draw(results: Path, figure: Path) -> None:
    """Draw the curve of the docs from what ``--json`` wrote."""
    growth = json.loads(results.read_text())["growth"][0]
    canvas = Figure(figsize=(7, 3), layout="constrained")
    cost, leak = canvas.subplots(1, 2)
    releases = range(1, len(growth["seconds"]) + 1)
    cost.plot(releases, growth["seconds"], ".", markersize=4)
    cost.set(
        xlabel="release", ylabel="seconds", ylim=(0, None), title="what the k-th release costs"
    )
    leak.plot(releases, growth["everyone_bits"])
    leak.set(xlabel="release", ylabel="bits, at most", title="certified leakage to everyone")
    canvas.savefig(figure, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
