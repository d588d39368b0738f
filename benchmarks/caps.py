"""What a cap on the memory costs, where exact history is still affordable.

Five requests on Adult, eps = 0.3, delta_k = 0.3 + 0.2 (k - 1). For each cap: the distortion of each
release, the certified bound on everyone, and the truth behind it (all letter sequences walked).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import tacit
from benchmarks.contenders import say
from benchmarks.tables import print_table
from tacit.datasets import adult

REQUESTS = ("education", "income", "age", ("education", "income"), "age")
CAPS = (None, 256, 64, 16)


@dataclass(frozen=True, slots=True)
class CapResult:
    """One cap: distortions, certified bits to everyone, true bits, most states."""

    cap: int | None
    distortions: list[float]
    certified_bits: float
    true_bits: float
    states: int


def run(*, quick: bool) -> list[CapResult]:
    """Run every cap and print the table."""
    results = [_run_cap(cap) for cap in (CAPS[:1] + CAPS[-1:] if quick else CAPS)]
    rows = [
        [
            "exact" if result.cap is None else str(result.cap),
            ", ".join(f"{value:.4f}" for value in result.distortions),
            f"{result.certified_bits:.4f}",
            f"{result.true_bits:.4f}",
            str(result.states),
        ]
        for result in results
    ]
    header = ["memory", "distortion of each release", "bits, certified", "bits, true", "states"]
    print_table("What a cap on the memory costs (Adult, five requests)", header, rows)
    return results


def _run_cap(cap: int | None) -> CapResult:
    say(f"memory {cap}")
    table = adult()
    scheme = tacit.Scheme.from_counts(table.counts, table.attributes, memory=cap)
    for k, asked in enumerate(REQUESTS):
        scheme.release(asked, party=f"party-{k}", individual=0.3, collusion=0.3 + 0.2 * k)
    return CapResult(
        cap,
        [release.value for release in scheme.history],
        scheme.leakage(),
        _true_bits(scheme),
        scheme.n_states,
    )


def _true_bits(scheme: tacit.Scheme) -> float:
    """I(all letters; X), by walking every sequence of letters that occurs."""
    masses, states = scheme.p_x[None], np.zeros(1, dtype=np.intp)
    for release in scheme.history:
        grown = masses[:, None] * release.channel[states].transpose(0, 2, 1)  # [walk, rhat, x]
        states = release.next_state[states].reshape(-1)
        masses = grown.reshape(-1, grown.shape[-1])
        occurs = masses.sum(axis=1) > 0
        masses, states = masses[occurs], states[occurs]
    return tacit.mutual_information(masses)
