"""Limits that are stored, read again and named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import InfeasibleError, InvalidInputError, LedgerError
from tacit.policy import Group, Limit, Parties
from tacit.policy.policy import LIMITS
from tacit.scheme import Policy
from tacit.study import Study, verify_study
from tests.study.clinic import PRIVATE, entries_of, make_clinic, releases_of, write_patients
from tests.study.exact import exact_bits, limit_on
from tests.study.forging import forge_last
from tests.words import in_words

# -- what is stored -----------------------------------------------------------------------------


def test_sizes_are_stored_and_read_again(tmp_path: Path) -> None:
    policy = Policy(0.9, sizes={3: 0.6, 2: 0.4}, groups={("a", "b"): 0.3})
    with make_clinic(tmp_path) as study:
        study.set_collusion(policy)
    assert entries_of(tmp_path / "clinic")[-1].body["sizes"] == [[2, 0.4], [3, 0.6]]
    with Study.open(tmp_path / "clinic") as study:
        assert study.policy == policy


@pytest.mark.parametrize(
    "body",
    [
        {"any_size": 2, "bits": 0.4},
        {"sizes": [[2, 0.4], [2, 0.9]]},
        {"sizes": [[0, 0.4]]},
        {"groups": [[["a", "b"], 0.3], [["b", "a"], 0.9]]},
        {"groups": [[["a", "b"], -0.3]]},
    ],
)
def test_an_entry_that_would_lose_a_limit_is_not_read(
    tmp_path: Path, body: dict[str, object]
) -> None:
    with make_clinic(tmp_path) as study:
        study.set_collusion(Policy(everyone=0.9))
    forge_last(tmp_path / "clinic", "policy", lambda old: (old.clear(), old.update(body)))
    with pytest.raises(LedgerError, match=r"entry 2 of study \w+"):
        Study.open(tmp_path / "clinic")
    [problem] = in_words(verify_study(tmp_path / "clinic").problems)
    assert problem.startswith("entry 2 of study")


def test_a_group_that_names_one_party_twice_is_refused(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_party("caf\u00e9", 0.2)
        with pytest.raises(InvalidInputError, match="names one twice"):
            study.set_collusion(Policy(groups={("caf\u00e9", "cafe\u0301"): 0.3}))


# -- coalitions that count as everyone ------------------------------------------------------------


@pytest.fixture
def together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    """A kind of limit that does not say whom to follow: a, b and c once all three hold something.

    d holds most.
    """

    @dataclass(frozen=True, slots=True)
    class Together(Limit):
        kind = "together"

        @property
        def in_words(self) -> str:
            return "a, b and c"

        def coalitions_among(self, holders: Parties) -> Iterator[Parties]:
            return (each for each in [frozenset("abc")] if each <= holders)

        def holds_for(self, parties: Parties) -> bool:
            return parties <= frozenset("abc")

    monkeypatch.setitem(LIMITS, "together", Together)
    with make_clinic(tmp_path, private=["diagnosis", "smoker"]) as study:
        for party in "abcd":
            study.set_party(party, 0.9)
        study.set_collusion(Policy(limits=[Together(0.2)]))
        study.release("d", ("diagnosis", "smoker"), out=tmp_path / "d.csv", bits=0.3)
        for party in "ab":
            study.release(party, "smoker", out=tmp_path / "ab.csv", bits=0.05)
        yield study


def test_a_coalition_that_counts_as_everyone_is_told_so(together: Study, tmp_path: Path) -> None:
    [limit] = together.policy.limits
    n_entries = len(entries_of(tmp_path / "clinic"))
    with pytest.raises(InfeasibleError, match="a \\+ b \\+ c count as everyone does") as refused:
        together.release("c", "diagnosis", out=tmp_path / "c.csv", bits=0.06)
    assert (refused.value.coalition, refused.value.limited_by) == (("a", "b", "c"), "a, b and c")
    assert "; c may learn more only if limits are raised" in str(refused.value)
    assert len(entries_of(tmp_path / "clinic")) == n_entries
    together.set_collusion(Policy(limits=[replace(limit, bits=0.5)]))
    together.release("c", "diagnosis", out=tmp_path / "c.csv", bits=0.06)
    [held] = together.status().coalitions
    assert held.is_covered
    together.release("d", ("diagnosis", "smoker"), out=tmp_path / "d.csv", bits=0.29)
    with pytest.raises(InfeasibleError) as refused:
        together.release("a", "diagnosis", out=tmp_path / "a.csv", bits=0.02)
    said = str(refused.value)
    assert said.startswith("a + b + c count as everyone does, with 0.")
    assert "of 0.5 bits" in said
    with pytest.raises(InfeasibleError, match="already, counted as everyone does: give"):
        together.set_collusion(Policy(limits=[replace(limit, bits=0.1)]))
    assert together.verify().problems == ()


# -- an office of twelve --------------------------------------------------------------------------

OFFICES = tuple(f"office-{letter}" for letter in "abcdefghijkl")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_twelve_parties_stay_within_limits_of_several_sizes_and_groups(
    tmp_path: Path, seed: int
) -> None:
    """Sizes and overlapping groups at once, parties that come back, limits that change."""
    rng, folder = np.random.default_rng(seed), tmp_path / "clinic"
    limits = {party: round(float(rng.uniform(0.1, 0.3)), 3) for party in OFFICES}
    with make_clinic(tmp_path, memory=4, private=["diagnosis", "smoker"]) as study:
        for party, bits in limits.items():
            study.set_party(party, bits)
        policy = Policy(
            everyone=0.8,
            sizes={2: 0.3, 3: 0.35, 5: 0.5},
            groups={OFFICES[:4]: 0.33, OFFICES[2:7]: 0.4, OFFICES[5:]: 0.7, OFFICES[:2]: 0.2},
        )
        study.set_collusion(policy)
        for turn in range(16):
            party = OFFICES[turn] if turn < 12 else str(rng.choice(OFFICES))
            with suppress(InfeasibleError):
                study.release(
                    party, f"{rng.choice(['diagnosis', 'smoker'])}", out=tmp_path / "a.csv"
                )
            if turn == 8:
                policy = Policy(sizes={1: 0.28, 2: 0.3, 3: 0.36}, groups=policy.groups)
                study.set_collusion(policy)
        holders = {entry.body["party"] for entry in releases_of(folder)}
        assert len(holders) > 6
        limited = [each for size in (1, 2, 3) for each in combinations(sorted(holders), size)]
        some = [limited[place] for place in rng.choice(len(limited), 60, replace=False)]
        for coalition in (*some, *policy.groups):
            assert exact_bits(folder, coalition).upper() < limit_on(coalition, limits, policy)
        assert study.verify().problems == ()


def test_a_study_begins_with_limits(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv")
    group = Group(0.3, frozenset({"lab-a", "lab-b"}))
    begin = partial(Study.create, table=str(table), id="patient", private=PRIVATE, ledger="folder")
    with pytest.raises(InvalidInputError, match=r"the limit on lab-a \+ lab-b is 0"):
        begin(tmp_path / "clinic", limits=[replace(group, bits=0.0)])
    assert not (tmp_path / "clinic").exists()
    with begin(tmp_path / "clinic", everyone=0.5, limits=[group]) as study:
        assert study.policy == Policy(everyone=0.5, groups={("lab-a", "lab-b"): 0.3})
        let_in = [remark.values for remark in study.remarks if remark.code == "party_let_in"]
        assert let_in == [{"party": "lab-a", "bits": 0.3}, {"party": "lab-b", "bits": 0.3}]
        study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.1)
        assert study.verify().problems == ()
