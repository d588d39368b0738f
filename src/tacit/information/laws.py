"""Probability laws and limits: checked once where they enter; entropies and information of laws.

Upper bounds on information include the rounding of their own computation, and bits are rounded
against us when they are shown.

Axes follow the names used all over tacit: ``joint_xy[x, y]``, ``channel[x, y]`` = p(y given x).
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from math import ceil, inf, nextafter
from typing import SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import LN2, Array
from tacit.errors import InvalidInputError

ROW_SUM_TOL = 1e-9
"""How far a channel's row may sum from 1: far above rounding, far below a mistake."""


def as_law(p: ArrayLike, *, name: str = "p") -> Array:
    """The law proportional to ``p``, of any shape: probabilities or counts, normalised to 1."""
    weights = as_weights(p, name=name)
    largest = weights.max()
    if largest == 0:
        raise InvalidInputError(
            f"{name} is 0 everywhere (shape {weights.shape}): give at least one positive entry"
        )
    # The maximum first, so that neither huge nor tiny counts leave the range of floats.
    scaled = weights / largest
    return np.asarray(scaled / scaled.sum())


def as_joint(p: ArrayLike, *, ndim: int, name: str = "p") -> Array:
    """The law proportional to ``p`` with exactly ``ndim`` axes."""
    joint = as_law(p, name=name)
    if joint.ndim != ndim:
        raise InvalidInputError(
            f"{name} is {joint.ndim}-D (shape {joint.shape}): make it {ndim}-D, one axis for each "
            "variable, of length 1 for a constant"
        )
    return joint


def as_rows(
    rows: ArrayLike, *, name: str = "channel", occurs: NDArray[np.bool_] | None = None
) -> Array:
    """Laws along the last axis, p(y given ...); each is divided by its sum, 1 up to rounding.

    Args:
        rows: one law for each cell of the leading axes.
        name: of the argument, for messages.
        occurs: the cells whose rows must sum to 1; all by default. Rows of cells that never occur
            are returned as they are: no quantity depends on them.
    """
    laws = as_weights(rows, name=name)
    sums = laws.sum(axis=-1, keepdims=True)
    is_off = abs(sums[..., 0] - 1) > ROW_SUM_TOL
    wrong = np.argwhere(is_off if occurs is None else is_off & occurs)
    if wrong.size > 0:
        index = tuple(wrong[0].tolist())
        shown = index[0] if len(index) == 1 else index
        raise InvalidInputError(
            f"row {shown} of {name} sums to {sums[index][0]:.12g}, not to 1 within "
            f"{ROW_SUM_TOL:g}: divide each row by its sum"
        )
    return np.asarray(laws / np.where(is_off[..., None], 1.0, sums))


def as_channel(channel: ArrayLike, p_x: Array, *, name: str = "channel") -> Array:
    """The rows of ``channel[x, y]`` = p(y given x) for every x that occurs, summing to 1."""
    rows = as_weights(channel, name=name)
    if rows.ndim != 2 or len(rows) != p_x.size:
        raise InvalidInputError(
            f"{name} has shape {rows.shape} but the law of x has {p_x.size} letters: "
            f"give {name}[x, y] with one row for each letter x"
        )
    occurs = p_x > 0
    return np.asarray(as_rows(rows, name=name, occurs=occurs)[occurs])


def as_prior_and_channel(p: ArrayLike, channel: ArrayLike | None) -> tuple[Array, Array]:
    """p(x) and p(y given x) over the letters x that occur, from a joint law or prior and channel.

    Args:
        p: ``joint_xy[x, y]`` if ``channel`` is None, else ``p_x[x]``.
        channel: ``channel[x, y]``, rows sum to 1; or None.
    """
    if channel is not None:
        p_x = as_joint(p, ndim=1)
        return p_x[p_x > 0], as_channel(channel, p_x)
    joint_xy = as_joint(p, ndim=2)
    p_x = joint_xy.sum(axis=1)
    occurs = p_x > 0
    return p_x[occurs], joint_xy[occurs] / p_x[occurs, np.newaxis]


