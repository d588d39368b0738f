"""The problems that are timed: random ones of given sizes, and Table I of [TVC].

Nothing here imports a solver, so that the memory of one can be measured alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import tacit

Array = NDArray[np.float64]

INDIVIDUAL_SHARE = 0.3
"""Individual limit of the random problems, as a share of H(R)."""

COLLUSION_ROOM_BITS = 0.15
"""Full-collusion limit of the random problems, beyond what the earlier releases hold."""

REQUEST_NOISE = 0.1
"""Probability with which R is redrawn uniformly rather than read off x."""


@dataclass(frozen=True, slots=True)
class Size:
    """A random problem with earlier releases of given alphabet sizes.

    ``noise`` and ``seed`` are chosen so that both limits bind at the optimum; the benchmark prints
    the multipliers that show it. Targets are speed ratios; ``None`` where there is none.
    """

    n_rhat: int
    release_sizes: tuple[int, ...]
    n_x: int
    noise: float
    seed: int = 1
    target_cvxpy: float | None = None
    target_paper: float | None = None

    @property
    def n_z(self) -> int:
        """Number of histories."""
        return int(np.prod(self.release_sizes))

    @property
    def name(self) -> str:
        """|Rhat| x |Z| x |X|."""
        return f"{self.n_rhat}x{self.n_z}x{self.n_x}"


SIZES = (
    Size(4, (4,), 32, noise=0.5, target_cvxpy=8, target_paper=1000),
    Size(4, (4, 8), 32, noise=0.6, target_cvxpy=8, target_paper=1000),
    Size(4, (4, 4, 8), 32, noise=0.6, target_cvxpy=25),
    Size(8, (8, 8), 64, noise=0.6, target_cvxpy=40),
    Size(4, (8, 8, 8), 128, noise=0.6, target_cvxpy=60),
)

COALITION_SIZE = Size(4, (4, 4, 2), 32, noise=0.5, target_cvxpy=5)

COALITION_ROOM_BITS = {(0,): 0.197, (1,): 0.538, (0, 1): 0.167}
"""Coalition -> limit beyond what it holds already; with these all five limits bind."""


def size_named(name: str) -> Size:
    """The size with that name."""
    return next(size for size in SIZES if size.name == name)


def entropy_bits(p: Array) -> float:
    """H in bits of a law."""
    positive = p[p > 0]
    return -float(np.sum(positive * np.log2(positive)))


def held_bits(joint: Array, axes: tuple[int, ...]) -> float:
    """I(Z_S; X) in bits: what the holders of the earlier releases on ``axes`` know already."""
    n_history = joint.ndim - 2
    unseen = tuple(axis for axis in range(n_history) if axis not in axes)
    p_seen_x = joint.sum(axis=(*unseen, -1))
    p_seen, p_x = p_seen_x.sum(axis=-1), p_seen_x.sum(axis=tuple(range(p_seen_x.ndim - 1)))
    return entropy_bits(p_seen) + entropy_bits(p_x) - entropy_bits(p_seen_x)


def joint_after_releases(size: Size) -> Array:
    """p(z1, ..., zm, x, r): each Z_i is an earlier noisy release of a function of X.

    X has a random law; R is x cut into ``n_rhat`` ranges, redrawn with probability
    ``REQUEST_NOISE``; Z_1 releases such a cut too, the later ones a random function of x, each
    replaced, with probability ``noise``, by a letter from a random law per x. So R - X - Z holds,
    as in every sequential scheme.
    """
    rng = np.random.default_rng(size.seed)
    p_x = rng.dirichlet(np.full(size.n_x, 3.0))
    p_r_given_x = _noisy_function(
        _ranges(size.n_x, size.n_rhat),
        REQUEST_NOISE,
        np.full((size.n_x, size.n_rhat), 1 / size.n_rhat),
    )
    p_zx = p_x[None]
    for p_released_given_x in _earlier_releases(size, rng):
        p_zx = (p_zx[:, None] * p_released_given_x.T).reshape(-1, size.n_x)
    joint = p_zx[..., None] * p_r_given_x
    return joint.reshape(*size.release_sizes, size.n_x, size.n_rhat)


def _earlier_releases(size: Size, rng: np.random.Generator) -> list[Array]:
    """p(z_i | x) of each earlier release, [x, z_i]."""
    releases = []
    for i, n_letters in enumerate(size.release_sizes):
        released = _ranges(size.n_x, n_letters) if i == 0 else rng.integers(0, n_letters, size.n_x)
        substitute = rng.dirichlet(np.ones(n_letters), size.n_x)
        releases.append(_noisy_function(released, size.noise, substitute))
    return releases


def _ranges(n_x: int, n_letters: int) -> NDArray[np.intp]:
    """Letter of each x when its range is cut into equal parts."""
    return np.arange(n_x) * n_letters // n_x


def _noisy_function(letter_of_x: NDArray[np.intp], noise: float, substitute: Array) -> Array:
    """p(letter | x): the function's letter, or with probability ``noise`` one of ``substitute``."""
    law = noise * substitute
    law[np.arange(len(letter_of_x)), letter_of_x] += 1 - noise
    return law


