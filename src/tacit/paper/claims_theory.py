"""What [TVC] sections II to IV say about the problem and its iteration, tested."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.arrays import Array
from tacit.paper.claim import ROUNDING, Claim
from tacit.paper.fig4 import fig4
from tacit.paper.table1 import JOINT, table1_problem
from tacit.problem import Problem
from tacit.solution import GAP_TOL
from tacit.solvers import solve
from tacit.solvers.convex.program import Statement
from tacit.solvers.iteration.alternation import Alternation, Auxiliaries, log2, log_start
from tacit.solvers.iteration.blahut_arimoto import blahut_arimoto
from tacit.solvers.iteration.starts import iterate, measured, random_starts


def _best(problem: Problem) -> float:
    return solve(problem, gap_tol=GAP_TOL).value


def _two_release_informations() -> tuple[float, float, float]:
    """I(Rhat; R) of releasing X, of releasing 1 - X, and of the even mixture of both."""
    keep = np.broadcast_to(np.eye(2)[:, None, :], (2, 2, 2))  # [rhat, z, x]
    flip = keep[::-1]
    channels = np.stack([keep, flip, (keep + flip) / 2])
    value = measured(table1_problem(utility="information"), channels).value
    return float(value[0]), float(value[1]), float(value[2])


def distortion_is_convex_information_is_not() -> Claim:
    """Midpoints of random pairs of channels, and one midpoint that loses all information."""
    problem = table1_problem()
    rng = np.random.default_rng(0)
    one, other = (random_starts(problem, 2000, 2, rng) for _ in range(2))
    a, b, middle = (measured(problem, c) for c in (one, other, (one + other) / 2))
    excess = max(
        float((middle.individual - (a.individual + b.individual) / 2).max()),
        float((middle.collusion - (a.collusion + b.collusion) / 2).max()),
    )
    keep, flip, mixed = _two_release_informations()
    return Claim(
        "II",
        "the expected distortion problem is convex, the mutual information problem is not",
        excess <= ROUNDING and mixed < min(keep, flip) - 0.1,
        f"over 2000 random pairs no leakage of a midpoint exceeds the mean (worst {excess:.1e}); "
        f"X and 1 − X each tell {keep:.3f} bits about R, their even mixture {mixed:.3f}",
    )


def zero_distortion_may_be_out_of_reach() -> Claim:
    """Without limits, Table I."""
    value = _best(table1_problem())
    return Claim(
        "II",
        "zero average distortion may not be attainable",
        value > 0.1,
        f"without any limit the least distortion on Table I is {value:.6f}",
    )


def first_request_has_one_constraint() -> Claim:
    """Without earlier releases, both limits bound the same leakage."""
    joint = JOINT.sum(axis=0)
    individual, collusion = (
        _best(Problem(joint, individual=0.3)),
        _best(Problem(joint, collusion=0.3)),
    )
    return Claim(
        "II",
        "for the first request both leakage constraints collapse into one",
        abs(individual - collusion) <= 2 * GAP_TOL,
        f"at 0.3 bits: {individual:.6f} under ε alone, {collusion:.6f} under δ alone",
    )


def a_repeated_request_is_free() -> Claim:
    """Release once at 0.3 bits, then answer the same request with that release as history."""
    first = solve(Problem(JOINT.sum(axis=0), individual=0.3), gap_tol=GAP_TOL)
    joint = np.einsum("xa,xr->axr", first.channel, JOINT.sum(axis=0))
    again = solve(Problem(joint, individual=0.3, collusion=0.3), gap_tol=GAP_TOL)
    return Claim(
        "III",
        "a repeated request with the same limit is best answered by the same release",
        abs(again.value - first.value) <= 1e-6,
        f"first {first.value:.6f}; again, with δ = ε = 0.3, {again.value:.6f}, the coalition "
        f"then holds {again.leakage[(0,)]:.6f} bits",
    )


def without_collusion_limit_z_is_irrelevant() -> Claim:
    """eps = 0 and no delta, with and without reading z; then with R − X − Z made true."""
    with_z = _best(table1_problem(individual=0.0))
    without = _best(Problem(JOINT.sum(axis=0), individual=0.0))
    p_zx = JOINT.sum(axis=-1)
    markov = (p_zx / p_zx.sum(axis=0))[..., None] * JOINT.sum(axis=0)
    chained = _best(Problem(markov, individual=0.0))
    return Claim(
        "III-A",
        "without the second constraint the conditioning on z becomes irrelevant",
        abs(with_z - without) <= 2 * GAP_TOL,
        f"on Table I at ε = 0, δ = ∞: {with_z:.5f} with z, {without:.5f} without; it needs "
        f"R − X − Z (then {chained:.5f}), which holds whenever Z is made of earlier releases",
    )


def _ends_of_64_starts(joint: Array, mu: tuple[float, float]) -> Array:
    """Objectives of Algorithm 2 from 64 random starts, sorted."""
    problem = Problem(joint, "information")
    starts = random_starts(problem, 64, 2, np.random.default_rng(0))
    pairs = np.repeat([mu], 64, axis=0)
    channel, _ = iterate(problem, pairs, starts, tol=1e-9, max_steps=3000)
    points = measured(problem, channel)
    return np.sort(mu[0] * points.individual + mu[1] * points.collusion - points.value)


def mu2_zero_is_the_information_bottleneck() -> Claim:
    """The best of 64 starts at (0.3, 0), with z and on p(x, r) alone."""
    with_z = float(_ends_of_64_starts(JOINT, (0.3, 0.0))[0])
    bottleneck = float(_ends_of_64_starts(JOINT.sum(axis=0), (0.3, 0.0))[0])
    return Claim(
        "III-A",
        "with μ₂ = 0 the mutual information problem is the information bottleneck",
        abs(with_z - bottleneck) <= 1e-6,
        f"at (0.3, 0) the objective is {with_z:.6f} reading z and {bottleneck:.6f} for the "
        "bottleneck of X alone: it needs R − X − Z as well",
    )


def the_dual_is_tight() -> Claim:
    """The certified bound is a dual value."""
    solution = solve(table1_problem(0.3, 0.5), gap_tol=1e-8)
    return Claim(
        "III-B",
        "for expected distortion the curve obtained from the dual is the D(ε, δ) curve",
        solution.gap is not None and solution.gap <= 1e-8,
        f"at (0.3, 0.5) the primal value {solution.value:.8f} and a dual bound are "
        f"{solution.gap:.1e} apart",
    )


def self_consistency_is_sufficient() -> Claim:
    """The constant release satisfies eq. (5) at any multipliers, and is not optimal."""
    constant = np.zeros((2, 2, 2))
    constant[..., 0] = 1.0
    stuck = blahut_arimoto(JOINT, "hamming", (0.1, 0.1), start=constant)
    best = fig4()[0.1, 0.1]
    return Claim(
        "IV-A",
        "Proposition 1: the self-consistent equation (5) is sufficient for optimality",
        stuck.objective - best.objective <= 1e-6,
        f"always releasing 0 satisfies (5) at (0.1, 0.1) with objective {stuck.objective:.6f}; "
        f"the optimum is {best.objective:.6f}. The condition is sufficient where every p* is "
        "positive",
    )


def lemma_1_and_remark_3() -> Claim:
    """f_q of the trace, plus theta, against the objective computed from the channel."""
    runs = fig4().values()
    worst = max(float(abs(run.trace[-1] + run.theta - run.objective)) for run in runs)
    return Claim(
        "IV-B, IV-D",
        "Lemma 1 and Remark 3: f_q equals the objective after each iteration",
        worst <= ROUNDING,
        f"largest difference {worst:.1e} at the three pairs of Table II, with "
        "θ = (μ₁ + μ₂) I(Z;X) − μ₁ H(Z)",
    )


def theorem_1() -> Claim:
    """Random q's never make f smaller than the consistent ones do."""
    statement = Statement.of(table1_problem())
    updates = Alternation.of(statement, (0.1, 0.1))
    rng = np.random.default_rng(0)
    log_c = log_start(statement, rng.dirichlet(np.ones(2), size=(2, 2)))
    consistent = updates.update_auxiliaries(log_c)
    q1 = rng.dirichlet(np.ones(2), size=2000)[..., None, None]
    q2 = rng.dirichlet(np.ones(2), size=(2000, 2, 2)).transpose(0, 1, 3, 2)
    q3 = rng.dirichlet(np.ones(2), size=(2000, 2)).transpose(0, 2, 1)[..., None]
    others = Auxiliaries(log2(q1), log2(q2), log2(q3), consistent.exponent)
    margin = float((updates.f_at(log_c, others) - updates.f_at(log_c, consistent)).min())
    return Claim(
        "IV-C",
        "Theorem 1: for any p the consistent q's minimise f",
        margin >= -ROUNDING,
        f"2000 random triples (q₁, q₂, q₃): the closest is {margin:.4f} above",
    )


