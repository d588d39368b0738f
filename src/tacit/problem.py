"""What to solve: a release problem ([TVC] eq. 1, with the coalitions of its conclusion)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.information.laws import as_cap, as_law, as_limit, as_numbers, as_rows, as_weights

ViewKey = Hashable
ViewName = str | frozenset[str]
"""Of a view that is given by its law: a name, or the set of the parties that share it."""

Utility = str | ArrayLike
"""A name of ``DISTORTIONS``, a matrix d[rhat, r], ``INFORMATION`` or ``SHARES``."""

INFORMATION = "information"
"""The utility I(Rhat; R)."""

SHARES = "shares"
"""The utility of estimated shares: their largest variance is minimised, see ``Problem``."""

MEAN = "mean"
WORST_LEVEL = "worst-level"
OBJECTIVES = (MEAN, WORST_LEVEL)
"""What of a distortion is minimised: E d(Rhat, R), or the largest E[d(Rhat, R) | R = r]."""


@dataclass(frozen=True, slots=True)
class Distortion:
    """A distortion that has a name.

    Attributes:
        name: how people ask for it.
        matrix: positions of the letters -> d[rhat, r] >= 0. The positions say where letters lie on
            a line, NaN for a missing value; they are 0, 1, 2, ... where letters have no order.
        in_words: what answers are, with a place for the mean: "off by {value} on average".
        guess_in_words: the same of a blind guess, said after the answers: "by {value}".
        needs_numbers: whether it makes no sense of letters without an order.
        is_share: whether the mean is the share of wrong answers: people are told how many of ten
            are right.
        judged: how answers are judged, in words.
    """

    name: str
    matrix: Callable[[Array], Array]
    in_words: str
    guess_in_words: str
    needs_numbers: bool = True
    is_share: bool = False
    judged: str = ""


def distances(positions: Array) -> Array:
    """|a - b| between letters; a missing value is as far from all others as any two are."""
    is_missing = np.isnan(positions)
    known = positions[~is_missing]
    apart = np.abs(positions[:, None] - positions)
    apart[is_missing[:, None] ^ is_missing] = np.ptp(known) if len(known) else 0.0
    apart[is_missing[:, None] & is_missing] = 0.0
    return np.asarray(apart)


DISTORTIONS: dict[str, Distortion] = {
    distortion.name: distortion
    for distortion in (
        Distortion(
            "hamming",
            lambda positions: 1.0 - np.eye(len(positions)),
            in_words="{value} of the values wrong",
            guess_in_words="gets {value} wrong",
            needs_numbers=False,
            is_share=True,
            judged="an answer is right or wrong",
        ),
        Distortion(
            "absolute",
            distances,
            "off by {value} on average",
            "by {value}",
            judged="how far the answer is from the truth, in units of the column, or in bins",
        ),
        Distortion(
            "squared",
            lambda positions: distances(positions) ** 2,
            "off, squared, by {value} on average",
            "by {value}",
            judged="how far the answer is from the truth, in units of the column or bins, squared",
        ),
    )
}
"""Every distortion that is asked for by name; a row that is added here is known everywhere."""


@dataclass(frozen=True, slots=True, init=False)
class Costs:
    """What each answer costs where each level is true.

    Attributes:
        rows: numbers >= 0, a row for each answer and a column for each true level.
    """

    rows: tuple[tuple[float, ...], ...]

    def __init__(self, rows: ArrayLike) -> None:
        """Check a table of costs, given as nested sequences or as an array [rhat, r]."""
        try:
            table = np.array(rows, dtype=float)
        except (ValueError, TypeError):
            raise _no_costs("rows of different lengths, or something that is no number") from None
        if table.ndim != 2 or table.size == 0:
            raise _no_costs("no rows of numbers")
        if not (np.isfinite(table) & (table >= 0)).all():
            raise _no_costs("a number that is below 0, infinite or NaN")
        object.__setattr__(self, "rows", tuple(map(tuple, table.tolist())))


def _no_costs(seen: str) -> InvalidInputError:
    return InvalidInputError(
        f"the table of costs has {seen}: give numbers >= 0, one row for each answer and one column "
        "for each true level"
    )


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a coalition has received so far: a variable Y with a known law given (z, x).

    Exactly one of the two descriptions is set. ``letter_of_z[z]`` is the letter of a Y that is a
    function of the (flat) history; ``law[z, x, y]`` is p(y | z, x).
    """

    letter_of_z: NDArray[np.intp] | None = None
    law: Array | None = None

    @property
    def size(self) -> int:
        """Number of letters of Y."""
        if self.law is not None:
            return int(self.law.shape[-1])
        assert self.letter_of_z is not None
        return int(self.letter_of_z.max()) + 1

    def pool(self, mass: Array) -> Array:
        """Masses p(y, x, ...) from masses p(z, x, ...): what of a history this view can see."""
        if self.law is not None:
            return np.asarray(np.einsum("zxy,zx...->yx...", self.law, mass))
        assert self.letter_of_z is not None
        if self.size == 1:
            return np.asarray(mass.sum(axis=0, keepdims=True))
        pooled = np.zeros((self.size, *mass.shape[1:]), dtype=mass.dtype)
        np.add.at(pooled, self.letter_of_z, mass)
        return pooled


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The best randomised release of R given the record X and everything released before, Z.

    Minimise E d(Rhat, R), or maximise I(Rhat; R), over channels p(rhat | z, x), such that every
    limited view Y satisfies I(Rhat, Y; X) <= its limit ([TVC] eq. 1).

    Args:
        joint: array p(z1, ..., zk, x, r) or p(x, r); counts are normalised.
        utility: the name of one of ``DISTORTIONS`` (``"hamming"``, ``"absolute"``, ``"squared"``,
            ...), read on the letters 0, 1, 2, ...; a matrix ``d[rhat, r]`` >= 0;
            ``"information"`` for I(Rhat; R); or, for an analysable release, ``"shares"``: the
            share of each level among n records is estimated with the inverse of p(rhat | r), and
            n times the largest variance of these estimates is minimised.
        individual: limit on I(Rhat; X) in bits; ``None`` or ``inf`` for none.
        collusion: limit on I(Rhat, Z; X) in bits, all earlier releases together.
        coalitions: axes of earlier releases -> limit in bits.
        views: name -> (p(y | z1, ..., zk, x) as an array with y last, limit in bits).
        rhat_size: letters of Rhat, for ``"information"``; by default as many as still help.
        objective: ``"mean"`` minimises E d(Rhat, R); ``"worst-level"`` the largest
            E[d(Rhat, R) | R = r] over the levels r that occur ([M] fact 13).
        ceilings: level r -> largest E[d(Rhat, R) | R = r] that is allowed.
        caps: view -> bits kappa, for single answers: p(rhat, y | x) <= 2^kappa p(rhat, y) for every
            rhat, every letter y of the view and every x, so that no answer makes any x more than
            2^kappa times as likely as before ([M] fact 15). Views are named as in ``limits``:
            ``()`` is the recipient alone, a tuple of axes a coalition, a string or frozenset one of
            ``views``. In the place of one number, ``()`` and ``views`` may have an array [y, x].
        analysable: whether the channel may read nothing but the level r of R, which must be a
            function of x ([M] fact 14).

    Attributes:
        is_information: whether the utility is I(Rhat; R) rather than an expected distortion.
        is_searched: whether the best release is searched for by solving one problem after another.
    """

    joint: Array
    utility: Utility = "hamming"
    individual: float | None = None
    collusion: float | None = None
    coalitions: Mapping[tuple[int, ...], float] = field(default_factory=dict)
    views: Mapping[ViewName, tuple[ArrayLike, float]] = field(default_factory=dict)
    rhat_size: int | None = None
    objective: str = field(default=MEAN, kw_only=True)
    ceilings: Mapping[int, float] = field(default_factory=dict, kw_only=True)
    caps: Mapping[Any, float | ArrayLike] = field(default_factory=dict, kw_only=True)
    analysable: bool = field(default=False, kw_only=True)
    is_information: bool = field(init=False, repr=False)
    is_searched: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "joint", _checked_joint(self.joint))
        put(self, "utility", _checked_utility(self.utility, self.joint.shape[-1]))
        is_word = isinstance(self.utility, str)
        put(self, "is_information", is_word and self.utility == INFORMATION)
        put(self, "individual", _limit("individual", self.individual))
        put(self, "collusion", _limit("collusion", self.collusion))
        put(self, "coalitions", _checked_coalitions(self.coalitions, len(self.history_shape)))
        put(self, "views", _checked_views(self.views, self.joint.shape[:-1]))
        put(self, "rhat_size", _checked_rhat_size(self.rhat_size, self.is_information))
        put(self, "caps", _checked_caps(self.caps, self.joint.shape[:-1], self.views))
        put(self, "ceilings", _checked_ceilings(self.ceilings, self.joint.shape[-1]))
        _check_levels(self)
        is_mean = self.objective == MEAN and not self.ceilings
        put(self, "is_searched", self.is_information or not is_mean)
        if self.analysable:
            _check_analysable(self.joint_zxr.sum(axis=0))

    @property
    def history_shape(self) -> tuple[int, ...]:
        """Alphabet sizes of the earlier releases z1, ..., zk."""
        return self.joint.shape[:-2]

    @property
    def everyone(self) -> tuple[int, ...]:
        """Key of full collusion: all earlier axes."""
        return tuple(range(len(self.history_shape)))

    @property
    def joint_zxr(self) -> Array:
        """p(z, x, r) with the history flattened to one axis (of length 1 if there is none)."""
        return self.joint.reshape(-1, *self.joint.shape[-2:])

    @property
    def p_r(self) -> Array:
        """p(r)."""
        return np.asarray(self.joint_zxr.sum(axis=(0, 1)))

    @property
    def is_shares(self) -> bool:
        """Whether the largest variance of the estimated shares is minimised."""
        return isinstance(self.utility, str) and self.utility == SHARES

    @property
    def distortion(self) -> Array:
        """The matrix d[rhat, r]; only where the utility is a distortion."""
        if self.is_information or self.is_shares:
            raise InvalidInputError(f'utility "{self.utility}" has no distortion matrix')
        if not isinstance(self.utility, str):
            return np.asarray(self.utility, dtype=float)
        return DISTORTIONS[self.utility].matrix(np.arange(self.joint.shape[-1], dtype=float))

    @property
    def scale(self) -> float:
        """What gaps are relative to: the range of the distortion, whatever its unit.

        It reaches from the least cost to what the safest constant answer may cost: a cost that is
        to forbid an answer does not count. 1 where the utility is no distortion.
        """
        if self.is_information or self.is_shares:
            return 1.0
        occurring = self.distortion[:, self.p_r > 0]
        least = float(occurring.min())
        safest, largest = float(occurring.max(axis=1).min()), float(occurring.max())
        return (safest - least) or (largest - least) or largest or 1.0

    @property
    def limits(self) -> dict[ViewKey, float]:
        """Limit in bits of every view that is reported: the smallest one given, or inf.

        Capped views are reported, too.
        """
        limits: dict[ViewKey, float] = {(): inf, self.everyone: inf}
        given: list[tuple[ViewKey, float | None]] = [
            ((), self.individual),
            (self.everyone, self.collusion),
            *self.coalitions.items(),
            *((name, limit) for name, (_, limit) in self.views.items()),
            *((key, inf) for key in self.caps),
        ]
        for key, limit in given:
            limits[key] = min(limits.get(key, inf), inf if limit is None else limit)
        return limits

    def view(self, key: ViewKey) -> View:
        """The view behind a key of ``limits``."""
        if isinstance(key, str | frozenset):
            law = np.asarray(self.views[key][0])
            return View(law=law.reshape(-1, *law.shape[-2:]))
        assert isinstance(key, tuple)
        return View(letter_of_z=_letters_of_axes(self.history_shape, key))

    def with_limits(self, individual: float | None, collusion: float | None) -> Problem:
        """The same problem under another (individual, collusion) pair."""
        return replace(self, individual=individual, collusion=collusion)


def _letters_of_axes(history_shape: tuple[int, ...], axes: tuple[int, ...]) -> NDArray[np.intp]:
    """For each flat history, the flat index of its letters on ``axes``."""
    n_histories = int(np.prod(history_shape, dtype=int))
    if not axes:
        return np.zeros(n_histories, dtype=np.intp)
    letters = np.unravel_index(np.arange(n_histories), history_shape)
    shape = tuple(history_shape[axis] for axis in axes)
    return np.asarray(np.ravel_multi_index([letters[axis] for axis in axes], shape), dtype=np.intp)


def _checked_joint(joint: ArrayLike) -> Array:
    array = as_numbers(joint, name="joint")
    if array.ndim < 2:
        raise InvalidInputError(
            f"joint has {array.ndim} axes: give p(x, r) or p(z1, ..., zk, x, r), x and r last"
        )
    return _read_only(as_law(array, name="joint"))


def _read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _checked_utility(utility: Utility, n_r: int) -> str | Array:
    if not isinstance(utility, str):
        return _checked_matrix(utility, n_r)
    if utility in DISTORTIONS:
        _checked_matrix(DISTORTIONS[utility].matrix(np.arange(n_r, dtype=float)), n_r)
    elif utility not in (INFORMATION, SHARES):
        raise InvalidInputError(
            f"utility {utility!r} is unknown: use {', '.join(DISTORTIONS)}, {INFORMATION}, "
            f"{SHARES} or a matrix d[rhat, r]"
        )
    return utility


def _checked_matrix(utility: ArrayLike, n_r: int) -> Array:
    matrix = as_numbers(utility, name="utility")
    if matrix.ndim != 2 or matrix.shape[1] != n_r or matrix.shape[0] == 0:
        raise InvalidInputError(
            f"utility has shape {matrix.shape}: a distortion is a matrix d[rhat, r] "
            f"with {n_r} columns, one per letter of r"
        )
    return _read_only(as_weights(matrix, name="utility"))


def _limit(name: str, bits: float | None) -> float:
    return inf if bits is None else as_limit(bits, name=name)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isnan(value)


def _checked_coalitions(
    coalitions: Mapping[Any, Any], n_axes: int
) -> Mapping[tuple[int, ...], float]:
    checked: dict[tuple[int, ...], float] = {}
    for axes, bits in coalitions.items():
        members = _checked_axes(axes, n_axes)
        limit = _limit(f"coalitions[{axes!r}]", bits)
        checked[members] = min(limit, checked.get(members, inf))
    return checked


def _checked_axes(axes: object, n_axes: int) -> tuple[int, ...]:
    """A coalition's axes, sorted."""
    if not isinstance(axes, tuple) or not all(
        _is_number(axis) and axis == axis // 1 for axis in axes
    ):
        raise InvalidInputError(
            f"coalition {axes!r} is no tuple of axes: write (0,) for the first earlier release"
        )
    members = tuple(sorted({int(axis) for axis in axes}))
    if any(not 0 <= axis < n_axes for axis in members):
        raise InvalidInputError(
            f"coalition {axes!r} names an axis outside 0..{n_axes - 1}: "
            f"the joint has {n_axes} earlier releases"
        )
    return members


