"""What a release is said to be worth, compared with the engine: the one check that needs a solver.

The recorded problem is posed as it was when the release was designed, and solved again. The
engine's bound is rigorous, rounding included ([M] fact 2), and the release that it finds keeps the
same limits. So no true claim lies outside of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from tacit.accounting import Account
from tacit.scheme import Design
from tacit.solution import GAP_TOL, Status
from tacit.solvers import A_SECOND
from tacit.study.books.books import Books, Information, Intent, Request, Shares
from tacit.study.books.records import CopyRecord

K = TypeVar("K")

SAME = 1e-9
"""Recorded and recomputed figures may differ by this much: rounding on another machine."""

_WORST_GAP = 2e-3
"""No release is farther from its bound: the limit in ``requests.draft``, and rounding."""

_COPIED_GAP = 1e-5
"""A copy may be so much worse than the best: its letters were drawn in whole numbers."""

_SAME_PRICE = 0.01
"""Relative to the largest: multipliers are found less exactly than bounds."""

_NO_PRICE = 1e-4
"""Of a unit of cost: a limit that is not reached keeps a price of the gap over what is left."""

_WORSE_SHARES = 1.01
"""The search for the least variance ends in a local minimum, maybe in another one elsewhere."""

_WORK = 2 * A_SECOND
"""For a design that is searched for: far less than when it was made, and rigorous all the same. A
search that ends here had ended then."""


def unit_of(request: Request, value: float) -> float:
    """What differences of worth are relative to: the largest cost, whatever its unit; or 1 bit."""
    if isinstance(request.utility, Shares):  # a variance has no scale of its own
        return max(1.0, value)
    return 1.0 if request.mean_cost is None else float(request.distortion.max()) or 1.0


def pose_again(books: Books, before: Account, intent: Intent, ceiling: float) -> Design:
    """The engine's release for the problem of a recorded one.

    Args:
        books: before the release.
        before: what every coalition held then, on the classes of the question.
        intent: the release.
        ceiling: bits that its party might hold afterwards.
    """
    # A copy competes with other copies, which may be better than all that can be drawn.
    is_copy = isinstance(intent.record, CopyRecord)
    told = books.cohort.steps_about(intent.request.question) if is_copy else ()
    return books.design(intent.request, before, ceiling, told, work_limit=_WORK, frugal=False)


def claim_problems(intent: Intent, value: float, best: Design) -> Iterator[str]:
    """What is wrong with the claims of a release, in words.

    Args:
        intent: the release.
        value: what it is worth, computed again.
        best: the engine's for the same problem.
    """
    record, solution = intent.record, best.solution
    if solution.bound is None:
        yield from _variance_problems(intent, value, solution.value)
        return
    yield from _bound_problems(intent, value, best)
    if solution.status is not Status.OUT_OF_TIME:
        if record.is_out_of_time:
            yield "it says that its search was ended, and it comes to its end sooner"
        levels = intent.request.by_label(solution.level_multipliers)
        ceilings = intent.request.by_label(solution.ceiling_multipliers)
        prices = {frozenset(each.parties): each.multiplier for each in record.holdings}
        spare = _NO_PRICE * unit_of(intent.request, value)
        yield from _price_problems("bit", prices, best.prices, spare)
        yield from _price_problems("level", record.level_multipliers, levels, spare)
        yield from _price_problems("ceiling", record.ceiling_multipliers, ceilings, spare)


def _variance_problems(intent: Intent, value: float, found: float) -> Iterator[str]:
    """No bound on a variance is known: the engine finds one that is about as small."""
    if intent.record.bound is not None:
        yield f"it claims that nothing beats {intent.record.bound}, and no proof of that is known"
    if value > _WORSE_SHARES * found:
        yield f"its answers are worth {value:.6g}, and the engine finds {found:.6g}"


def _bound_problems(intent: Intent, value: float, best: Design) -> Iterator[str]:
    """Whether the recorded bound lies between the engine's bound and the engine's release."""
    record, solution = intent.record, best.solution
    assert solution.bound is not None
    assert solution.gap is not None
    # As costs: bits that an answer tells are a cost below 0.
    sign = -1 if isinstance(intent.request.utility, Information) else 1
    cost, least, proved = sign * value, sign * solution.value, sign * solution.bound
    unit = unit_of(intent.request, value)
    if record.bound is None or sign * record.bound > cost + SAME * unit:
        yield f"it claims that nothing beats {record.bound}, and is worth {value:.9f} itself"
        return
    claimed = sign * record.bound
    if claimed > least + GAP_TOL * unit:
        yield (
            f"it claims that nothing beats {record.bound:.9f}, and the engine finds "
            f"{solution.value:.9f} within the same limits"
        )
    if solution.status is Status.OUT_OF_TIME:
        return
    # Another machine's bound lies anywhere in the gap that is left.
    spare = 10 * max(GAP_TOL * unit, solution.gap)
    spare += _COPIED_GAP * unit if isinstance(record, CopyRecord) else 0.0
    if claimed < min(proved, cost) - spare:
        yield (
            f"it claims only that nothing beats {record.bound:.9f}, and {solution.bound:.9f} is "
            "proved"
        )
    # Under a cap, a release is mixed with a constant answer until it keeps it.
    has_cap = any(each.times is not None for each in record.holdings)
    if cost > least + _WORST_GAP * unit and not has_cap:
        yield (
            f"its answers are worth {value:.9f}, and the engine finds {solution.value:.9f} within "
            "the same limits"
        )


def _price_problems(
    name: str, recorded: Mapping[K, float], found: Mapping[K, float], spare: float
) -> Iterator[str]:
    """Whether multipliers are those of the engine."""
    spare += _SAME_PRICE * max([*recorded.values(), *found.values()], default=0.0)
    if recorded.keys() != found.keys() or any(
        abs(price - found[each]) > spare for each, price in recorded.items()
    ):
        yield f"the price of a {name} is recorded wrongly"