def as_weights(p: ArrayLike, *, name: str = "p") -> Array:
    """``p`` as a non-empty array of finite numbers, none negative."""
    weights = as_numbers(p, name=name)
    if weights.size == 0:
        raise InvalidInputError(
            f"{name} is empty (shape {weights.shape}): give every variable at least one letter"
        )
    _refuse_where(~np.isfinite(weights), weights, name, "every entry must be a finite number")
    _refuse_where(weights < 0, weights, name, "no entry may be negative; set rounding noise to 0")
    return weights


def as_numbers(values: ArrayLike, *, name: str = "p") -> Array:
    """``values`` as a fresh array of real numbers."""
    try:
        array = np.array(values)
        if np.iscomplexobj(array):
            raise TypeError("complex numbers")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} is not an array of numbers ({error}): give nested lists of equal length "
            "or a NumPy array"
        ) from error


MOST_CAP_BITS = 64
"""Caps from here on allow everything: of 2^64 people one would have to be told apart."""

_ROUNDED = 1e-12
"""Bits. A limit this little below 0 is a difference of rounded numbers, and is read as 0."""


def as_limit(bits: object, *, name: str) -> float:
    """A limit in bits: 0 or more; infinity for none."""
    number = _as_number(bits, name)
    if not number >= -_ROUNDED:
        raise InvalidInputError(f"{name} is {number}: a limit is a number of bits >= 0")
    return max(number, 0.0)


def as_cap(bits: object, *, name: str) -> float:
    """Bits of a cap on single answers: 0 or more; infinity for none."""
    cap = as_limit(bits, name=name)
    if MOST_CAP_BITS <= cap < inf:
        raise InvalidInputError(
            f"{name} is {cap:g} bits, which allows every answer: give less than {MOST_CAP_BITS} "
            "bits, or no cap"
        )
    return cap


def as_positive_bits(bits: object, *, name: str) -> float:
    """Bits that somebody may learn: more than 0, and finite."""
    number = _as_number(bits, name)
    if not 0 < number < inf:
        raise InvalidInputError(f"{name} is {number:g}: give a number of bits above 0")
    return number


def _as_number(given: object, name: str) -> float:
    try:
        if isinstance(given, SupportsFloat):  # a text is none, even if it reads as a number
            return float(given)
    except TypeError:  # an array of several numbers
        pass
    raise InvalidInputError(f"{name} is {given!r}: give a number of bits")


def _refuse_where(bad: NDArray[np.bool_], weights: Array, name: str, rule: str) -> None:
    """Raise, naming the first entry of ``weights`` where ``bad`` holds, if there is one."""
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInputError(f"{name} holds {weights[index]:g} at index {index}: {rule}")