def random_problem(size: Size) -> tacit.Problem:
    """The random problem of that size, with individual and full-collusion limits."""
    joint = joint_after_releases(size)
    everyone = tuple(range(len(size.release_sizes)))
    p_r = joint.sum(axis=tuple(range(joint.ndim - 1)))
    return tacit.Problem(
        joint,
        individual=INDIVIDUAL_SHARE * entropy_bits(p_r),
        collusion=held_bits(joint, everyone) + COLLUSION_ROOM_BITS,
    )


def coalition_problem() -> tacit.Problem:
    """A random problem with three coalitions limited besides individual and full collusion."""
    plain = random_problem(COALITION_SIZE)
    limits = {
        axes: held_bits(plain.joint, axes) + room for axes, room in COALITION_ROOM_BITS.items()
    }
    return tacit.Problem(
        plain.joint,
        individual=plain.individual,
        collusion=plain.collusion,
        coalitions=limits,
    )


def information_problem(size: Size) -> tacit.Problem:
    """The random problem of that size, judged by information."""
    plain = random_problem(size)
    return tacit.Problem(plain.joint, "information", plain.individual, plain.collusion)


def dense_information_problem(n_z: int, *, evenness: float) -> tacit.Problem:
    """A random problem with 32 records and four letters where R depends on z, given x."""
    shape = (n_z, 32, 4)
    law = np.random.default_rng(0).dirichlet(np.full(np.prod(shape), evenness))
    joint = law.reshape(shape)
    return tacit.Problem(joint, "information", 0.3, held_bits(joint, (0,)) + 0.3)


def small_information_problem(seed: int) -> tacit.Problem:
    """A small random problem with history: two to four letters each, R - X - Z or not.

    Laws go from even to nearly deterministic; one limit in ten is left out.
    """
    rng = np.random.default_rng(seed)
    n_z, n_x, n_r = rng.integers(2, 5, size=3).tolist()
    evenness = rng.choice([0.2, 0.5, 1.0])
    if rng.random() < 0.5:
        joint = rng.dirichlet(np.full(n_z * n_x * n_r, evenness)).reshape(n_z, n_x, n_r)
    else:
        joint_xr = rng.dirichlet(np.full(n_x * n_r, evenness)).reshape(n_x, n_r)
        p_z_given_x = rng.dirichlet(np.full(n_z, evenness), size=n_x)
        joint = p_z_given_x.T[:, :, None] * joint_xr
    individual = rng.uniform(0.02, 0.8) if rng.random() < 0.9 else None
    room = rng.uniform(0.02, 0.8) if rng.random() < 0.9 else None
    collusion = None if room is None else held_bits(joint, (0,)) + room
    return tacit.Problem(joint, "information", individual, collusion)


def table_one_joint() -> Array:
    """p(z, x, r) of [TVC] Table I."""
    return np.array(
        [
            [[0.024, 0.203], [0.228, 0.013]],
            [[0.063, 0.228], [0.203, 0.038]],
        ]
    )
