"""Limits: read, and what they leave to coalitions, against a reading of every coalition."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.auditing.coalitions import MOST_PER_LIMIT, list_coalitions
from tacit.errors import InvalidInputError
from tacit.limits import (
    Bound,
    Limit,
    Parties,
    Whom,
    as_times,
    binding,
    bounds,
    cap_of,
    find,
    in_order,
    least,
    must_follow,
    replaced,
    without,
)
from tests.study.exact import is_on

PARTIES = "abcde"
AMOUNTS = st.one_of(st.none(), st.sampled_from([0.0, 0.2, 0.5, 1.0]))
TIMES = st.one_of(st.none(), st.sampled_from([1.0, 1.5, 2.0, 8.0]))


@st.composite
def limits(draw: st.DrawFn) -> Limit:
    whom = draw(
        st.one_of(
            st.just("everyone"),
            st.integers(1, 4).map(lambda size: f"any {size}"),
            st.sets(st.sampled_from(PARTIES), min_size=1).map("+".join),
        )
    )
    bits, times = draw(AMOUNTS), draw(TIMES)
    return Limit(whom, 0.7 if bits is times is None else bits, times)


SOME_LIMITS = st.lists(limits(), max_size=6)
HOLDERS = st.frozensets(st.sampled_from(PARTIES))


def subsets(parties: Parties) -> Iterator[Parties]:
    for size in range(1, len(parties) + 1):
        yield from map(frozenset, combinations(sorted(parties), size))


def largest(found: list[Parties]) -> set[Parties]:
    return {each for each in found if not any(each < other for other in found)}


@given(SOME_LIMITS, HOLDERS)
def test_what_coalitions_may_hold_is_the_least_of_all_limits_on_them(
    some: list[Limit], holders: Parties
) -> None:
    for coalition in subsets(holders):
        on_it = [each for each in some if is_on(each, coalition)]
        bits = min((each.amount("bits") for each in on_it), default=inf)
        times = min((each.amount("times") for each in on_it), default=inf)
        assert least(some, coalition) == Bound(bits, times)
        assert binding(some, coalition) == [each for each in on_it if each.amount("bits") == bits]


@given(SOME_LIMITS, HOLDERS, st.sampled_from(PARTIES))
def test_an_answer_keeps_the_bounds_exactly_when_every_coalition_keeps_its_limits(
    some: list[Limit], holders: Parties, party: str
) -> None:
    """Bounds are on the largest coalitions that hold something; what a part holds, these hold."""
    present = holders | {party}
    for who, everybody, named in ((party, present, bounds(some, holders, party)), *others(some)):
        wanted: dict[Parties, Bound] = {}
        for limit in some:
            for coalition in largest([each for each in subsets(everybody) if is_on(limit, each)]):
                if who is None or who in coalition:
                    wanted[coalition] = wanted.get(coalition, Bound()).within(limit)
        assert named == wanted


def others(some: list[Limit]) -> Iterator[tuple[None, Parties, dict[Parties, Bound]]]:
    """The same without a party that asks, among all and among nobody."""
    for holders in (frozenset(PARTIES), frozenset[str]()):
        yield None, holders, bounds(some, holders)


@settings(max_examples=300)
@given(SOME_LIMITS, HOLDERS)
def test_whoever_a_limit_names_now_or_later_is_followed(
    some: list[Limit], present: Parties
) -> None:
    """But for everyone, of whom the memory tells enough."""
    later = frozenset({"x", "y", "z"})
    for coalition in subsets(present):
        is_named = any(
            coalition == frozenset(each.whom.names) & present
            or (
                each.whom.size
                and any(coalition < other for other in bounds([each], present | later))
            )
            or (each.whom.size and coalition in bounds([each], present))
            for each in some
        )
        assert must_follow(some, coalition, present) == (len(coalition) == 1 or is_named)


@given(SOME_LIMITS, limits())
def test_a_limit_takes_the_place_of_the_one_on_the_same_coalitions(
    some: list[Limit], new: Limit
) -> None:
    distinct = replaced((), *some)
    after = replaced(distinct, new)
    assert find(after, new.whom) == new
    assert without(after, new.whom) == without(distinct, new.whom)
    assert after == in_order(reversed(after))  # in whichever order they were set
    assert len({each.whom for each in after}) == len(after)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("lab-a", "lab-a"),
        (" lab-b + lab-a ", "lab-a+lab-b"),
        ("any  02", "any 2"),
        (" everyone", "everyone"),
    ],
)
def test_whom_is_read_and_written(typed: str, shown: str) -> None:
    whom = Whom.parse(typed)
    assert str(whom) == shown
    assert Whom.parse(shown) == whom


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "Lab-A",
        "lab a",
        "lab_a",
        "any",
        "any 0",
        "any lab",
        "a+everyone",
        "a++b",
        "-a",
        "a-",
        "é",
    ],
)
def test_what_is_no_party_is_refused(typed: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a party: use a-z, 0-9 and -"):
        Whom.parse(typed)


def test_limits_without_an_amount_or_with_a_bad_one_are_refused() -> None:
    for arguments, message in (
        ({}, "has no amount"),
        ({"bits": -1}, "the limit on any 2 parties is -1"),
        ({"bits": inf}, "is inf"),
        ({"times": 0.5}, "0.5 times: give a number from 1"),
        ({"times": 2.0**64}, "below 2"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            Limit("any 2", **arguments)
    with pytest.raises(InvalidInputError, match="names a party twice"):
        Limit("a+a", 1.0)


@given(st.floats(1, 2.0**63))
def test_a_cap_in_bits_never_allows_more_times(times: float) -> None:
    assert as_times(times, name="it") == times
    cap = cap_of(times)
    assert cap <= 63
    assert Fraction(2) ** int(cap) <= Fraction(times)
    is_power = times == 2 ** round(cap)
    assert (cap == round(cap)) if is_power else 2.0**cap <= times * (1 + 1e-14)


def test_what_a_limit_says() -> None:
    assert Limit("any 1", 1.0).in_words == "any single party: 1 bit"
    assert Limit("b+a", times=1).in_words == (
        "a + b: after any answer, every combination of levels is as likely as before"
    )
    assert Limit("everyone", 0.5, 2.5).in_words == (
        "everyone: 0.5 bits, and after any answer, no combination of levels is more than 2.5 times "
        "as likely as before"
    )


def test_too_many_coalitions_are_cut_to_those_whose_members_hold_most() -> None:
    held = {f"p{n:02}": n / 10 for n in range(20)}
    listed, left_out = list_coalitions([Limit("any 3", 0.5), Limit("p00+p01", 1.0)], held)
    assert len(listed) == MOST_PER_LIMIT + 1
    assert left_out == 20 * 19 * 18 // 6 - MOST_PER_LIMIT
    assert listed[0] == {"p00", "p01"}
    assert all("p19" in each for each in listed[1:])


def test_single_parties_and_everyone_are_listed_anyway() -> None:
    held = dict.fromkeys("abcd", 0.1)
    for whom in ("any 1", "any 4", "any 9", "everyone", "a"):
        assert list_coalitions([Limit(whom, 0.5)], held) == ([], 0)
