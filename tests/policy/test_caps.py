"""Caps in a policy: who has one, in words and in a record."""

from __future__ import annotations

import json
from math import inf

import pytest

from tacit.errors import InvalidInputError
from tacit.policy import (
    AnySize,
    Everyone,
    Group,
    Limit,
    Policy,
    cap_in_words,
    times_in_words,
)

POLICY = Policy(
    0.9,
    sizes={2: 0.5},
    limits=[Everyone(inf, cap=4), AnySize(inf, 3, cap=1.5), Group(0.6, {"a", "b"}, cap=3)],
)


def test_a_policy_says_its_caps_in_words() -> None:
    assert POLICY.in_words == (
        "everyone: 0.9 bits, and after any answer, no combination of levels is more than 16 times "
        "as likely as before; any 2 parties: 0.5 bits; any 3 parties: after any answer, no "
        "combination of levels is more than 2.83 times as likely as before; a + b: 0.6 bits, and "
        "after any answer, no combination of levels is more than 8 times as likely as before"
    )
    assert cap_in_words(0) == "after any answer, every combination of levels is as likely as before"


@pytest.mark.parametrize(
    ("bits", "shown"),
    [(0, "1"), (1e-9, "1.01"), (1.5, "2.83"), (2, "4"), (9.97, "1,003"), (64, "2^64")],
)
def test_times_are_rounded_up(bits: float, shown: str) -> None:
    assert times_in_words(bits) == shown


def test_a_record_keeps_caps_and_is_as_before_without() -> None:
    stored = json.loads(json.dumps(POLICY.record))
    assert stored == {
        "everyone": 0.9,
        "sizes": [[2, 0.5]],
        "groups": [[["a", "b"], 0.6]],
        "caps": [["sizes", 3, 1.5], ["groups", ["a", "b"], 3.0], ["everyone", None, 4.0]],
    }
    assert Policy.of_record(stored) == POLICY
    assert Policy(0.9, sizes={2: 0.5}).record.keys() == {"everyone", "sizes", "groups"}


@pytest.mark.parametrize(
    "caps", [[["everyone", None, 1.0], ["everyone", None, 2.0]], [["moons", 2, 1.0]]]
)
def test_records_that_make_no_sense(caps: list[list[object]]) -> None:
    with pytest.raises(InvalidInputError):
        Policy.of_record({"everyone": 0.9, "caps": caps})


def test_of_two_limits_the_smaller_bits_and_the_smaller_cap_hold() -> None:
    [limit] = Policy(limits=[AnySize(0.3, 2, cap=4), AnySize(0.5, 2, cap=2)]).limits
    assert (limit.bits, limit.cap) == (0.3, 2)
    assert Policy(limits=[AnySize(0.3, 2)]) != Policy(limits=[AnySize(0.3, 2, cap=2)])


def test_caps_are_on_exactly_the_coalitions_that_hold() -> None:
    assert POLICY.caps_on("a", {"b", "c", "d"}) == {
        frozenset("abcd"): 4,
        frozenset("abc"): 1.5,
        frozenset("abd"): 1.5,
        frozenset("acd"): 1.5,
        frozenset("ab"): 3,
    }
    assert POLICY.caps_on("c", (), own_cap=0.7) == {frozenset("c"): 0.7}
    assert Policy(0.9).caps_on("a", {"b"}) == {}
    assert POLICY.caps_among("cd") == {frozenset("cd"): 1.5}


def test_the_least_cap_around_a_party_holds_for_it() -> None:
    assert POLICY.least_cap_on({"a"}) == 1.5
    assert POLICY.least_cap_on({"a", "b", "c", "d"}) == 4
    assert [limit.in_words for limit in POLICY.capped_by({"a"})] == ["any 3 parties"]
    own = POLICY.with_own({"a": 0.2, "b": 0.2}, {"a": 1.0})
    assert (own.least_cap_on({"a"}), own.least_cap_on({"b"})) == (1.0, 1.5)
    assert Policy(0.9).capped_by({"a"}) == ()


def test_a_limit_that_is_only_a_cap_limits_no_bits() -> None:
    policy = Policy(limits=[Everyone(inf, cap=2)])
    assert policy.everyone is None
    assert policy.least_bits_on({"a"}) is None
    assert policy.limits_on("a", {"b"}) == {frozenset("ab"): inf}
    assert policy.newcomers == {}


@pytest.mark.parametrize("cap", [-1.0, float("nan")])
def test_a_cap_that_is_none(cap: float) -> None:
    with pytest.raises(InvalidInputError, match="the cap on everyone"):
        Everyone(1.0, cap=cap)


def test_a_cap_of_another_kind_is_recorded_with_it() -> None:
    limit: Limit = Group(inf, {"a", "b"}, cap=2.0)
    assert limit.record["bits"] is None
    assert Group.of_record(json.loads(json.dumps({**limit.record, "members": ["a", "b"]}))) == limit
    assert "cap" not in Group(0.5, {"a"}).as_dict()
