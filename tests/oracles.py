"""Independent answers to compare the product with: nothing in this file imports tacit.

Release problems are solved with cvxpy and Clarabel, leakages are summed by brute force over the
full joint law, and rate-distortion functions come from their closed forms.

Conventions: ``joint[z1, ..., zk, x, r]``, ``distortion[rhat, r]`` and
``channel[z1, ..., zk, x, rhat]``. A limit belongs to a *view*. ``limits`` maps axes of Z to bits:
``()`` is the individual limit, all axes are full collusion, any other subset is a coalition.
``views`` maps a name to (p(y | z1, ..., zk, x) with y last, bits). Every limit bounds
I(Rhat, Y; X), in bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log, log2

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, linprog

Array = NDArray[np.float64]
Axes = tuple[int, ...]
Limits = Mapping[Axes, float]
Views = Mapping[str, tuple[ArrayLike, float]]

# A budget this close to zero (nats) is treated as zero: independence, which is linear.
ZERO_BUDGET_NATS = 1e-12


# --- Brute force -------------------------------------------------------------------------------


def mutual_information_bits(p_ax: Array) -> float:
    """I(A; X) in bits of a joint law p(a, x)."""
    independent = p_ax.sum(axis=1, keepdims=True) * p_ax.sum(axis=0, keepdims=True)
    support = p_ax > 0
    return float(np.sum(p_ax[support] * np.log2(p_ax[support] / independent[support])))


def leakage_bits(joint: Array, channel: Array, axes: Axes) -> float:
    """I(Rhat, Z_S; X) in bits, for S = ``axes`` of the earlier releases."""
    p_zx_rhat = joint.sum(axis=-1)[..., None] * channel
    n_history = joint.ndim - 2
    unseen = tuple(axis for axis in range(n_history) if axis not in axes)
    p_seen_x_rhat = p_zx_rhat.sum(axis=unseen)
    return mutual_information_bits(
        np.moveaxis(p_seen_x_rhat, -2, -1).reshape(-1, joint.shape[-2])  # [(z_S, rhat), x]
    )


def view_leakage_bits(joint: Array, channel: Array, law: ArrayLike) -> float:
    """I(Rhat, Y; X) in bits, for a view with p(y | z, x) = ``law[z1, ..., zk, x, y]``."""
    n_x = joint.shape[-2]
    p_zx = joint.sum(axis=-1).reshape(-1, n_x)
    law_zxy = np.asarray(law, dtype=float).reshape(*p_zx.shape, -1)
    channel_zxa = channel.reshape(*p_zx.shape, -1)
    p_yax = np.einsum("zx,zxy,zxa->yax", p_zx, law_zxy, channel_zxa)
    return mutual_information_bits(p_yax.reshape(-1, n_x))


def every_leakage_bits(
    joint: Array, channel: Array, limits: Limits, views: Views | None = None
) -> dict[Axes | str, float]:
    """Key of each limited view -> I(Rhat, Y; X) in bits."""
    leakage: dict[Axes | str, float] = {axes: leakage_bits(joint, channel, axes) for axes in limits}
    for name, (law, _) in (views or {}).items():
        leakage[name] = view_leakage_bits(joint, channel, law)
    return leakage


def expected_distortion(joint: Array, distortion: Array, channel: Array) -> float:
    """E d(Rhat, R)."""
    p_rhat_r = channel.reshape(-1, channel.shape[-1]).T @ joint.reshape(-1, joint.shape[-1])
    return float(np.sum(p_rhat_r * distortion))


def level_errors(joint: Array, distortion: Array, channel: Array) -> Array:
    """E[d(Rhat, R) | R = r] of every level that occurs."""
    p_rhat_r = channel.reshape(-1, channel.shape[-1]).T @ joint.reshape(-1, joint.shape[-1])
    p_r = p_rhat_r.sum(axis=0)
    return (p_rhat_r * distortion).sum(axis=0)[p_r > 0] / p_r[p_r > 0]


# --- Closed forms ------------------------------------------------------------------------------


def binary_entropy_bits(p: float) -> float:
    """h(p) = -p log2 p - (1-p) log2 (1-p)."""
    return 0.0 if p in (0.0, 1.0) else -p * log2(p) - (1 - p) * log2(1 - p)


def uniform_hamming_distortion(n_letters: int, rate_bits: float) -> float:
    """D(rate) of a uniform source of M letters under Hamming distortion.

    Inverts R(D) = log2 M - h(D) - D log2(M - 1), 0 <= D <= 1 - 1/M (Cover and Thomas, exercise
    10.5). The optimum of a release problem with R = X uniform, no Z and that individual limit.
    """
    if rate_bits >= log2(n_letters):
        return 0.0

    def rate_excess(distortion: float) -> float:
        noise_bits = binary_entropy_bits(distortion) + distortion * log2(max(n_letters - 1, 1))
        return log2(n_letters) - noise_bits - rate_bits

    return float(brentq(rate_excess, 0.0, 1 - 1 / n_letters, xtol=1e-15))


def bernoulli_hamming_distortion(p: float, rate_bits: float) -> float:
    """D(rate) of a Bernoulli(p) source under Hamming distortion.

    Inverts R(D) = h(p) - h(D), 0 <= D <= min(p, 1 - p) (Cover and Thomas, theorem 10.3.1).
    """
    if rate_bits >= binary_entropy_bits(p):
        return 0.0

    def rate_excess(distortion: float) -> float:
        return binary_entropy_bits(p) - binary_entropy_bits(distortion) - rate_bits

    return float(brentq(rate_excess, 0.0, min(p, 1 - p), xtol=1e-15))


# --- Release problems by cvxpy and Clarabel ----------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class OracleAnswer:
    """What cvxpy and Clarabel found.

    Attributes:
        value: what was minimised, recomputed from ``channel`` with NumPy: E d(Rhat, R), or bits of
            I(Rhat, Z; X) for the exchanged problem.
        channel: [z1, ..., zk, x, rhat], clipped to >= 0 and renormalised; uniform where
            p(z, x) = 0. It can exceed a limit by the solver's tolerance.
        leakage: key of each limited view -> I(Rhat, Y; X) in bits, by brute force.
        status: cvxpy's word for the outcome.
        iterations: interior-point steps.
    """

    value: float
    channel: Array
    leakage: dict[Axes | str, float]
    status: str
    iterations: int


def solve_by_cvxpy(
    joint: ArrayLike,
    distortion: ArrayLike,
    limits: Limits,
    views: Views | None = None,
    *,
    caps: Mapping[Axes | str, float] | None = None,
    **clarabel_settings: object,
) -> OracleAnswer:
    """Minimise E d(Rhat, R) under ``limits`` and ``views``: the fastest primal formulation found.

    ``caps`` maps views to bits: p(rhat, y | x) <= 2^bits p(rhat, y). They must be among ``limits``
    or ``views``, with the limit inf if they have none.

    Variables are conditional laws, one row per cell (z, x) with p(z, x) > 0. Each view adds
    variables equal to p(rhat | y, x) and p(rhat | y), so that every relative entropy reads two
    scalars and the factorisation stays sparse. Nothing says that the channel is >= 0: the
    exponential cones do, and saying it twice costs a fifth of the time.
    """
    instance = _Instance.of(joint, distortion, limits, views, caps)
    return _minimise_distortion(instance, _as_variable, clarabel_settings)


def solve_by_cvxpy_naively(
    joint: ArrayLike,
    distortion: ArrayLike,
    limits: Limits,
    views: Views | None = None,
    **clarabel_settings: object,
) -> OracleAnswer:
    """The same problem as one would first write it: relative entropies of sums over all cells.

    Same optimum, dense factors: kept to show what the formulation alone is worth.
    """
    instance = _Instance.of(joint, distortion, limits, views)
    return _minimise_distortion(instance, _as_expression, clarabel_settings)


def solve_by_cvxpy_dual(
    joint: ArrayLike,
    distortion: ArrayLike,
    limits: Limits,
    views: Views | None = None,
    **clarabel_settings: object,
) -> OracleAnswer:
    """The same optimum from the dual problem ([M] fact 2), more precise than the primal form.

    With a_S(rhat, y, x) = mu_S ln(q_S(x | rhat, y) / p(x | y)), maximise
    sum p(z, x) t(z, x) - sum mu_S budget_S such that, for every letter rhat,
    t(z, x) <= E[d(rhat, R) | z, x] + sum_S sum_y p(y | z, x) a_S(rhat, y, x), whose multiplier
    is p(z, x) c(rhat | z, x), and sum_x p(x | y) mu_S exp(a_S / mu_S) <= mu_S. Where a view sees
    all of Z, its a_S is eliminated through the first line. Budgets of zero are not supported.
    """
    instance = _Instance.of(joint, distortion, limits, views)
    if any(view.budget_nats <= ZERO_BUDGET_NATS for view in instance.views):
        raise ValueError("the dual formulation needs positive budgets: use solve_by_cvxpy")
    return _maximise_dual(instance, clarabel_settings)


def solve_robustly_by_cvxpy(
    joint: ArrayLike,
    distortion: ArrayLike,
    limits: Limits,
    views: Views | None = None,
    **clarabel_settings: object,
) -> OracleAnswer:
    """``solve_by_cvxpy``, or the dual formulation where Clarabel gives up on the primal one."""
    try:
        return solve_by_cvxpy(joint, distortion, limits, views, **clarabel_settings)
    except cp.SolverError:
        return solve_by_cvxpy_dual(joint, distortion, limits, views, **clarabel_settings)


def solve_levels_by_cvxpy(
    joint: ArrayLike,
    distortion: ArrayLike,
    limits: Limits,
    views: Views | None = None,
    *,
    is_worst: bool = False,
    ceilings: Mapping[int, float] | None = None,
    is_analysable: bool = False,
    **clarabel_settings: object,
) -> tuple[float, OracleAnswer] | None:
    """Minimise E d, or the largest E[d | R = r], with E[d | R = r] <= ceilings[r].

    ``is_analysable`` demands channels that read x only through the level of R, a function of x.
    ``None`` where nothing meets the ceilings; otherwise what was minimised, and the answer.
    """
    instance = _Instance.of(joint, distortion, limits, views)
    n_x, n_r = instance.joint.shape[-2:]
    p_cell_r = instance.joint.reshape(-1, n_x, n_r)[instance.z_of_cell, instance.x_of_cell]
    p_r = p_cell_r.sum(axis=0)
    channel = cp.Variable((instance.n_cells, instance.n_rhat))
    constraints = _channel_constraints(instance, channel, _as_variable)
    if is_analysable:
        by_level = cp.Variable((n_r, instance.n_rhat))
        constraints.append(channel == np.sign(p_cell_r) @ by_level)
    errors = {
        r: cp.sum(cp.multiply(p_cell_r[:, [r]] / p_r[r] * instance.distortion[:, r], channel))
        for r in np.flatnonzero(p_r)
    }
    constraints += [errors[r] <= most for r, most in (ceilings or {}).items() if r in errors]
    least = cp.maximum(*errors.values(), 0.0) if is_worst else None
    objective = _expected_distortion(instance, channel) if least is None else least
    problem = cp.Problem(cp.Minimize(objective), constraints)
    try:
        _run_clarabel(problem, clarabel_settings)
    except RuntimeError:
        if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
            return None
        raise
    return float(problem.value), instance.answer(channel.value, problem)


def sweep_by_cvxpy(
    joint: ArrayLike, distortion: ArrayLike, many_limits: Sequence[Limits]
) -> list[float]:
    """Optimal E d(Rhat, R) under one set of limits after another, compiled only once.

    All sets limit the same axes, with positive budgets: these are the parameters of one problem.
    """
    instances = [_Instance.of(joint, distortion, limits, None) for limits in many_limits]
    budgets = [cp.Parameter(nonneg=True) for _ in instances[0].views]
    channel = cp.Variable((instances[0].n_cells, instances[0].n_rhat))
    rows, definitions = _averages(instances[0], channel, _as_variable)
    constraints = [cp.sum(channel, axis=1) == 1, channel >= 0, *definitions]
    for view, budget in zip(instances[0].views, budgets, strict=True):
        means, definition = _as_variable(view.to_letter @ rows[view.key])
        information = _information_nats(view, rows[view.key], means)
        constraints += [*definition, information <= budget]
    objective = cp.Minimize(_expected_distortion(instances[0], channel))
    problem = cp.Problem(objective, constraints)
    values = []
    for instance in instances:
        for view, budget in zip(instance.views, budgets, strict=True):
            budget.value = view.budget_nats
        _run_clarabel(problem, {})
        values.append(float(problem.value))
    return values


def least_collusion_by_cvxpy(
    joint: ArrayLike,
    distortion: ArrayLike,
    value: float,
    limits: Limits,
    views: Views | None = None,
    *,
    caps: Mapping[Axes | str, float] | None = None,
    **clarabel_settings: object,
) -> OracleAnswer:
    """Minimise I(Rhat, Z; X) such that E d(Rhat, R) <= ``value``, under the other limits.

    The release problem with objective and full-collusion limit exchanged ([M] fact 5). A
    full-collusion limit in ``limits`` is ignored. The answer's value is in bits.
    """
    everyone = tuple(range(np.ndim(joint) - 2))
    others = {axes: bits for axes, bits in limits.items() if axes != everyone}
    instance = _Instance.of(joint, distortion, {**others, everyone: inf}, views, caps)
    channel = cp.Variable((instance.n_cells, instance.n_rhat))
    collusion = next(view for view in instance.views if view.key == everyone)
    means, constraints = _as_variable(collusion.to_letter @ channel)
    objective = _information_nats(collusion, channel, means)
    constraints += _channel_constraints(instance, channel, _as_variable)
    constraints.append(_expected_distortion(instance, channel) <= value)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    _run_clarabel(problem, clarabel_settings)
    answer = instance.answer(channel.value, problem)
    return OracleAnswer(
        answer.leakage[everyone], answer.channel, answer.leakage, answer.status, answer.iterations
    )


# --- Caps alone, as linear programs -------------------------------------------------------------


def solve_caps_by_linprog(
    joint: ArrayLike,
    distortion: ArrayLike,
    laws: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    is_analysable: bool = False,
    is_worst: bool = False,
) -> float:
    """Least E d(Rhat, R), or least worst level, under caps alone.

    ``laws`` maps a name to (p(y | z.., x) with y last, bits or a table of them, [y, x]).
    ``is_analysable`` demands channels that read only r, a function of x.
    """
    joint, distortion = np.asarray(joint, dtype=float), np.asarray(distortion, dtype=float)
    p_zxr = (joint / joint.sum()).reshape(-1, *joint.shape[-2:])
    p_zx = p_zxr.sum(axis=-1)
    n_z, n_x, n_r = p_zxr.shape
    n_rhat, p_x, p_r = len(distortion), p_zx.sum(axis=0), p_zxr.sum(axis=(0, 1))
    errors = np.einsum("ar,zxr->razx", distortion, p_zxr / np.where(p_r > 0, p_r, 1.0))
    conditions = []
    for law, bits in laws.values():
        p_yzx = np.moveaxis(np.asarray(law, dtype=float).reshape(n_z, n_x, -1), -1, 0) * p_zx
        caps = np.broadcast_to(np.exp2(bits), (len(p_yzx), n_x))
        for own, factors in zip(p_yzx, caps, strict=True):
            for x in np.flatnonzero(own.sum(axis=0)):
                row = -factors[x] * p_x[x] * own
                row[:, x] += own[:, x]
                conditions += [np.eye(n_rhat)[rhat][:, None, None] * row for rhat in range(n_rhat)]
    wanted = [errors[r] for r in np.flatnonzero(p_r)] if is_worst else []
    rows = np.array([*conditions, *wanted]).reshape(len(conditions) + len(wanted), -1)
    to_cells = np.eye(n_rhat * n_z * n_x)
    sums = np.tile(np.eye(n_z * n_x), n_rhat)
    cost = np.einsum("razx,r->azx", errors, p_r).ravel()
    if is_analysable:
        level = p_zxr.sum(axis=0).argmax(axis=1)
        reads = np.broadcast_to(np.eye(n_r)[level].T[:, None], (n_r, n_z, n_x))
        to_cells = np.kron(np.eye(n_rhat), reads.reshape(n_r, -1))
        sums = np.tile(np.eye(n_r), n_rhat)
    rows, cost = rows @ to_cells.T, to_cells @ cost
    with_t = np.append(np.zeros(len(conditions)), -np.ones(len(wanted)))
    solved = linprog(
        np.append(np.zeros(len(cost)), 1.0) if is_worst else np.append(cost, 0.0),
        A_ub=np.column_stack([rows, with_t]),
        b_ub=np.zeros(len(rows)),
        A_eq=np.column_stack([sums, np.zeros(len(sums))]),
        b_eq=np.ones(len(sums)),
    )
    assert solved.status == 0, solved.message
    return float(solved.fun)


# --- The parts of a release problem, as sparse matrices ----------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """One limited view Y. A *group* is a pair (y, x) with p(y, x) > 0.

    Attributes:
        budget_nats: limit on I(Rhat; X | Y): the limit in nats minus I(Y; X).
        to_group: [group, cell], p(z | y, x): averages the channel to p(rhat | y, x).
        to_letter: [y, group], p(x | y): averages further to p(rhat | y).
        letter_of_group: index of y for each group.
        p_group: p(y, x).
        law: [cell, group], p(y | z, x) at the cell's own x.
        most: p(rhat, y, x) / p(rhat, y) at most, by a cap, [group]; inf without one.
        sees_everything: whether groups are the cells themselves.
    """

    key: Axes | str
    budget_nats: float
    to_group: sp.csr_matrix
    to_letter: sp.csr_matrix
    letter_of_group: NDArray[np.intp]
    p_group: Array
    law: sp.csr_matrix
    most: Array
    sees_everything: bool

    @property
    def is_limited(self) -> bool:
        """Whether it has a finite limit."""
        return self.budget_nats < inf

    @property
    def is_capped(self) -> bool:
        """Whether it has a cap that some law could exceed."""
        return bool((self.most < 1).any())

    def contains(self, other: _View) -> bool:
        """Whether this coalition holds all that the other one holds, and more."""
        is_axes = isinstance(self.key, tuple) and isinstance(other.key, tuple)
        return is_axes and set(self.key) > set(other.key)

    def pooling(self, finer: _View) -> sp.csr_matrix:
        """[group, finer group], p(finer group | group), for a coalition that contains this one."""
        group_of_cell = self.to_group.tocsc().indices
        first_cell = finer.to_group.indices[finer.to_group.indptr[:-1]]
        group = group_of_cell[first_cell]
        share = finer.p_group / self.p_group[group]
        return sp.csr_matrix((share, (group, np.arange(len(group)))))

    @property
    def spread(self) -> sp.csr_matrix:
        """[group, y] of zeros and ones: copies a value per letter to the letter's groups."""
        n_groups = len(self.p_group)
        ones = np.ones(n_groups)
        return sp.csr_matrix((ones, (np.arange(n_groups), self.letter_of_group)))