def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log y, which is 0 where x is 0."""
    x, y = np.broadcast_arrays(np.asarray(x, dtype=np.float64), y)
    with np.errstate(divide="ignore"):
        return np.asarray(x * np.log(y, out=np.zeros(x.shape), where=x != 0))


def entropy_terms(p: ArrayLike) -> Array:
    """-p log p, which is 0 where p is 0."""
    return -xlogy(p, p)


def entropy(p: ArrayLike) -> float:
    """H(P) = −Σ p log₂ p ([CT] eq. 2.1) of a law of any shape, in bits.

    Args:
        p: probabilities or counts; all axes together are one variable.
    """
    return _bits(float(entropy_terms(as_law(p)).sum()))


def mutual_information(p: ArrayLike, channel: ArrayLike | None = None) -> float:
    """I(X;Y) = Σ p(x,y) log₂ p(y given x)/p(y) ([CT] eq. 2.28), in bits.

    Args:
        p: ``joint_xy[x, y]`` (probabilities or counts), or ``p_x[x]`` with ``channel``.
        channel: ``channel[x, y]`` = p(y given x), rows sum to 1.
    """
    p_x, p_y_given_x = as_prior_and_channel(p, channel)
    joint_xy = p_x[:, None] * p_y_given_x
    p_y = joint_xy.sum(axis=0)
    # A difference of logarithms: the ratio p(y|x)/p(y) overflows where p(x) is tiny.
    return _bits(float((xlogy(joint_xy, p_y_given_x) - xlogy(joint_xy, p_y)).sum()))


def conditional_mutual_information(joint: ArrayLike) -> float:
    """I(A;B given C) = Σ p(a,b,c) log₂ p(a,b,c)p(c)/(p(a,c)p(b,c)) ([CT] eq. 2.60), in bits.

    Args:
        joint: ``joint[a, b, c]``, probabilities or counts.
    """
    joint_abc = as_joint(joint, ndim=3, name="joint")
    p_ac = joint_abc.sum(axis=1, keepdims=True)
    p_bc = joint_abc.sum(axis=0, keepdims=True)
    p_c = joint_abc.sum(axis=(0, 1), keepdims=True)
    terms = xlogy(joint_abc, joint_abc) + xlogy(joint_abc, p_c)
    return _bits(float((terms - xlogy(joint_abc, p_ac) - xlogy(joint_abc, p_bc)).sum()))


def _bits(nats: float) -> float:
    """``nats`` in bits. All quantities here are non-negative: below 0 there is only rounding."""
    return max(0.0, nats / LN2)


UNIT_ROUNDOFF = 2.0**-53


def gamma(n_operations: int, unit: float = UNIT_ROUNDOFF) -> float:
    """Relative error of a result of ``n_operations`` roundings, all terms non-negative."""
    return n_operations * unit / (1 - n_operations * unit)


def add_up(first: float, second: float) -> float:
    """A float not below the sum."""
    total = first + second
    return total if Fraction(total) >= Fraction(first) + Fraction(second) else nextafter(total, inf)


def information_upper_nats(
    joint: Array, conditional_prior: Array, n_operations: int
) -> tuple[Array, Array]:
    """Estimate of and upper bound on I(A; X | Y) in nats, summed over rows y.

    Args:
        joint: masses p(a, y, x), [..., a, y, x], each within gamma(n_operations) of the truth.
        conditional_prior: p(x | y), [y, x], as exact.
        n_operations: roundings behind each entry.

    Returns:
        (estimate, upper bound), each [..., y]. The bound is the smaller of two, each with its
        rounding: the sum of p(x) log(p(x) / q(x)) as it stands, and the same with its terms made
        non-negative, sum of q(x) h(p(x) / q(x)) with h(t) = t log t - t + 1. Near t = 1 h is flat:
        rounding costs little of a small leakage, and gamma(n)**2 of none.
    """
    slack = gamma(n_operations + joint.shape[-1] + joint.shape[-3] + 16)
    marginal = joint.sum(axis=-1, keepdims=True)
    posterior = joint / np.where(marginal > 0, marginal, 1.0)
    ratio = posterior / np.where(conditional_prior > 0, conditional_prior, 1.0)
    log_ratio = np.log(np.where(ratio > 0, ratio, 1.0))
    terms = joint * log_ratio
    estimate = terms.sum(axis=(-3, -1))
    mass = marginal.sum(axis=(-3, -1))
    direct = estimate + slack * (np.abs(terms).sum(axis=(-3, -1)) + 8 * mass)
    # Capped, because masses near the smallest float would overflow: the other bound is smaller.
    ratio, log_ratio = np.minimum(ratio, 1e100), np.minimum(log_ratio, 1e3)
    size, off = np.abs(ratio * log_ratio), ratio - 1.0
    # A ratio is within rho = 8 slack of the truth: h(t + rho t) <= h(t) + rho t |log t| + rho^2 t.
    h = ratio * log_ratio - off + slack * (9 * size + np.abs(off)) + (8 * slack) ** 2 * ratio
    by_letter = (conditional_prior * np.maximum(h, 0.0)).sum(axis=-1, keepdims=True)
    flat = (1 + 8 * slack) * (marginal * by_letter).sum(axis=(-3, -1))
    return np.maximum(estimate, 0.0), np.minimum(direct, flat)


def information_range_bits(p_yx: NDArray[np.floating], n_operations: int) -> tuple[float, float]:
    """Floats below and above I(Y; X) in bits, from masses in the longest floats of the machine.

    Those of x86 and of 64-bit ARM under Linux have 11 and 60 bits more than a double: the two are
    then neighbours, or nearly so. Elsewhere they are as far apart as rounding in doubles demands.

    Args:
        p_yx: masses that sum to 1, [y, x], each within ``n_operations`` roundings of the truth.
        n_operations: roundings behind each entry.
    """
    if len(p_yx) == 1:
        return 0.0, 0.0
    p_y, p_x = p_yx.sum(axis=1, keepdims=True), p_yx.sum(axis=0, keepdims=True)
    seen = p_yx > 0
    log_p = np.log(np.where(seen, p_yx, 1))
    log_q = np.log(np.where(seen, p_y, 1)) + np.log(np.where(seen, p_x, 1))
    nats = (p_yx * (log_p - log_q)).sum(axis=1).sum()
    size = (p_yx * (np.abs(log_p) + np.abs(log_q) + 1)).sum(axis=1).sum()
    unit = float(np.finfo(p_yx.dtype).eps) / 2
    error = 4 * gamma(n_operations + sum(p_yx.shape) + 16, unit) * size
    per_bit = np.log(p_yx.dtype.type(2))
    lowest, highest = float((nats - error) / per_bit), float((nats + error) / per_bit)
    return max(0.0, nextafter(lowest, -inf)), nextafter(highest, inf)


DIGITS = 4
"""Decimals of a bit that people are shown."""


_WHOLE = 2**53
"""Floats from here on are whole numbers, and too long to be written out."""


def bits_up(bits: float, digits: int = DIGITS) -> str:
    """What is held, or would be learned: the figure shown is never below it."""
    return _rounded(Decimal(bits), digits, ROUND_CEILING)


def of_hundred(share: float) -> str:
    """A share, of 100, with one decimal; with as many as it takes to tell almost all from all."""
    digits = next((n for n in range(1, 7) if share < 1 - 0.5 * 10 ** -(n + 2)), 1)
    return f"{100 * share:.{digits}f}"


def percent_used(held: float, limit: float) -> float:
    """Of a limit, with bits rounded as they are shown; at most 100."""
    return 100.0 if float(bits_up(held)) >= limit else 100 * held / limit


def bits_down(bits: float, digits: int = DIGITS) -> str:
    """What is left, or may be asked for: the figure shown is never above it."""
    # By the shortest text of the float: 0.3 is meant as 0.3, though the float is slightly below.
    return _rounded(Decimal(repr(float(bits))), digits, ROUND_FLOOR)


def limit_in_words(bits: float) -> str:
    """A limit as it was given."""
    return "none" if bits == inf else f"{bits:.12g}"


def bits_in_words(bits: float) -> str:
    """Bits as they were given, with the unit: ``1 bit``, ``0.3 bits``."""
    return f"{limit_in_words(bits)} {'bit' if bits == 1 else 'bits'}"


_LARGEST_SHOWN, _COUNTED_ROUNDING = 40, 1e-12
"""Bits: larger factors are shown as a power of 2; worst answers include so much for rounding."""


def times_in_words(bits: float) -> str:
    """2**bits, rounded up to three digits; not by less than what counting roundings adds."""
    if bits >= _LARGEST_SHOWN:
        return f"2^{ceil(bits)}"
    times = Decimal(2.0**bits * (1 - _COUNTED_ROUNDING))
    digits = Decimal(1).scaleb(min(times.adjusted() - 2, 0))
    shown = times.quantize(digits, ROUND_CEILING)
    return f"{shown.normalize():,f}"


def _rounded(bits: Decimal, digits: int, rounding: str) -> str:
    if bits >= _WHOLE:
        return repr(float(bits))
    return f"{bits.quantize(Decimal(1).scaleb(-digits), rounding):f}"
