"""[TVC] Figs. 7 and 8: education requested twice, and what the second release costs.

Beside them, the same experiment with squared distortion, for which the curves do not coincide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tacit.arrays import Array
from tacit.datasets import adult
from tacit.information import entropy, mutual_information
from tacit.plots import Panels, tradeoff_curves_figure
from tacit.problem import Problem, Utility
from tacit.scheme import NonAdaptiveScheme, Release, Scheme, SymmetricScheme
from tacit.solution import GAP_TOL
from tacit.solvers import solve

FIRST_BUDGET = 0.3
"""eps_1 = delta_1, bits."""

BOUND_BY_BUDGET = "adaptive, δ = ε"
UNBOUND = "adaptive, δ = ∞"
NON_ADAPTIVE = "non-adaptive"
SYMMETRIC = "symmetric channel"

INDIVIDUAL, CUMULATIVE = "I(R̂₂; X), bits", "I(R̂₁, R̂₂; X), bits"
HAMMING = "expected Hamming distortion"
TITLE = f"Adult: a repeated request, ε₁ = δ₁ = {FIRST_BUDGET:g}"


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The second release by one mechanism; arrays are [budget], leakages in bits.

    Attributes:
        distortion: expected distortion.
        bound: no release does better under the same limits; NaN for the symmetric channel.
        individual: I(Rhat_2; X), at most.
        cumulative: I(Rhat_1, Rhat_2; X).
    """

    distortion: Array
    bound: Array
    individual: Array
    cumulative: Array

    @property
    def gap(self) -> Array:
        """Certified distance from the best."""
        return self.distortion - self.bound


@dataclass(frozen=True, slots=True, eq=False)
class SecondRelease:
    """The second of two requests for education under growing budgets eps_2, by mechanism."""

    budgets: Array
    curves: dict[str, Curve]


def education_law() -> Array:
    """p(e), [e]."""
    counts = adult().counts.sum(axis=(1, 2))
    return np.asarray(counts / counts.sum())


def budgets_up_to_all(n: int) -> Array:
    """n budgets from eps_1 to H(E), which is all there is to know about education."""
    return np.linspace(FIRST_BUDGET, entropy(education_law()), n)


@cache
def fig7_8(n: int = 20) -> SecondRelease:
    """Hamming distortion, the paper's experiment."""
    return second_release(budgets_up_to_all(n), "hamming")


@cache
def squared_variant(n: int = 16) -> SecondRelease:
    """The same with (rhat - r) squared, the levels of education numbered 0 to 3."""
    return second_release(budgets_up_to_all(n), "squared")


def second_release(budgets: Array, utility: Utility) -> SecondRelease:
    """Release education at eps_1 = delta_1 = 0.3, then again at every eps_2, by each mechanism."""
    every = budgets.tolist()
    curves = {
        BOUND_BY_BUDGET: _curve([_adaptive(budget, budget, utility) for budget in every]),
        UNBOUND: _curve([_adaptive(budget, None, utility) for budget in every]),
        NON_ADAPTIVE: _curve([_alone(NonAdaptiveScheme, budget, utility) for budget in every]),
        SYMMETRIC: _curve([_alone(SymmetricScheme, budget, utility) for budget in every]),
    }
    return SecondRelease(budgets, curves)


def first_release(utility: Utility) -> Scheme:
    """A scheme that has released education once ([TVC] section VII-C)."""
    return _ask(_adult_scheme(Scheme), FIRST_BUDGET, FIRST_BUDGET, utility)


def _adaptive(budget: float, limit: float | None, utility: Utility) -> tuple[Release, float]:
    """The second release given the first, and what both tell."""
    scheme = _ask(first_release(utility), budget, limit, utility)
    return scheme.history[-1], scheme.leakage()


def _alone(kind: type[Scheme], budget: float, utility: Utility) -> tuple[Release, float]:
    """The second release without regard to the first, and what both tell."""
    release = _ask(_adult_scheme(kind), budget, None, utility).history[-1]
    law_zx = first_release(utility).law()
    assert law_zx is not None  # the history is exact
    joint = law_zx[:, None] * release.channel[0].T  # [z, rhat, x]: independent given x
    return release, mutual_information(joint.reshape(-1, joint.shape[-1]))


def _adult_scheme(kind: type[Scheme]) -> Scheme:
    table = adult()
    return kind.from_counts(table.counts, table.attributes)


def _ask(scheme: Scheme, budget: float, limit: float | None, utility: Utility) -> Scheme:
    """Release education to somebody new."""
    scheme.release(
        "education",
        party=f"party {len(scheme.history) + 1}",
        utility=utility,
        individual=budget,
        collusion=limit,
        gap_tol=GAP_TOL,
    )
    return scheme


def _curve(points: list[tuple[Release, float]]) -> Curve:
    solutions = [release.solution for release, _ in points]
    return Curve(
        np.array([solution.value for solution in solutions]),
        np.array([np.nan if solution.bound is None else solution.bound for solution in solutions]),
        np.array([solution.leakage[()] for solution in solutions]),
        np.array([cumulative for _, cumulative in points]),
    )


def excess_by_law(p_r: Array, utility: Utility, budget: float) -> tuple[float, float]:
    """What delta = eps costs a second request for R = X, at least; and the least distortion.

    The first number is the bound under delta = eps minus a distortion that delta = infinity
    reaches: above 0 it proves that the curves do not coincide.
    """
    first = solve(Problem(np.diag(p_r), utility, FIRST_BUDGET), gap_tol=GAP_TOL)
    law_zx = (p_r[:, None] * first.channel).T
    joint = law_zx[..., None] * np.eye(len(p_r))
    bound = solve(Problem(joint, utility, budget, budget), gap_tol=GAP_TOL).bound
    alone = solve(Problem(np.diag(p_r), utility, budget), gap_tol=GAP_TOL).value
    assert bound is not None  # a distortion
    return bound - alone, alone


def draw_fig7(out: Path, figure: SecondRelease) -> list[Path]:
    """Write fig7.png: individual leakage against distortion."""
    panels = {"education, twice": _against(figure, lambda curve: curve.individual)}
    return _draw(out, "fig7", panels, (INDIVIDUAL, HAMMING), TITLE)


def draw_fig8(out: Path, figure: SecondRelease) -> list[Path]:
    """Write fig8.png: cumulative leakage against distortion."""
    panels = {"education, twice": _against(figure, lambda curve: curve.cumulative)}
    return _draw(out, "fig8", panels, (CUMULATIVE, HAMMING), TITLE)


def draw_squared(out: Path, figure: SecondRelease) -> list[Path]:
    """Write fig7_squared.png: what delta = eps costs where it costs something."""
    best = figure.curves[NON_ADAPTIVE].distortion
    curves = {
        name: np.stack([figure.budgets, figure.curves[name].distortion - best], axis=-1)
        for name in (BOUND_BY_BUDGET, UNBOUND)
    }
    labels = ("ε₂, bits", "squared distortion above the non-adaptive")
    title = "Where the curves of Fig. 7 part: squared distortion"
    return _draw(out, "fig7_squared", {"education, twice": curves}, labels, title)


def _against(figure: SecondRelease, leakage: Callable[[Curve], Array]) -> dict[str, Array]:
    return {
        name: np.stack([leakage(curve), curve.distortion], axis=-1)
        for name, curve in figure.curves.items()
    }


def _draw(out: Path, name: str, panels: Panels, labels: tuple[str, str], title: str) -> list[Path]:
    picture = out / f"{name}.png"
    tradeoff_curves_figure(panels, labels, title, path=picture)
    return [picture]
