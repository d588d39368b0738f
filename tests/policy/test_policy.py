"""A policy says which coalitions are limited to what, and nobody else reads its limits."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Collection, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from tacit.errors import InvalidInputError
from tacit.policy import AnySize, Everyone, Group, Policy, bits_in_words, bits_of
from tacit.policy.reported_coalitions import MOST_PER_LIMIT, list_coalitions

# --- which limits bind --------------------------------------------------------------------------


def test_a_policy_says_which_limit_binds() -> None:
    policy = Policy(0.9, sizes={2: 0.5, 4: 0.8}, groups={("a", "b"): 0.3, ("c", "d"): 0.5})
    whom = {
        who: [limit.in_words for limit in policy.binding_on(who)] for who in ("ab", "cd", "abc")
    }
    assert whom == {"ab": ["a + b"], "cd": ["any 2 parties", "c + d"], "abc": ["any 4 parties"]}
    assert policy.in_words == (
        "everyone: 0.9 bits; any 2 parties: 0.5 bits; any 4 parties: 0.8 bits; "
        "a + b: 0.3 bits; c + d: 0.5 bits"
    )
    assert Policy().in_words == "none"
    assert Policy(sizes={1: 0.2}).in_words == "any single party: 0.2 bits"


def test_policy_lists_exactly_the_coalitions_that_a_release_feeds() -> None:
    policy = Policy(everyone=0.9, sizes={2: 0.5}, groups={("a", "d"): 0.3})
    assert policy.limits_on("d", {"a", "b"}) == {
        frozenset("ad"): 0.3,
        frozenset("bd"): 0.5,
        frozenset("abd"): 0.9,
    }
    assert policy.limits_on("a", ()) == {frozenset("a"): 0.3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"everyone": -1.0}, "everyone is -1.0"),
        ({"sizes": {2: 0.3, 0: 0.1}}, "any 0 parties: a coalition has 1 party or more"),
        ({"sizes": {1: -0.1}}, "the limit on any single party is -0.1"),
        ({"sizes": {2: float("nan")}}, "the limit on any 2 parties is nan"),
        ({"groups": {"ab": 0.1}}, "no tuple of party names"),
        ({"groups": {("a",): -0.1}}, "the limit on a is -0.1"),
    ],
)
def test_bad_policies_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Policy(**options)


# --- which coalitions are listed ----------------------------------------------------------------


def test_coalitions_are_those_of_the_policy_among_the_parties_present() -> None:
    held = dict.fromkeys("abcd", 0.1)
    policy = Policy(groups={("a", "b", "z"): 1.0, ("a", "z"): 1.0, tuple("abcd"): 1.0})
    assert list_coalitions(policy, held) == ([frozenset("ab")], 0)
    every_pair = Policy(sizes={2: 0.5}, groups={("b", "a"): 1.0})
    pairs = [frozenset(pair) for pair in combinations("abcd", 2)]
    assert list_coalitions(every_pair, held) == (pairs, 0)
    for size in (1, 4, 9):  # single parties and everyone are reported anyway
        assert list_coalitions(Policy(sizes={size: 0.5}), held) == ([], 0)


def test_too_many_coalitions_are_cut_to_those_that_hold_most() -> None:
    held = {f"lab-{number:02}": number / 100 for number in range(40)}
    listed, left_out = list_coalitions(Policy(sizes={3: 0.5}), held)
    assert len(listed) == MOST_PER_LIMIT
    assert left_out == math.comb(40, 3) - MOST_PER_LIMIT
    assert sums_of(listed, held) == largest_sums(held, 3)


def sums_of(coalitions: Collection[Collection[str]], held: dict[str, float]) -> list[float]:
    return sorted(math.fsum(held[party] for party in coalition) for coalition in coalitions)


def largest_sums(held: dict[str, float], size: int) -> list[float]:
    return sums_of([*combinations(held, size)], held)[-MOST_PER_LIMIT:]


@given(st.integers(0, 2**32 - 1))
def test_listed_coalitions_are_those_whose_members_hold_most_in_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = {f"lab-{number:02}": bits for number, bits in enumerate(rng.exponential(size=12))}
    size = int(rng.integers(2, 11))
    listed, left_out = list_coalitions(Policy(sizes={size: 0.5}), held)
    assert len(set(listed)) + left_out == math.comb(12, size)
    assert sums_of(listed, held) == largest_sums(held, size)


def test_coalitions_of_every_size_are_listed_or_counted() -> None:
    held = {f"lab-{number:02}": number / 100 for number in range(12)}
    listed, left_out = list_coalitions(Policy(sizes={1: 0.3, 2: 0.4, 3: 0.6, 12: 0.9}), held)
    assert [len(coalition) for coalition in listed] == [2] * MOST_PER_LIMIT + [3] * MOST_PER_LIMIT
    assert left_out == math.comb(12, 2) + math.comb(12, 3) - len(listed)


def test_groups_that_are_listed_are_not_left_out() -> None:
    held = {f"lab-{number:02}": 2.0**-number for number in range(12)}
    groups = {("lab-10", "lab-11"): 1.0, ("lab-00", "lab-01"): 1.0, ("lab-09", "lab-11"): 1.0}
    listed, left_out = list_coalitions(Policy(sizes={2: 0.5}, groups=groups), held)
    assert frozenset({"lab-10", "lab-11"}) in listed
    assert len(listed) == len(set(listed)) == MOST_PER_LIMIT + 2
    assert left_out == math.comb(12, 2) - len(listed) == 0


def test_listing_a_few_of_very_many_coalitions_takes_few_steps() -> None:
    held = {f"lab-{number:03}": 1 / (1 + number) for number in range(300)}
    listed, left_out = list_coalitions(Policy(sizes={20: 0.5}), held)
    assert len(listed) == MOST_PER_LIMIT
    assert left_out == math.comb(300, 20) - MOST_PER_LIMIT


def test_limit_is_the_smallest_on_the_coalition_or_around_it() -> None:
    policy = Policy(everyone=2.0, sizes={2: 1.0}, groups={("a", "b", "c"): 1.5, ("d",): 0})
    limits = [policy.least_bits_on(who) for who in ("a", "ab", "abc", "abd", "d")]
    assert limits == [1.0, 1.0, 1.5, 2.0, 0.0]
    assert Policy().least_bits_on("a") is None
    assert Policy(sizes={9: 0.7}).least_bits_on("abcd") == 0.7
    several = Policy(sizes={2: 0.4, 3: 0.6})
    assert [several.least_bits_on(who) for who in ("a", "ab", "abc", "abcd")] == [
        0.4,
        0.4,
        0.6,
        None,
    ]


# --- other policies, and records ----------------------------------------------------------------


def test_limits_are_changed_and_taken_away_one_by_one() -> None:
    policy = Policy(0.9, sizes={2: 0.5, 3: 0.7}, groups={("a", "b"): 0.3, ("c", "d"): 0.4})
    raised = policy.change(AnySize(0.6, 2), Group(0.35, ("b", "a")), without=[Everyone])
    assert raised == Policy(sizes={2: 0.6, 3: 0.7}, groups={("a", "b"): 0.35, ("c", "d"): 0.4})
    fewer = raised.change(without=[AnySize, Group(0.0, ("d", "c"))])
    assert fewer == Policy(groups={("a", "b"): 0.35})
    assert fewer.change(without=[Everyone, Group(9.0, ("x", "y"))]) == fewer


def test_of_two_limits_on_the_same_coalitions_the_smaller_holds() -> None:
    policy = Policy(
        groups={("a", "b"): 0.3, ("b", "a"): 0.6}, sizes={2: 0.4}, limits=[AnySize(0.2, 2)]
    )
    assert policy == Policy(groups={("b", "a"): 0.3}, sizes={2: 0.2})
    assert hash(policy) == hash(Policy(groups={("b", "a"): 0.3}, sizes={2: 0.2}))
    own = policy.with_own({"a": 0.5, "b": 0.1}).with_own({"a": 0.05})
    assert own == policy.change(Group(0.05, ("a",)), Group(0.1, ("b",)))
    assert [limit.own_party for limit in own.limits] == [None, None, "a", "b"]


def test_the_order_of_groups_does_not_matter() -> None:
    groups = {("a", "b"): 0.3, ("c", "d"): 0.4}
    assert Policy(groups=groups) == Policy(groups=dict(reversed(groups.items())))
    assert Policy(groups=groups) != Policy(groups=groups, everyone=1.0)


def test_a_record_is_the_policy_as_earlier_versions_wrote_it() -> None:
    policy = Policy(0.9, sizes={3: 0.7, 2: 0.5}, groups={("d", "c"): 0.4, ("b", "a"): 0.3})
    stored = json.loads(json.dumps(policy.record))
    assert stored == {
        "everyone": 0.9,
        "sizes": [[2, 0.5], [3, 0.7]],
        "groups": [[["a", "b"], 0.3], [["c", "d"], 0.4]],
    }
    assert Policy.of_record(stored) == policy
    assert Policy().record == {"everyone": None, "sizes": [], "groups": []}


@pytest.mark.parametrize(
    ("written", "policy"),
    [
        ({"everyone": 0.9, "any_size": 2, "bits": 0.5, "groups": []}, Policy(0.9, sizes={2: 0.5})),
        ({"everyone": None, "any_size": None, "bits": None}, Policy()),
        ({"groups": [[["a", "b"], 0.3]]}, Policy(groups={("a", "b"): 0.3})),
    ],
)
def test_records_of_version_0_1_are_read(written: dict[str, Any], policy: Policy) -> None:
    assert Policy.of_record(Policy.update_record(written)) == policy


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"any_size": 2}, "any_size is 2 and bits is None"),
        ({"groups": [[["a", "b"], 0.3], [["b", "a"], 0.4]]}, "limited twice"),
        ({"others": [["moon", {"bits": 0.3}]]}, "kind of limit 'moon' is not known"),
    ],
)
def test_records_that_are_no_policy_are_refused(written: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Policy.of_record(Policy.update_record(written))


def test_parties_are_renamed_and_never_become_one() -> None:
    policy = Policy(0.9, groups={("a", "b"): 0.3, ("c",): 0.1})
    assert policy.rename(str.upper) == Policy(0.9, groups={("A", "B"): 0.3, ("C",): 0.1})
    with pytest.raises(InvalidInputError, match="names one twice"):
        policy.rename(lambda name: "x")
    with pytest.raises(InvalidInputError, match="group x is named twice"):
        Policy(groups={("a",): 0.3, ("b",): 0.1}).rename(lambda name: "x")


def test_named_parties_are_let_in_with_the_least_limit_that_names_them() -> None:
    policy = Policy(0.1, sizes={2: 0.1}, groups={("a", "b"): 0.3, ("b", "c"): 0.2})
    assert policy.newcomers == {"a": 0.3, "b": 0.2, "c": 0.2}


# --- one reader ---------------------------------------------------------------------------------

_FIELDS = {"everyone", "sizes", "groups", "group", "size", "members", "any_size"}
"""What only the room reads of a policy or a limit."""

_HOLDERS = ("policy", "limit", "limits")
"""How variables and attributes that hold one are called."""


def fields_read(source: str) -> Iterator[str]:
    """Every reading of a limit's field: by a variable's name, or after telling kinds apart."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=held, attr=name) if name in _FIELDS:
                holder = ast.unparse(held).rpartition(".")[2].strip("()_").lower()
                if holder.endswith(_HOLDERS):
                    yield ast.unparse(node)
            case ast.MatchClass(cls=kind) | ast.Call(func=ast.Name("isinstance"), args=[_, kind]):
                kinds = {each.id for each in ast.walk(kind) if isinstance(each, ast.Name)}
                if kinds & {"AnySize", "Everyone", "Group"}:
                    yield ast.unparse(node)