def _checked_caps(
    caps: Mapping[Any, Any],
    cell_shape: tuple[int, ...],
    views: Mapping[ViewName, tuple[ArrayLike, float]],
) -> Mapping[ViewKey, float | Array]:
    checked: dict[ViewKey, float | Array] = {}
    for key, bits in caps.items():
        if isinstance(key, str | frozenset) and key not in views:
            raise InvalidInputError(
                f"caps name the view {key!r}, which is not among views: give its law there, with "
                "the limit inf if it has none"
            )
        is_named = isinstance(key, str | frozenset)
        own = key if is_named else _checked_axes(key, len(cell_shape) - 1)
        if isinstance(bits, np.ndarray) and (is_named or own == ()):
            n_letters = np.shape(views[key][0])[-1] if is_named else 1
            checked[own] = _checked_cap_table(key, bits, (n_letters, cell_shape[-1]))
        elif (cap := as_cap(bits, name=f"caps[{key!r}]")) < inf:
            checked[own] = min(cap, float(np.min(checked.get(own, inf))))
    return checked


def _checked_cap_table(key: object, bits: Array, shape: tuple[int, int]) -> Array:
    """Bits for every letter of a view and every record."""
    table = np.array(bits, dtype=float)
    if table.shape != shape or np.isnan(table).any():
        raise InvalidInputError(
            f"caps[{key!r}] is an array of shape {table.shape}: give bits with shape {shape}, a "
            "row for each letter of the view and a column for each x"
        )
    return _read_only(table)


