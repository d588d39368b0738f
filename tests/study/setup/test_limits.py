"""Limits that are set, loosened and taken away, and the parties that they let in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import CapError, InfeasibleError, InvalidInputError, LedgerError
from tacit.limits import Limit
from tacit.study import Study, verify_study
from tests.study.clinic import (
    entries_of,
    limits_of,
    make_clinic,
    releases_of,
    set_limits,
    write_patients,
)
from tests.study.exact import exact_bits, limit_on
from tests.study.forging import forge_last
from tests.words import in_words


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 0.4)
        study.set_limit("b", 0.4)
        yield study


def test_limits_are_stored_and_read_again(study: Study, tmp_path: Path) -> None:
    limits = {
        Limit("a", 0.4, 8),
        Limit("b", 0.4),
        Limit("everyone", 0.9),
        Limit("any 3", 0.6),
        Limit("any 2", 0.4, 2.5),
        Limit("a+b", times=3),
    }
    set_limits(study, limits)
    bodies = {each.body["whom"]: each.body for each in entries_of(tmp_path / "clinic")[1:]}
    assert bodies["any 2"] == {"whom": "any 2", "bits": 0.4, "times": 2.5, "title": None}
    with Study.open(tmp_path / "clinic") as again:
        assert limits_of(again) == limits


def test_what_is_not_named_stays_and_what_is_none_goes(study: Study) -> None:
    for arguments, left in (
        (("any 2", 0.5), Limit("any 2", 0.5)),
        (("any 2", None, 4), Limit("any 2", 0.5, 4)),
        (("any 2", inf), Limit("any 2", times=4)),
        (("any 2", 0.6, inf), Limit("any 2", 0.6)),
        (("any 2", inf), None),
    ):
        study.set_limit(*arguments)
        found = [each for each in limits_of(study) if str(each.whom) == "any 2"]
        assert found == ([] if left is None else [left])


def test_a_limit_that_says_nothing_new_makes_no_entry(study: Study, tmp_path: Path) -> None:
    study.set_limit("a+b", 0.3)
    n_entries = len(entries_of(tmp_path / "clinic"))
    for again in (
        lambda: study.set_limit("b + a", 0.3),
        lambda: study.set_limit("a", 0.4),
        lambda: study.set_limit("a", title="a"),
    ):
        assert again()[0].code == "unchanged"
    assert len(entries_of(tmp_path / "clinic")) == n_entries


def test_a_title_is_kept_until_another_is_given(study: Study) -> None:
    study.set_limit("a", title="Institute A & Co")
    study.set_limit("a", 0.3)
    [party, *_] = study.limits()
    assert (party.whom, party.title, party.bits) == ("a", "Institute A & Co", 0.3)
    assert study.statement("a").title == "Institute A & Co"


@pytest.mark.parametrize(
    ("whom", "options", "said"),
    [
        ("a+c", {"bits": 0.3}, "party 'c' is unknown"),
        ("c", {"times": 2}, "c is new: give the bits"),
        ("c", {"title": "C"}, "nothing is named for c"),
        ("c", {"bits": inf}, "there is no limit on c to take away"),
        ("a+b", {"bits": inf}, r"there is no limit on a \+ b to take away"),
        ("any 2", {}, "nothing is named"),
        ("any 2", {"bits": 0.3, "title": "Two"}, "only parties have one"),
        ("A", {"bits": 0.3}, "'A' is not a party"),
        ("a", {"title": "two\nlines"}, "without line breaks"),
        ("a", {"bits": 0}, "give a number of bits above 0"),
        ("a", {"times": 0.5}, "give a number from 1"),
    ],
)
def test_what_is_no_limit_is_refused(
    study: Study, tmp_path: Path, whom: str, options: dict[str, Any], said: str
) -> None:
    before = entries_of(tmp_path / "clinic")
    with pytest.raises(InvalidInputError, match=said):
        study.set_limit(whom, **options)
    assert entries_of(tmp_path / "clinic") == before


def test_a_party_leaves_with_its_bits_if_it_holds_nothing(study: Study, tmp_path: Path) -> None:
    study.set_limit("c", 0.2, 4)
    study.set_limit("b+c", 0.3)
    study.release("a", "smoker", out=tmp_path / "a.csv", bits=0.1)
    with pytest.raises(InvalidInputError, match=r"a received something and holds up to 0\.09999"):
        study.set_limit("a", inf)
    with pytest.raises(InvalidInputError, match=r"c is named by the limit on b \+ c: take that"):
        study.set_limit("c", inf)
    study.set_limit("b+c", inf)
    study.set_limit("c", inf)
    assert [each.name for each in study.status().parties] == ["a", "b"]
    assert study.verify().problems == ()


def forged(body: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    return lambda old: (old.clear(), old.update(body))  # type: ignore[func-returns-value]


@pytest.mark.parametrize(
    "body",
    [
        {"whom": "any 0", "bits": 0.4},
        {"whom": "any 2", "bits": -0.4},
        {"whom": "any 2", "bits": 0.4, "times": 0.5},
        {"whom": "any 2", "bits": 0.4, "title": "Two"},
        {"whom": "b+a", "bits": 0.4},
        {"whom": "a+z", "bits": 0.4},
        {"whom": "a+b"},
        {"whom": "c", "times": 2.0},
        {"whom": "c", "bits": 0.4},
    ],
)
def test_an_entry_that_is_no_limit_is_not_read(
    study: Study, tmp_path: Path, body: dict[str, object]
) -> None:
    study.set_limit("everyone", 0.9)
    forge_last(tmp_path / "clinic", "limit", forged({"times": None, "title": None} | body))
    with pytest.raises(LedgerError, match=r"entry 4 of study \w+"):
        Study.open(tmp_path / "clinic")
    [problem] = in_words(verify_study(tmp_path / "clinic").problems)
    assert problem.startswith("entry 4 of study")


def test_what_is_named_as_enough_is_enough_in_every_cohort(study: Study, tmp_path: Path) -> None:
    study.release("a", "age", out=tmp_path / "first.csv", bits=0.1, accept=["disclosure"])
    study.extend(str(write_patients(tmp_path / "new.csv", 120, seed=1, first=200)))
    study.release("a", "age", out=tmp_path / "both.csv", bits=0.2, cohort=2, accept=["disclosure"])
    with pytest.raises(InfeasibleError, match=r"give at least 0\.19") as refused:
        study.set_limit("a", 0.05)
    study.set_limit("a", refused.value.held_bits + 1e-6)
    with pytest.raises(CapError) as capped:
        study.set_limit("a", times=1.0001)
    study.set_limit("a", times=2**capped.value.held_bits + 1e-6)


# -- an office of twelve --------------------------------------------------------------------------

OFFICES = tuple(f"office-{letter}" for letter in "abcdefghijkl")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_twelve_parties_stay_within_limits_of_several_sizes_and_groups(
    tmp_path: Path, seed: int
) -> None:
    """Sizes and overlapping groups at once, parties that come back, limits that change."""
    rng, folder = np.random.default_rng(seed), tmp_path / "clinic"
    groups = (OFFICES[:4], OFFICES[2:7], OFFICES[5:], OFFICES[:2])
    limits = [
        *(Limit(party, round(float(rng.uniform(0.1, 0.3)), 3)) for party in OFFICES),
        Limit("everyone", 0.8),
        Limit("any 2", 0.3),
        Limit("any 3", 0.35),
        Limit("any 5", 0.5),
        *(
            Limit("+".join(group), bits)
            for group, bits in zip(groups, (0.33, 0.4, 0.7, 0.2), strict=True)
        ),
    ]
    with make_clinic(tmp_path, memory=4, private=["diagnosis", "smoker"]) as study:
        set_limits(study, limits)
        for turn in range(16):
            party = OFFICES[turn] if turn < 12 else str(rng.choice(OFFICES))
            with suppress(InfeasibleError):
                study.release(
                    party, f"{rng.choice(['diagnosis', 'smoker'])}", out=tmp_path / f"{turn}.csv"
                )
            if turn == 8:
                study.set_limit("everyone", inf)
                study.set_limit("any 5", inf)
                set_limits(study, [Limit("any 1", 0.28), Limit("any 3", 0.36)])
        in_force = limits_of(study)
        holders = {entry.body["party"] for entry in releases_of(folder)}
        assert len(holders) > 6
        limited = [each for size in (1, 2, 3) for each in combinations(sorted(holders), size)]
        some = [limited[place] for place in rng.choice(len(limited), 60, replace=False)]
        for coalition in (*some, *groups):
            assert exact_bits(folder, coalition).upper() < limit_on(coalition, in_force)
        assert study.verify().problems == ()


def test_a_study_begins_with_a_limit_on_everyone(tmp_path: Path) -> None:
    with make_clinic(tmp_path, everyone=0.5) as study:
        assert limits_of(study) == {Limit("everyone", 0.5)}
    assert [entry.kind for entry in entries_of(tmp_path / "clinic")] == ["created"]