def eq_12_is_misprinted() -> Claim:
    """The proof of Theorem 1 prints 2^(sum p d) where log 2^(sum p d) is meant."""
    updates = Alternation.of(Statement.of(table1_problem()), (0.1, 0.1))
    p = updates.mass * np.moveaxis(fig4()[0.1, 0.1].channel, -1, 0)
    d = updates.mean_distortion
    excess = float((p * (2.0**d - d)).sum())
    return Claim(
        "IV-C",
        "eq. (12), in the proof of Theorem 1, has the term 2^(Σ p(r|z,x) d(r̂,r))",
        excess <= ROUNDING,
        f"a misprint: its logarithm is meant. As printed f would be {excess:.3f} too large at "
        "(0.1, 0.1). Nothing else depends on it",
    )


def f_never_rises_and_is_bounded() -> Claim:
    """Remarks 1 and 2 along the three runs of Table II."""
    rise = max(float(np.diff(run.trace).max()) for run in fig4().values())
    least = min(float((run.trace + run.theta).min()) for run in fig4().values())
    return Claim(
        "IV-D",
        "Remarks 1 and 2: f_q never rises and is bounded below",
        rise <= ROUNDING and least >= 0,
        f"largest rise in a step {rise:.1e}, smallest objective {least:.4f} >= 0",
    )


