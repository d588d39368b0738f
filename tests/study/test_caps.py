"""Caps in a study: kept by every release, proved by verify, and found by an independent replay."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf, log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import CapError, InfeasibleError, InvalidInputError
from tacit.limits import Limit
from tacit.remark import Remark
from tacit.sampling import IntegerChannel
from tacit.scheme.scheme import CAP_ROOM, KEPT_ROOM
from tacit.study import Study, verify_study
from tests.redteam.replay import replay
from tests.study.clinic import (
    channel_of,
    entries_of,
    intents_of,
    limits_of,
    make_clinic,
    set_limits,
)
from tests.study.exact import exact_worst_answer
from tests.study.filled_clinic import assert_found
from tests.study.forging import forge_last

ROUNDING = 1e-12

CAPS = [Limit("everyone", times=8), Limit("any 2", 0.9, times=4)]

VISITS = (
    ("a", "age", 0.1),
    ("b", "diagnosis", 0.2),
    ("a", "smoker", 0.05),
    ("c", "age", 0.1),
    ("a", "diagnosis", 0.02),
    ("b", "age", 0.1),
    ("a", "age", 0.2),
    ("a", "smoker", 0.2),
    ("c", "diagnosis", None),
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with caps of every kind; what is refused leaves no trace."""
    place = tmp_path_factory.mktemp("capped")
    with make_clinic(place, memory=16) as study:
        study.set_limit("a", 0.9, times=2)
        study.set_limit("b", 0.9)
        study.set_limit("c", 0.9, times=2**1.7)
        set_limits(study, CAPS)
        for party, asked, bits in VISITS:
            with suppress(CapError):  # no other limit is in the way
                study.release(
                    party,
                    asked,
                    bits=bits,
                    out=place / "out.csv",
                    overwrite=True,
                    accept=["disclosure"],
                )
    return place