def test_nobody_but_the_room_reads_the_limits_of_a_policy() -> None:
    package = Path(tacit.__file__).parent
    files = [file for file in package.rglob("*.py") if file.parent.name != "policy"]
    found = {file.name: [*fields_read(file.read_text(encoding="utf-8"))] for file in files}
    assert {name: reads for name, reads in found.items() if reads} == {}


@pytest.mark.parametrize(
    "source",
    [
        "x = books.policy.groups",
        "x = study.policy().sizes",
        "for limit in limits: print(limit.size)",
        "isinstance(each, (str, Group))",
        "match limit:\n    case AnySize(size=n): pass",
        "self._policy.everyone",
    ],
)
def test_the_search_for_readers_finds_them(source: str) -> None:
    assert len([*fields_read(source)]) == 1


def test_bits_with_their_unit() -> None:
    assert [bits_in_words(bits) for bits in (0.3, 1, 1.0, 2, 0.1234567)] == [
        "0.3 bits",
        "1 bit",
        "1 bit",
        "2 bits",
        "0.1234567 bits",
    ]


def test_one_bit_is_singular() -> None:
    own, pair = Group(1.0, ("a",)), AnySize(1.0, 2)
    assert bits_of((own,), frozenset("a")) == "its 1 bit"
    assert bits_of((pair,), frozenset("ab")) == "the 1 bit that any 2 parties may hold"