def the_iteration_reaches_the_optimum() -> Claim:
    """Certified gaps when nothing moves by more than 1e-9."""
    gaps = [run.gap for run in fig4().values() if run.gap is not None]
    return Claim(
        "IV-D",
        "run long enough, Algorithm 1 converges to the global minimum",
        max(gaps) <= GAP_TOL,
        "certified gaps " + ", ".join(f"{gap:.1e}" for gap in gaps) + " at the end",
    )


def information_has_local_minima() -> Claim:
    """Where 64 random starts end at (0.35, 0.05)."""
    ends = _ends_of_64_starts(JOINT, (0.35, 0.05))
    distinct = ends[np.append(True, np.diff(ends) > 1e-5)]
    return Claim(
        "IV-E",
        "for mutual information the iteration may end in a local minimum",
        len(distinct) > 1,
        f"64 starts at (0.35, 0.05) end at {', '.join(f'{end:.6f}' for end in distinct)}",
    )


THEORY: tuple[Callable[[], Claim], ...] = (
    distortion_is_convex_information_is_not,
    zero_distortion_may_be_out_of_reach,
    first_request_has_one_constraint,
    a_repeated_request_is_free,
    without_collusion_limit_z_is_irrelevant,
    mu2_zero_is_the_information_bottleneck,
    the_dual_is_tight,
    self_consistency_is_sufficient,
    lemma_1_and_remark_3,
    theorem_1,
    eq_12_is_misprinted,
    f_never_rises_and_is_bounded,
    the_iteration_reaches_the_optimum,
    information_has_local_minima,
)