def _checked_views(
    views: Mapping[Any, Any], cell_shape: tuple[int, ...]
) -> Mapping[ViewName, tuple[Array, float]]:
    checked: dict[ViewName, tuple[Array, float]] = {}
    for name, view in views.items():
        if not isinstance(name, str | frozenset):
            raise InvalidInputError(f"view {name!r} is not named by a string or a frozenset")
        if not isinstance(view, tuple) or len(view) != 2:
            raise InvalidInputError(f"views[{name!r}] is no pair: give (p(y | z.., x), bits)")
        law, bits = view
        array = as_numbers(law, name=f"views[{name!r}]")
        if array.shape[:-1] != cell_shape or array.shape[-1] == 0:
            raise InvalidInputError(
                f"views[{name!r}] has shape {array.shape}: "
                f"give p(y | z.., x) with shape {cell_shape} + (letters of y,)"
            )
        array = _read_only(as_rows(array, name=f"views[{name!r}]"))
        checked[name] = (array, _limit(f"views[{name!r}]", bits))
    return checked


def _checked_rhat_size(rhat_size: int | None, is_information: bool) -> int | None:
    if rhat_size is None:
        return None
    if not is_information:
        raise InvalidInputError(
            f"rhat_size={rhat_size} is for utility='information'; "
            "a distortion matrix d[rhat, r] sets the letters by its rows"
        )
    if not _is_number(rhat_size) or rhat_size != rhat_size // 1 or rhat_size < 1:
        raise InvalidInputError(f"rhat_size is {rhat_size}: give a whole number of letters >= 1")
    return int(rhat_size)


