"""Relevance, compression and memory of a sequential bottleneck on real data ([TVC] section VIII).

The paper proposes the problem and shows no numbers; these are ours. ``python -m
tacit.paper.bottleneck_curves --out DIR`` prints the tables and draws the curves.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.bottleneck import SequentialBottleneck
from tacit.datasets import adult
from tacit.errors import TacitError
from tacit.plots import tradeoff_curves_figure

MU1 = (0.01, 0.03, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
MU2 = (0.1, 0.3)
PLAIN_MU1 = (*MU1, *np.geomspace(0.01, 0.8, 24).tolist())
PLAIN_STARTS = 64
"""For mu2 = 0, closer and from more starts: memory must not be saved on a weak baseline."""

FIRST_MU = (0.5, 0.0)
"""Multipliers of the first task where the second alone is swept. Chosen after a look at mu1 = 0.1,
0.3, 0.5 and 0.7: at 0.7 Adult's first T is empty, at 0.1 the digits' tells all of the second."""

ERROR_RATE = 0.1
"""How often a noisy task is wrong. A function of X has I(T; Y) = I(T; X) up to H(Y): no curve."""

DEGREES = ("Bachelors", "Masters", "Prof-school", "Doctorate")
COLLEGE = ("Some-college", "Assoc-voc", "Assoc-acdm", *DEGREES)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Data and tasks: ``counts[x]``, and name -> p(y | x), [x, y], in order of arrival."""

    name: str
    counts: Array
    tasks: Mapping[str, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """What one mu2 gives for many mu1, [n], in bits; the last point is the empty T's.

    Attributes:
        mu2: the multiplier of memory.
        relevance: I(T; Y), summed over the tasks swept.
        compression: I(T; X), summed over them.
        memory: what they add to the memory.
        n_cut: representations ended by the cap on iterations.
    """

    mu2: float
    relevance: Array
    compression: Array
    memory: Array
    n_cut: int


def adult_case(error_rate: float = ERROR_RATE) -> Case:
    """Adult: X is education (16 levels) by age (4 bins); tasks degree, college and income."""
    table = adult(education=None)
    by_income = table.counts.transpose(0, 2, 1).reshape(-1, 2).astype(float)
    level = np.repeat(table.levels[0], table.counts.shape[2])
    counts = by_income.sum(axis=1)
    income = by_income / np.maximum(counts, 1.0)[:, None]
    tasks = {
        "degree": _noisy(np.isin(level, DEGREES), error_rate),
        "college": _noisy(np.isin(level, COLLEGE), error_rate),
        "income": income,
    }
    return Case("Adult", counts, tasks)


def digits_case(n_cells: int = 32, seed: int = 0) -> Case:
    """Scikit-learn's digits: X is a k-means cell of the image; tasks digit, parity and >= 5."""
    images = _sklearn("datasets").load_digits()
    means = _sklearn("cluster").KMeans(n_cells, n_init=4, random_state=seed)
    counts = np.zeros((n_cells, 10))
    np.add.at(counts, (means.fit_predict(images.data), images.target), 1.0)
    digit = counts / counts.sum(axis=1, keepdims=True)
    tasks = {
        "digit": digit,
        "parity": np.stack([digit[:, ::2].sum(axis=1), digit[:, 1::2].sum(axis=1)], axis=1),
        ">= 5": np.stack([digit[:, :5].sum(axis=1), digit[:, 5:].sum(axis=1)], axis=1),
    }
    return Case("digits", counts.sum(axis=1), tasks)


def sweep(
    case: Case,
    mu2: float,
    mu1: Sequence[float] = MU1,
    *,
    first_mu: tuple[float, float] | None = None,
    starts: int = 8,
) -> Sweep:
    """All tasks in turn at (mu1, mu2), for every mu1.

    Args:
        case: data and tasks.
        mu2: the multiplier of memory.
        mu1: the multipliers of compression.
        first_mu: if given, the first task has these multipliers, and the second alone is swept.
        starts: of Algorithm 2 for each representation.
    """
    rows = [_one_sequence(case, (m, mu2), first_mu, starts) for m in mu1]
    relevance, compression, memory, n_cut = np.array([*rows, (0.0, 0.0, 0.0, 0.0)]).T
    return Sweep(mu2, relevance, compression, memory, int(n_cut.sum()))


def sweeps_of(case: Case, first_mu: tuple[float, float] | None = None) -> list[Sweep]:
    """The sweeps for every mu2, the plain one first."""
    plain = sweep(case, 0.0, PLAIN_MU1, first_mu=first_mu, starts=PLAIN_STARTS)
    return [plain, *(sweep(case, mu2, first_mu=first_mu) for mu2 in MU2)]


def _one_sequence(
    case: Case, mu: tuple[float, float], first_mu: tuple[float, float] | None, starts: int
) -> tuple[float, float, float, float]:
    bottleneck = SequentialBottleneck(case.counts)
    tasks = list(case.tasks.values())
    if first_mu is not None:
        bottleneck.represent(tasks[0], mu=first_mu, starts=starts, tol=1e-6)
        tasks = tasks[1:2]
    made = [
        bottleneck.represent(task, mu=mu, starts=starts, tol=1e-6, max_steps=2000) for task in tasks
    ]
    return (
        sum(t.relevance_bits for t in made),
        sum(t.compression_bits for t in made),
        sum(t.added_bits for t in made),
        sum(not t.is_converged for t in made),
    )


def least_at(relevance: Array, cost: Array, target: float) -> float:
    """The least cost for a target, on the lower convex hull of points; NaN beyond the last.

    A chord between two points is attained by time-sharing, the coin being stored as well.
    """
    low, high = np.flatnonzero(relevance <= target), np.flatnonzero(relevance >= target)
    if not (len(low) and len(high)):
        return float("nan")
    span = relevance[high] - relevance[low][:, None]
    weight = np.where(span > 0, (target - relevance[low][:, None]) / np.where(span > 0, span, 1), 1)
    return float(((1 - weight) * cost[low][:, None] + weight * cost[high]).min())


def memory_saved(plain: Sweep, frugal: Sweep, targets: Array) -> Array:
    """Bits of memory that ``frugal`` saves over ``plain`` at equal relevance; NaN out of reach."""
    return np.array(
        [
            least_at(plain.relevance, plain.memory, target)
            - least_at(frugal.relevance, frugal.memory, target)
            for target in targets
        ]
    )


def largest_saving(plain: Sweep, frugal: Sweep, n_targets: int = 400) -> tuple[float, float]:
    """The most bits of memory saved at equal relevance, and that relevance."""
    most = min(float(plain.relevance.max()), float(frugal.relevance.max()))
    targets = np.linspace(0.0, most, n_targets)
    saved = memory_saved(plain, frugal, targets)
    return float(saved.max()), float(targets[saved.argmax()])


def table_of(sweeps: Sequence[Sweep], fractions: Sequence[float]) -> str:
    """Memory and compression at equal relevance, for people; fractions of the most that all do."""
    most = min(float(s.relevance.max()) for s in sweeps)
    head = " ".join(f"{f'mu2 = {s.mu2:g}: memory':>22} {'compr.':>7}" for s in sweeps)
    lines = [f"relevance {head}"]
    for target in most * np.array(fractions):
        cells = [
            f"{least_at(s.relevance, s.memory, target):22.3f} "
            f"{least_at(s.relevance, s.compression, target):7.3f}"
            for s in sweeps
        ]
        lines.append(f"{target:9.3f} {' '.join(cells)}")
    for one in sweeps[1:]:
        saved, at = largest_saving(sweeps[0], one)
        whole = least_at(sweeps[0].relevance, sweeps[0].memory, at)
        lines.append(
            f"mu2 = {one.mu2:g} saves up to {saved:.3f} of {whole:.3f} bits, at relevance {at:.3f}"
        )
    lines.append(f"cut by the cap on iterations: {[s.n_cut for s in sweeps]}")
    return "\n".join(lines)


def draw(out: Path, case: Case, sweeps: Sequence[Sweep]) -> list[Path]:
    """Write the curves of one case as PNG and HTML; the first sweep is the plain one."""
    panels = {
        "memory after all tasks": _hulls(sweeps, "memory"),
        "compression, summed over tasks": _hulls(sweeps, "compression"),
        "memory saved at equal relevance": _savings(sweeps),
    }
    labels = ("relevance Σ I(T; Y), bits", "bits about X")
    title = f"{case.name}: tasks {', '.join(case.tasks)}"
    name = f"bottleneck_{case.name.lower()}"
    picture = out / f"{name}.png"
    tradeoff_curves_figure(panels, labels, title, path=picture)
    return [picture]


def _hulls(sweeps: Sequence[Sweep], quantity: str) -> dict[str, Array]:
    """Name -> [n, 2], the lower convex hull of each sweep at its own points."""
    curves = {}
    for one in sweeps:
        cost: Array = getattr(one, quantity)
        at = np.unique(one.relevance)
        least = [least_at(one.relevance, cost, float(r)) for r in at]
        curves[f"μ₂ = {one.mu2:g}"] = np.stack([at, least], axis=1)
    return curves


def _savings(sweeps: Sequence[Sweep], n_targets: int = 100) -> dict[str, Array]:
    """Name -> [n, 2], memory saved over the first sweep."""
    curves = {}
    for one in sweeps:
        targets = np.linspace(0.0, float(one.relevance.max()), n_targets)
        saved = memory_saved(sweeps[0], one, targets)
        curves[f"μ₂ = {one.mu2:g}"] = np.stack([targets, saved], axis=1)
    return curves


def _noisy(is_so: NDArray[np.bool_], error_rate: float) -> Array:
    """p(y | x) of an answer that is wrong at a given rate."""
    p_yes = np.where(is_so, 1 - error_rate, error_rate)
    return np.stack([1 - p_yes, p_yes], axis=1)


def _sklearn(module: str) -> Any:
    try:
        return import_module(f"sklearn.{module}")
    except ImportError as error:
        raise TacitError(
            "the digits come with the package scikit-learn, which is not installed: install it"
        ) from error


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and draw the curves."""
    parser = argparse.ArgumentParser(prog="python -m tacit.paper.bottleneck_curves")
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="folder to fill")
    options = parser.parse_args(arguments)
    try:
        for case in (adult_case(), digits_case()):
            every, second = sweeps_of(case), sweeps_of(case, FIRST_MU)
            print(f"{case.name}, all tasks\n{table_of(every, (0.5, 0.7, 0.9, 0.95, 0.98, 1.0))}\n")
            print(f"{case.name}, second task\n{table_of(second, (0.5, 0.7, 0.9, 0.98, 1.0))}\n")
            print(*draw(options.out, case, every), "", sep="\n", flush=True)
    except TacitError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