@dataclass(frozen=True, slots=True, eq=False)
class _Instance:
    """A release problem over its cells (z, x) of positive probability."""

    joint: Array
    distortion: Array
    limits: Limits
    named_views: Views
    z_of_cell: NDArray[np.intp]
    x_of_cell: NDArray[np.intp]
    p_cell: Array
    views: tuple[_View, ...]

    @classmethod
    def of(
        cls,
        joint: ArrayLike,
        distortion: ArrayLike,
        limits: Limits,
        views: Views | None,
        caps: Mapping[Axes | str, float] | None = None,
    ) -> _Instance:
        joint = np.asarray(joint, dtype=float)
        joint = joint / joint.sum()
        p_zx = joint.sum(axis=-1).reshape(-1, joint.shape[-2])
        z_of_cell, x_of_cell = np.nonzero(p_zx > 0)
        p_cell = p_zx[z_of_cell, x_of_cell]
        history_shape, capped = joint.shape[:-2], caps or {}
        built = [
            _axes_view(
                axes, bits, capped.get(axes, inf), history_shape, z_of_cell, x_of_cell, p_cell
            )
            for axes, bits in limits.items()
        ]
        for name, (law, bits) in (views or {}).items():
            law_zxy = np.asarray(law, dtype=float).reshape(*p_zx.shape, -1)
            cells, letters = np.nonzero(law_zxy[z_of_cell, x_of_cell])
            weights = law_zxy[z_of_cell, x_of_cell][cells, letters]
            bits_and_cap = bits, capped.get(name, inf)
            built.append(_view(name, *bits_and_cap, cells, letters, weights, x_of_cell, p_cell))
        built.sort(key=lambda view: (-len(view.p_group), -len(view.key)))  # finest first
        return cls(
            joint=joint,
            distortion=np.asarray(distortion, dtype=float),
            limits=dict(limits),
            named_views=dict(views or {}),
            z_of_cell=z_of_cell,
            x_of_cell=x_of_cell,
            p_cell=p_cell,
            views=tuple(built),
        )

    @property
    def n_cells(self) -> int:
        return len(self.p_cell)

    @property
    def n_rhat(self) -> int:
        return self.distortion.shape[0]

    @property
    def mean_distortion(self) -> Array:
        """E[d(rhat, R) | z, x], [cell, rhat]."""
        n_x, n_r = self.joint.shape[-2:]
        p_r_and_cell = self.joint.reshape(-1, n_x, n_r)[self.z_of_cell, self.x_of_cell]
        return p_r_and_cell @ self.distortion.T / self.p_cell[:, None]

    @property
    def limited_views(self) -> list[_View]:
        """Views with a finite limit, finest first."""
        return [view for view in self.views if view.is_limited]

    @property
    def bound_views(self) -> list[_View]:
        """Views with a finite limit or a cap, finest first."""
        return [view for view in self.views if view.is_limited or view.is_capped]

    def parent(self, view: _View) -> _View | None:
        """The coarsest bound coalition that contains this one; ``None`` where only cells do."""
        containing = [
            other
            for other in self.bound_views
            if not other.sees_everything and other.contains(view)
        ]
        return min(containing, key=lambda other: len(other.p_group), default=None)

    def answer(self, channel_of_cell: Array, problem: cp.Problem) -> OracleAnswer:
        """Clean the rows, put them back into the full shape and recompute everything."""
        rows = np.maximum(channel_of_cell, 0.0)
        n_z = int(np.prod(self.joint.shape[:-2], dtype=int))
        channel = np.full((n_z, self.joint.shape[-2], self.n_rhat), 1 / self.n_rhat)
        channel[self.z_of_cell, self.x_of_cell] = rows / rows.sum(axis=1, keepdims=True)
        channel = channel.reshape(*self.joint.shape[:-1], self.n_rhat)
        return OracleAnswer(
            value=expected_distortion(self.joint, self.distortion, channel),
            channel=channel,
            leakage=every_leakage_bits(self.joint, channel, self.limits, self.named_views),
            status=str(problem.status),
            iterations=int(problem.solver_stats.num_iters),
        )