def _checked_ceilings(ceilings: Mapping[Any, Any], n_r: int) -> Mapping[int, float]:
    checked: dict[int, float] = {}
    for level, error in ceilings.items():
        if not _is_number(level) or level != level // 1 or not 0 <= level < n_r:
            raise InvalidInputError(
                f"ceilings name the level {level!r}: the levels of r are numbered 0 to {n_r - 1}"
            )
        if not _is_number(error) or error < 0:
            raise InvalidInputError(f"ceilings[{level!r}] is {error!r}: give an error >= 0")
        if error < inf:
            checked[int(level)] = float(error)
    return checked


def _check_levels(problem: Problem) -> None:
    """Refuse an unknown objective, and what a utility without levels has no use for."""
    if problem.objective not in OBJECTIVES:
        raise InvalidInputError(
            f"objective {problem.objective!r} is unknown: use {' or '.join(OBJECTIVES)}"
        )
    has_levels = problem.objective != MEAN or problem.ceilings
    if has_levels and (problem.is_information or problem.is_shares):
        raise InvalidInputError(
            f"utility {problem.utility!r} has no error at each level: objective and ceilings are "
            "for distortions"
        )
    if problem.is_shares and not problem.analysable:
        raise InvalidInputError(
            f"utility {SHARES!r} is for releases that read only the level asked for: add "
            "analysable=True"
        )


def _check_analysable(joint_xr: Array) -> None:
    """Refuse an R that is not a function of x."""
    several = np.flatnonzero((joint_xr > 0).sum(axis=1) > 1)
    if len(several):
        x, levels = int(several[0]), np.flatnonzero(joint_xr[several[0]] > 0).tolist()
        raise InvalidInputError(
            f"analysable needs an r that is a function of x, but record x={x} has the levels "
            f"r={levels}: a release reads x and never r itself; ask for a function of x, or leave "
            "analysable out"
        )