@pytest.fixture
def capped(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return tmp_path / "clinic"


def test_how_loose_a_worst_answer_is_said_to_be_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Histories that became one before there was a cap on everyone cannot be told apart later."""
    monkeypatch.setattr("tacit.scheme.views.EVERYONE_LETTERS", 1)
    with make_clinic(tmp_path, memory=4) as study:
        for party, times in {"a": 2.0, "b": None, "c": 3.2}.items():
            study.set_limit(party, 0.9, times)
        for party, asked, bits in VISITS[:5]:
            study.release(party, asked, bits=bits, out=tmp_path / f"{party} {asked}.csv")
        study.set_limit("everyone", times=128)
        assert _said(study.status().remarks)["loose_caps"]["most"] == "everyone"
        quoted = study.quote("b", "age", bits=0.1)
        study.release("b", "age", bits=0.1, out=tmp_path / "out.csv")
        found, account = study.status(), study._journal.books.proved_account
    for parties in (("a",), ("a", "b"), ("a", "b", "c")):
        together, truth = frozenset(parties), exact_worst_answer(tmp_path / "clinic", parties)
        slack, bound = account.worst_answer_slack(together), account.worst_answer(together)
        assert bound - slack - ROUNDING <= truth <= bound
    [everyone] = [each for each in found.coalitions if len(each.parties) == 3]
    assert everyone.worst_answer_slack == slack > 0.1
    assert _said(found.remarks)["loose_caps"] == _said(quoted.remarks)["loose_caps"]
    assert _said(found.audit_remarks)["loose_caps"]["slack"] == slack
    assert verify_study(tmp_path / "clinic").is_whole


def _said(remarks: Iterable[Remark]) -> dict[str, Any]:
    return {remark.code: remark.values for remark in remarks}


def test_everyone_is_told_apart_as_finely_as_a_cap_needs(tmp_path: Path) -> None:
    """With 4 states, the worst answer of all histories is known but for rounding, and proved."""
    with make_clinic(tmp_path, memory=4) as study:
        for party in "abc":
            study.set_limit(party, 0.9)
        study.set_limit("everyone", times=4)
        for party, asked, bits in (
            ("a", "age", 0.2),
            ("b", "diagnosis", 0.3),
            ("c", "smoker", 0.2),
        ):
            study.release(
                party, asked, bits=bits, out=tmp_path / f"{party}.csv", accept=["disclosure"]
            )
            bound = study._journal.books.proved_account.worst_answer(frozenset("abc"))
            truth = exact_worst_answer(tmp_path / "clinic", "abc")
            assert truth <= bound <= min(truth + 1e-9, 2.0)
    assert intents_of(tmp_path / "clinic")[-1].body["everyone_labels"]
    assert verify_study(tmp_path / "clinic").is_whole


def test_an_independent_replay_finds_every_cap_kept(capped: Path) -> None:
    found = replay(capped)
    assert found.faults == []
    assert found.undecided == 0
    assert len(found.held) >= 5
    assert found.compared_worst >= 4 * len(found.held)


def test_verify_proves_the_caps(capped: Path) -> None:
    assert verify_study(capped).is_whole
    holdings = {tuple(each["parties"]): each for each in intents_of(capped)[-1].body["holdings"]}
    assert any(each["times"] is not None for each in holdings.values())


def test_a_cap_is_used_but_for_what_designs_leave_to_the_next(capped: Path) -> None:
    """Some release stands at a cap: the tests above are no empty ones."""
    spare = [
        log2(each["times"]) - each["worst_answer"]
        for intent in intents_of(capped)
        for each in intent.body["holdings"]
        if each["times"] is not None
    ]
    assert 0 <= min(spare) <= KEPT_ROOM * CAP_ROOM + 1e-6  # rounding to integers costs less


# -- forged ---------------------------------------------------------------------------------------


def _lower(body: dict[str, Any]) -> None:
    body["holdings"][0] |= {"worst_answer": 0.5 * body["holdings"][0]["worst_answer"]}


def _other_cap(body: dict[str, Any]) -> None:
    capped = next(each for each in body["holdings"] if each["times"] is not None)
    capped["times"] *= 2


def _no_cap(body: dict[str, Any]) -> None:
    next(each for each in body["holdings"] if each["times"] is not None)["times"] = None


def _looser(body: dict[str, Any]) -> None:
    body["holdings"][0]["worst_answer_slack"] += 0.1


def _one_label(body: dict[str, Any]) -> None:
    """Letters of everyone that lead to different states become one."""
    body["everyone_labels"] = [min(label, 0) for label in body["everyone_labels"]]


def _fewer_labels(body: dict[str, Any]) -> None:
    body["everyone_labels"] = body["everyone_labels"][:-1]


def _no_labels(body: dict[str, Any]) -> None:
    body["everyone_labels"] = None


def _lower_for_everyone(body: dict[str, Any]) -> None:
    body["everyone_worst_answer"] = 0.1


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_lower, "the worst single answer of"),
        (_other_cap, "was held to"),
        (_no_cap, "was held to any number of times, not"),
        (_lower_for_everyone, "the worst single answer of everyone tells"),
        (_looser, "bits above the truth, not"),
        (_one_label, "letters of everyone with different states have one label"),
        (_fewer_labels, "give a label for every one of them"),
        (_no_labels, "the worst single answer of everyone tells"),
    ],
)
def test_forged_figures_are_named(
    capped: Path, edit: Callable[[dict[str, Any]], None], said: str
) -> None:
    forge_last(capped, "intent", edit)
    assert_found(verify_study(capped), said)


def test_a_forged_table_that_breaks_a_cap_is_named(capped: Path) -> None:
    weights = channel_of(intents_of(capped)[-1]).law
    telling = np.zeros_like(weights)
    for state, used in enumerate(weights.any(axis=1)):  # other letters lead to no state
        first, last = np.flatnonzero(used)[[0, -1]]
        telling[state, 0, first] = telling[state, 1:, last] = 0.95  # the first tells one class
    forge_last(
        capped,
        "intent",
        lambda body: None,
        IntegerChannel.quantised(0.05 * weights + telling),
    )
    assert_found(verify_study(capped), "times that it is limited to")
    assert any("the times allowed to" in each for each in replay(capped).faults)


def test_a_cap_that_was_set_below_an_answer_is_named(capped: Path) -> None:
    with Study.open(capped) as study:
        study.set_limit("d", 0.1)
        study.set_limit("any 3", times=64)
    forge_last(capped, "limit", lambda body: body.update(times=1.001))
    assert any("the times allowed to" in each for each in replay(capped).faults)


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["a", "any 1"])
def test_verify_names_times_that_were_set_after_an_answer_broke_them(
    capped: Path, whom: str
) -> None:
    with Study.open(capped) as study:
        study.set_limit(whom, 0.95, 4)
    assert verify_study(capped).is_whole
    forge_last(capped, "limit", lambda body: body.update(times=1.01))
    assert_found(verify_study(capped), "it limits a to 1.01 times, and an answer may have made")


# -- setting --------------------------------------------------------------------------------------


def test_a_cap_stays_until_it_is_taken_away(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 0.5, times=4)
        study.set_limit("a", 0.6)
        assert Limit("a", 0.6, 4) in limits_of(study)
        assert study.set_limit("a", 0.6, times=4)[0] == Remark("unchanged")
        study.set_limit("a", times=inf)
        assert Limit("a", 0.6) in limits_of(study)
    bodies = [entry.body for entry in entries_of(tmp_path / "clinic") if entry.kind == "limit"]
    assert [(body["bits"], body["times"]) for body in bodies] == [(0.5, 4), (0.6, 4), (0.6, None)]


def test_a_cap_below_an_answer_is_refused(capped: Path) -> None:
    before = entries_of(capped)
    with Study.open(capped) as study:
        for change in (
            lambda: study.set_limit("a", times=1.01),
            lambda: study.set_limit("everyone", times=1.01),
            lambda: study.set_limit("a+b", times=1.01),
        ):
            with pytest.raises(CapError, match=r"a limit of 1.01 times on .* is below") as no:
                change()
            assert no.value.held_bits > log2(1.01)
        with pytest.raises(InvalidInputError, match=r"the limit on a is 0\.5 times: give"):
            study.set_limit("a", 0.9, times=0.5)
    assert entries_of(capped) == before


@pytest.mark.parametrize("below", [9e-10, 1e-13])
def test_a_cap_a_little_below_an_answer_is_refused(tmp_path: Path, below: float) -> None:
    """It was accepted as rounding, and ``verify`` found it broken ever after."""
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 0.9, times=2)
        study.release("a", "age", bits=0.2, out=tmp_path / "a.csv")
        worst = study.status().parties[0].worst_answer
        with pytest.raises(CapError, match="is below what it may hold already"):
            study.set_limit("a", 0.9, times=2 ** (worst - below))
        with pytest.raises(CapError, match="is below what a may hold already"):
            study.set_limit("everyone", times=2 ** (worst - below))
        study.set_limit("a", 0.9, times=2**worst)
    assert verify_study(tmp_path / "clinic").is_whole


def test_a_cap_of_next_to_nothing_is_kept_by_nothing_released(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 0.5, times=1)
    assert verify_study(tmp_path / "clinic").is_whole


def test_a_removed_party_leaves_no_times_behind(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 0.5, times=2)
        study.set_limit("a", inf)
        study.set_limit("a", 0.5)
        assert limits_of(study) == {Limit("a", 0.5)}
    assert verify_study(tmp_path / "clinic").is_whole


def test_answers_that_may_tell_nothing_are_refused_with_what_to_raise(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 0.5, times=1)
        with pytest.raises(CapError, match="the limit on a is 1 times") as refused:
            study.release("a", "age", out=tmp_path / "a.csv")
        [suggestion] = refused.value.suggestions
        assert suggestion.as_dict() == {"action": "set_limit", "whom": "a", "times": None}
        study.set_limit("a", 0.5, times=2)
        study.set_limit("everyone", times=1)
        with pytest.raises(CapError, match="the limit on everyone is 1 times") as refused:
            study.release("a", "age", out=tmp_path / "a.csv")
        [suggestion] = refused.value.suggestions
        assert suggestion.arguments == {"whom": "everyone", "times": None}


def test_a_refusal_at_a_reached_cap_names_the_cap_not_the_bits(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 2.0, times=1.15)
        for asked in ("age", "diagnosis"):
            study.release("a", asked, bits=0.2, out=tmp_path / f"{asked}.csv")
        raised = {"action": "set_limit", "whom": "a", "times": None}
        with pytest.raises(CapError, match="only if limits in times are raised") as refused:
            study.release("a", "smoker", bits=0.2, out=tmp_path / "a.csv")
        assert [each.as_dict() for each in refused.value.suggestions] == [raised]


def test_a_cap_too_small_for_any_answer_is_named_however_few_bits_are_asked_for(
    tmp_path: Path,
) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 2.0, times=1.014)
        with pytest.raises(CapError, match=r"the limit on a is 1.014 times") as refused:
            study.release("a", "age", bits=0.2, out=tmp_path / "a.csv")
        assert refused.value.suggestions[0].arguments["times"] is None
        with pytest.raises(CapError, match=r"the limit on a is 1.014 times"):
            study.release("a", "age", bits=1e-12, out=tmp_path / "a.csv")
        study.set_limit("a", times=inf)
        with pytest.raises(InfeasibleError, match=r"1e-12 bits buy a nothing .*: ask for more"):
            study.release("a", "age", bits=1e-12, out=tmp_path / "a.csv")


def test_status_says_the_worst_answer_and_its_cap(capped: Path) -> None:
    with Study.open(capped) as study:
        status = study.status()
    parties = {each.name: each for each in status.parties}
    assert (parties["a"].times, parties["b"].times) == (2, 4)
    assert 0 < parties["a"].worst_answer <= 1.0
    assert status.as_dict()["parties"][0]["times"] == 2
    with_all = next(each for each in status.coalitions if len(each.parties) == 3)
    assert with_all.limit == inf
    assert with_all.as_dict()["limit"] is None
    assert with_all.worst_answer <= 3.0


def test_a_suggested_cap_discloses_no_level_and_says_what_it_costs(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("a", 2.0)
        [remark] = study.missing_times("a")
        assert remark.code == "no_cap"
        assert any(each.disclosed for each in study.explain_limit(2.0))
        assert 0 < remark.values["lost"] < 1
        times = remark.values["times"]
        assert all(each.disclosed is None for each in study.explain_limit(2.0, times))
        assert any(each.disclosed for each in study.explain_limit(2.0, times + 0.1))
        study.set_limit("a", 2.0, times)
        for asked in ("age", "diagnosis", "smoker"):
            with suppress(CapError):
                study.release("a", asked, out=tmp_path / f"{asked}.csv", objective="worst-level")
        assert study.status().releases > 0
        assert study.status().disclosures == ()
        study.set_limit("a", 2.0, 8)
        assert study.missing_times("a") == []