def _axes_view(
    axes: Axes,
    limit_bits: float,
    cap_bits: float,
    history_shape: tuple[int, ...],
    z_of_cell: NDArray[np.intp],
    x_of_cell: NDArray[np.intp],
    p_cell: Array,
) -> _View:
    """The view of those who hold the earlier releases on ``axes``."""
    letters = np.zeros(len(z_of_cell), dtype=np.intp)
    if axes:
        of_axis = np.unravel_index(z_of_cell, history_shape)
        seen_shape = tuple(history_shape[axis] for axis in axes)
        letters = np.ravel_multi_index([of_axis[axis] for axis in axes], seen_shape)
    cells = np.arange(len(z_of_cell))
    certain = np.ones(len(cells))
    return _view(axes, limit_bits, cap_bits, cells, letters, certain, x_of_cell, p_cell)


def _view(
    key: Axes | str,
    limit_bits: float,
    cap_bits: float,
    cells: NDArray[np.intp],
    letters: NDArray[np.intp],
    weights: Array,
    x_of_cell: NDArray[np.intp],
    p_cell: Array,
) -> _View:
    """A view from triples (cell, y, p(y | cell))."""
    n_cells, n_x = len(p_cell), int(x_of_cell.max()) + 1
    codes, group = np.unique(letters * n_x + x_of_cell[cells], return_inverse=True)
    _, letter_of_group = np.unique(codes // n_x, return_inverse=True)
    mass = p_cell[cells] * weights
    p_group = np.bincount(group, mass)
    p_letter = np.bincount(letter_of_group, p_group)
    p_x = np.bincount(x_of_cell, p_cell)
    p_x_given_y = p_group / p_letter[letter_of_group]
    held_nats = float(np.sum(p_group * np.log(p_x_given_y / p_x[codes % n_x])))  # I(Y; X)
    n_groups = len(p_group)
    return _View(
        key=key,
        budget_nats=_budget_nats(key, limit_bits, held_nats),
        to_group=sp.csr_matrix((mass / p_group[group], (group, cells)), (n_groups, n_cells)),
        to_letter=sp.csr_matrix((p_x_given_y, (letter_of_group, np.arange(n_groups)))),
        letter_of_group=letter_of_group,
        p_group=p_group,
        law=sp.csr_matrix((weights, (cells, group)), (n_cells, n_groups)),
        most=2.0**cap_bits * p_x[codes % n_x],
        sees_everything=n_groups == n_cells == len(cells) and bool((group == cells).all()),
    )


def _budget_nats(key: Axes | str, limit_bits: float, held_nats: float) -> float:
    budget = limit_bits * log(2) - held_nats
    if budget < -ZERO_BUDGET_NATS:
        raise ValueError(
            f"view {key!r} already holds {held_nats / log(2):.9g} bits, more than {limit_bits:.9g}"
        )
    return max(budget, 0.0)


# --- The primal formulations -------------------------------------------------------------------

Binding = Callable[[cp.Expression], tuple[cp.Expression, list[cp.Constraint]]]


def _as_variable(expression: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
    """A new variable that equals ``expression``."""
    variable = cp.Variable(expression.shape)
    return variable, [variable == expression]


def _as_expression(expression: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
    """``expression`` itself."""
    return expression, []


def _averages(
    instance: _Instance, channel: cp.Expression, bind: Binding
) -> tuple[dict[Axes | str, cp.Expression], list[cp.Constraint]]:
    """p(rhat | y, x), [group, rhat], of every bound view.

    A coalition's average is taken over its parent's groups rather than over the cells: with three
    coalitions this halves the time.
    """
    rows: dict[Axes | str, cp.Expression] = {}
    constraints: list[cp.Constraint] = []
    for view in instance.bound_views:
        parent = instance.parent(view)
        if view.sees_everything:
            rows[view.key] = channel
            continue
        average = (
            view.to_group @ channel if parent is None else view.pooling(parent) @ rows[parent.key]
        )
        rows[view.key], definition = bind(average)
        constraints += definition
    return rows, constraints


def _information_nats(view: _View, rows: cp.Expression, means: cp.Expression) -> cp.Expression:
    """I(Rhat; X | Y) in nats: sum p(y, x) D(p(rhat | y, x) || p(rhat | y))."""
    return view.p_group @ cp.sum(cp.rel_entr(rows, view.spread @ means), axis=1)


def _view_constraints(view: _View, rows: cp.Expression, bind: Binding) -> list[cp.Constraint]:
    """The limit and the cap of a view, which read the same p(rhat | y).

    I(Rhat; X | Y) <= budget; with no budget at all, Rhat independent of X given Y. And
    p(rhat, y, x) <= most p(rhat, y), unless no law could exceed it.
    """
    means, constraints = bind(view.to_letter @ rows)
    if view.budget_nats <= ZERO_BUDGET_NATS:
        constraints.append(rows == view.spread @ means)
    elif view.is_limited:
        constraints.append(_information_nats(view, rows, means) <= view.budget_nats)
    if view.is_capped:
        binds = view.most < 1
        p_letter = np.bincount(view.letter_of_group, view.p_group)[view.letter_of_group]
        most = sp.diags(np.where(binds, view.most, 1.0) * p_letter) @ view.spread @ means
        constraints.append((sp.diags(view.p_group) @ rows)[binds] <= most[binds])
    return constraints


def _channel_constraints(
    instance: _Instance, channel: cp.Variable, bind: Binding
) -> list[cp.Constraint]:
    """Rows that sum to 1, every limit and cap, and c >= 0 unless a cone over the cells says so."""
    rows, definitions = _averages(instance, channel, bind)
    constraints = [cp.sum(channel, axis=1) == 1, *definitions]
    for view in instance.bound_views:
        constraints += _view_constraints(view, rows[view.key], bind)
    is_implied = any(
        view.sees_everything and view.budget_nats > ZERO_BUDGET_NATS
        for view in instance.limited_views
    )
    return constraints if is_implied else [*constraints, channel >= 0]


def _expected_distortion(instance: _Instance, channel: cp.Variable) -> cp.Expression:
    cost = instance.p_cell[:, None] * instance.mean_distortion
    return cp.sum(cp.multiply(cost, channel))


def _minimise_distortion(
    instance: _Instance,
    bind: Binding,
    clarabel_settings: Mapping[str, object],
) -> OracleAnswer:
    channel = cp.Variable((instance.n_cells, instance.n_rhat))
    constraints = _channel_constraints(instance, channel, bind)
    problem = cp.Problem(cp.Minimize(_expected_distortion(instance, channel)), constraints)
    _run_clarabel(problem, clarabel_settings)
    return instance.answer(channel.value, problem)


# --- The dual formulation ----------------------------------------------------------------------


def _maximise_dual(instance: _Instance, clarabel_settings: Mapping[str, object]) -> OracleAnswer:
    views = instance.limited_views
    whole = next((view for view in views if view.sees_everything), None)
    level = cp.Variable((instance.n_cells, 1))  # t(z, x)
    objective: cp.Expression = instance.p_cell @ level[:, 0]
    constraints: list[cp.Constraint] = []
    best_case: cp.Expression = cp.Constant(instance.mean_distortion)
    totals: dict[Axes | str, cp.Expression] = {}  # a view's scores plus those that pool it
    for view in reversed([view for view in views if view is not whole]):
        scores = cp.Variable((len(view.p_group), instance.n_rhat))  # a_S(rhat, y, x)
        _, multiplier, cones = _score_cones(view, scores)
        objective = objective - multiplier * view.budget_nats
        children = [other for other in views if instance.parent(other) is view]
        total, definition = _total_scores(view, scores, children, totals)
        totals[view.key] = total
        constraints += [*cones, *definition]
        if instance.parent(view) is None:
            best_case = best_case + view.law @ total
    shortfall = level @ np.ones((1, instance.n_rhat)) - best_case
    if whole is None:
        binding = shortfall <= 0
        constraints.append(binding)
    else:
        binding, multiplier, cones = _score_cones(whole, shortfall)
        objective = objective - multiplier * whole.budget_nats
        constraints += cones
    problem = cp.Problem(cp.Maximize(objective), constraints)
    _run_clarabel(problem, clarabel_settings)
    prices = binding.dual_value if whole is None else binding.dual_value[0]  # p(z, x) channel
    return instance.answer(np.abs(np.reshape(prices, shortfall.shape)), problem)


def _total_scores(
    view: _View,
    scores: cp.Expression,
    children: list[_View],
    totals: Mapping[Axes | str, cp.Expression],
) -> tuple[cp.Expression, list[cp.Constraint]]:
    """A view's scores plus its children's totals, copied to its groups: the averages' transpose."""
    if not children:
        return scores, []
    copied = [(child.pooling(view) > 0).astype(float).T @ totals[child.key] for child in children]
    return _as_variable(sum(copied, start=scores))


def _score_cones(
    view: _View, scores: cp.Expression
) -> tuple[cp.ExpCone, cp.Variable, list[cp.Constraint]]:
    """mu_S and the constraints sum_x p(x | y) mu_S exp(scores / mu_S) <= mu_S."""
    multiplier = cp.Variable()
    tilted = cp.Variable(scores.shape)
    cone = cp.ExpCone(scores, multiplier * np.ones(scores.shape), tilted)
    return cone, multiplier, [cone, view.to_letter @ tilted <= multiplier]


def _run_clarabel(problem: cp.Problem, settings: Mapping[str, object]) -> None:
    """Solve, and leave it to the caller to read ``problem.status`` where precision was missed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, **settings)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise RuntimeError(f"Clarabel found no solution: {problem.status}")


# --- Assertions --------------------------------------------------------------------------------


def assert_is_channel(channel: Array, *, tolerance: float = 1e-12) -> None:
    """Entries are >= 0 and rows sum to 1 within ``tolerance``."""
    assert np.isfinite(channel).all(), "the channel holds NaN or infinite entries"
    assert channel.min() >= 0, f"the channel's smallest entry is {channel.min():.3g}"
    error = np.abs(channel.sum(axis=-1) - 1).max()
    assert error <= tolerance, f"a row of the channel misses 1 by {error:.3g}"


def assert_within_limits(
    joint: Array,
    channel: Array,
    limits: Limits,
    views: Views | None = None,
    *,
    slack_bits: float = 1e-12,
) -> None:
    """No view exceeds its limit by more than ``slack_bits``, by brute force."""
    allowed: dict[Axes | str, float] = {**limits}
    allowed |= {name: bits for name, (_, bits) in (views or {}).items()}
    for key, bits in every_leakage_bits(joint, channel, limits, views).items():
        assert bits <= allowed[key] + slack_bits, (
            f"view {key!r} learns {bits:.12g} bits, limit {allowed[key]:.12g}"
        )


def assert_same_value(value: float, reference: float, *, tolerance: float) -> None:
    """Two optima agree within ``tolerance``."""
    assert abs(value - reference) <= tolerance, (
        f"{value:.12g} differs from {reference:.12g} by {value - reference:.3g}, "
        f"more than {tolerance:.3g}"
    )
