"""Answers that are handed to one more party: recorded, counted, delivered, verified."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import InfeasibleError
from tacit.ledger import Entry
from tacit.limits import Limit
from tacit.remark import Remark
from tacit.study import Certificate, Study, verify_study
from tacit.study.backup import back_up, restore
from tacit.study.entry_kinds import read_books
from tacit.study.verification.papers import KeptPaper, PaperCheck
from tests.redteam.replay import replay
from tests.study.clinic import entries_of, make_clinic, read_release, set_limits
from tests.study.filled_clinic import assert_found
from tests.study.forging import forge, forge_last

LIMITS = [Limit("any 2", 0.45, times=16), Limit("everyone", 0.9)]


def ask(study: Study, place: Path, visit: str, **options: Any) -> int:
    """Release what ``party request bits`` says, beside the study; its number in the ledger."""
    party, request, bits = visit.split()
    out = place / f"{party}-{request}.csv"
    asked = {"bits": float(bits), "out": out, "accept": ["disclosure"]}
    return study.release(party, request, **asked, **options).entry


def kinds_of(place: Path) -> list[str]:
    """Of the releases, in order."""
    kinds = [each.kind for each in entries_of(place / "clinic")]
    return [kind for kind in kinds if kind in ("intent", "copy")]


def make(place: Path, limits: Sequence[Limit] = LIMITS, **options: Any) -> Study:
    """Patients, six parties, and few states: they forget most letters soon."""
    study = make_clinic(place, n_records=600, memory=3, **options)
    for party in "abcdefg":
        study.set_limit(party, 0.4)
    set_limits(study, limits)
    return study


VISITS = (
    *("a smoker 0.15", "b diagnosis 0.2", "c age 0.1", "d smoker 0.15", "f age 0.1"),
    *("d age 0.1", "e smoker 0.15"),
)
COPIES = [3, 4, 6]
"""Visits that are answered by a copy; one comes back after it and gets answers of its own."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with copies, and parties that come back after them."""
    place = tmp_path_factory.mktemp("copies")
    with make(place) as study:
        for visit in VISITS:
            ask(study, place, visit)
        assert [k for k, kind in enumerate(kinds_of(place)) if kind == "copy"] == COPIES
    return place / "clinic"


def test_what_is_recorded_is_true(kept: Path) -> None:
    """Replayed in whole numbers, by code that shares nothing with tacit."""
    found = replay(kept)
    assert found.faults == []
    assert found.compared > 20
    assert found.undecided == 0


def test_a_copy_verifies_and_is_proved_to_be_near_the_best(kept: Path) -> None:
    with Study.open(kept) as study:
        found = study.verify()
        assert found.problems == ()
        assert len(found.proved_gaps) == len(VISITS)
        assert [note.code for note in found.notes] == []


def test_everyone_learns_nothing_from_a_copy(kept: Path) -> None:
    told = [each for each in entries_of(kept) if each.kind in ("intent", "copy")]
    for before, after in pairwise(told):
        if after.kind == "copy":
            assert after.body["everyone_bits"] == before.body["everyone_bits"]
            assert after.body["everyone_worst_answer"] == before.body["everyone_worst_answer"]


def test_a_copy_has_the_same_answers_under_other_names(kept: Path) -> None:
    first, copied = (read_release(kept.parent / f"{party}-smoker.csv")[1] for party in "ae")
    assert sorted(row[1] for row in first) == sorted(row[1] for row in copied)
    assert {row[0] for row in first}.isdisjoint(row[0] for row in copied)  # own pseudonyms
    papers = [Certificate.beside(kept.parent / f"{party}-smoker.csv") for party in "ae"]
    assert np.allclose(papers[0].p_rhat_given_r, papers[1].p_rhat_given_r, atol=1e-12)
    assert papers[0].digest != papers[1].digest
    assert "a" not in papers[1].party  # nothing says whose answers these were first
    assert "copied" not in papers[1].model_dump_json()


def test_receipt_log_and_status_say_what_a_copy_is(kept: Path) -> None:
    with Study.open(kept) as study:
        numbers = [each.number for each in entries_of(kept) if each.kind == "copy"]
        receipt = study.receipt(numbers[0])
        assert [each.code for each in receipt.remarks] == ["copied"]
        assert receipt.remarks[0].values == {"release": numbers[0] - 6}
        own = next(k for k, each in enumerate(receipt.holdings) if each.parties == ("d",))
        assert receipt.held_before[own] == 0
        assert Remark("copied", {"release": numbers[0] - 6}) in study.remarks_on(numbers[0])
        assert "a copy of the answers of release" in study.log()[numbers[0] - 1].in_words
        assert study.status().releases == len(VISITS)
        assert study.audit(records=200).verdict


def test_the_same_request_finds_the_copy(kept: Path) -> None:
    with Study.open(kept) as study:
        numbers = [each.number for each in entries_of(kept) if each.kind == "copy"]
        assert study.quote("d", "smoker", bits=0.15).answered_by == numbers[0]
        assert study.record("d", "smoker", bits=0.15) == numbers[0]


def test_a_quote_says_that_it_would_be_a_copy(kept: Path) -> None:
    with Study.open(kept) as study:
        quote = study.quote("g", "smoker", bits=0.15)
        assert "copied" in [each.code for each in quote.remarks]
        everyone = next(share for share in quote.coalitions if len(share.parties) == 7)
        assert everyone.added == 0


@pytest.mark.parametrize("party", ["a", "e"])
def test_a_paper_behind_what_could_be_replayed_is_not_held_against(kept: Path, party: str) -> None:
    """Of a release that was drawn, and of a copy: the replay knows neither."""
    entries = entries_of(kept)
    paper = KeptPaper.read(kept.parent / f"{party}-smoker.csv.certificate.json")
    check = PaperCheck(paper, None)
    check.against(read_books(entries[: paper.entry - 1]), entries)
    assert check.problems == []
    assert "paper_not_compared" in [note.code for note in check.notes]


# --- forged ledgers ------------------------------------------------------------------------------


def _lower(body: dict[str, Any]) -> None:
    for holding in body["holdings"]:
        holding["bits"] = holding["bits"] / 2


def _hand_to_the_first(body: dict[str, Any]) -> None:
    text = json.dumps(body).replace('"e"', '"a"')
    body.update(json.loads(text))


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "what coalitions hold": _lower,
    "what everyone holds": lambda body: body.update(everyone_bits=0.01),
    "another release": lambda body: body.update(source=body["source"] + 2),
    "no release": lambda body: body.update(source=2),
    "itself": lambda body: body.update(source=body["source"] + 100),
    "a party that has it": _hand_to_the_first,
    "an unknown party": lambda body: body.update(party="nobody"),
    "what it is worth": lambda body: body.update(value=body["value"] - 0.01),
    "that nothing is better": lambda body: body.update(bound=body["value"] + 0.1),
    "that much is better": lambda body: body.update(bound=0.0),
    "what its party is told": lambda body: body.update(
        p_rhat_given_r=[row[::-1] for row in body["p_rhat_given_r"]]
    ),
    "the names of the answers": lambda body: body.update(letters=body["letters"][::-1]),
    "that it depends on nothing else": lambda body: body.update(analysable=True),
    "merged letters": lambda body: body.update(
        merges=[{"after": body["source"], "parties": ["e"], "labels": [0, 0], "slack": 0.0}]
    ),
    "letters merged after nothing": lambda body: body.update(
        merges=[{"after": 1, "parties": ["e"], "labels": [0, 0], "slack": 0.0}]
    ),
    "fewer coalitions": lambda body: body.update(holdings=body["holdings"][:1]),
}


@pytest.mark.parametrize("edit", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_copy_is_found(
    tmp_path: Path, kept: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    folder = tmp_path / "clinic"
    shutil.copytree(kept, folder)
    forge_last(folder, "copy", edit)
    assert not verify_study(folder).is_whole


def test_a_copy_of_a_copy_is_refused(tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "clinic"
    shutil.copytree(kept, folder)
    first = next(each.number for each in entries_of(folder) if each.kind == "copy")
    forge_last(folder, "copy", lambda body: body.update(source=first))
    assert_found(verify_study(folder), f"entry {first} is no release that was drawn")


def test_poor_answers_do_not_pass_for_the_best(tmp_path: Path) -> None:
    """A ledger that says that b got a's letters, which tell little, where b may be told much."""
    with make(tmp_path, []) as study:
        ask(study, tmp_path, "a smoker 0.02")
        ask(study, tmp_path, "b smoker 0.3")
    first, last = (each for each in entries_of(tmp_path / "clinic") if each.kind == "intent")
    [held] = first.body["holdings"]
    [allowed] = last.body["holdings"]
    drawn = {"draw", "next_state", "merges", "everyone_labels"}
    told = {name: value for name, value in first.body.items() if name not in drawn}
    copy = told | {
        "identity": last.body["identity"],
        "party": "b",
        "bits": last.body["bits"],
        "holdings": [allowed | {name: held[name] for name in ("bits", "worst_answer", "letters")}],
        "source": first.number,
        "merges": [],
        "bound": first.body["value"],
    }

    def edited(entries: list[Entry]) -> list[Entry]:
        at = entries.index(last)
        return [*entries[:at], replace(last, kind="copy", body=copy, payload=b"")]

    forge(tmp_path / "clinic", edited)
    found = verify_study(tmp_path / "clinic")
    assert_found(found, "it claims that nothing beats", "and the engine finds")
    assert {each.values["entry"] for each in found.problems} == {11}


# --- in a study's life ---------------------------------------------------------------------------


def test_a_limit_on_two_parties_forbids_a_copy(tmp_path: Path) -> None:
    """Together with what b has, the letters tell c more than the two may hold."""
    limits = [Limit("b+c", 0.25)]
    with make(tmp_path, limits) as study:
        ask(study, tmp_path, "a smoker 0.2")
        ask(study, tmp_path, "b diagnosis 0.2")
        ask(study, tmp_path, "c smoker 0.2")
        assert kinds_of(tmp_path) == ["intent"] * 3
        assert replay(tmp_path / "clinic").faults == []


def test_a_copy_waits_for_no_more_room(tmp_path: Path) -> None:
    """Everyone's limit is used up: new answers are refused, answers that are known are not."""
    limits = [Limit("everyone", 0.2)]
    with make(tmp_path, limits) as study:
        ask(study, tmp_path, "a smoker 0.2")
        with pytest.raises(InfeasibleError):
            ask(study, tmp_path, "b diagnosis 0.1")
        ask(study, tmp_path, "c smoker 0.2")
        assert kinds_of(tmp_path) == ["intent", "copy"]
        assert study.verify().problems == ()


def test_a_copy_may_be_better_than_all_that_can_be_drawn(tmp_path: Path) -> None:
    """The memory has forgotten the letters, and everyone's limit leaves little for new ones.

    A mixture of them with true answers would be within the limits, but nobody can draw it.
    """
    with make_clinic(tmp_path, n_records=600, memory=1) as study:
        for party in "ab":
            study.set_limit(party, 0.4)
        study.set_limit("everyone", 0.25)
        ask(study, tmp_path, "a smoker 0.2")
        ask(study, tmp_path, "b smoker 0.24")
        assert kinds_of(tmp_path) == ["intent", "copy"]
        assert study.verify().problems == ()


def test_a_change_of_limits_counts_copies(tmp_path: Path) -> None:
    with make(tmp_path, [Limit("everyone", 1.0)]) as study:
        for visit in VISITS[:5]:
            ask(study, tmp_path, visit)
        with pytest.raises(InfeasibleError, match=r"b \+ d"):
            study.set_limit("b+d", 0.3)
        study.set_limit("any 2", 0.6)
        ask(study, tmp_path, "f diagnosis 0.2")
        assert study.verify().problems == ()
        assert replay(tmp_path / "clinic").faults == []


def test_erased_people_are_in_no_copy(tmp_path: Path) -> None:
    with make(tmp_path) as study:
        ask(study, tmp_path, "a smoker 0.15")
        ask(study, tmp_path, "b diagnosis 0.2")
        (tmp_path / "gone.csv").write_text("patient\np000003\np000004\n")
        assert study.erase(str(tmp_path / "gone.csv")).records == 2
        number = ask(study, tmp_path, "c smoker 0.15")
        assert kinds_of(tmp_path)[-1] == "copy"
        assert len(read_release(tmp_path / "c-smoker.csv")[1]) == 598
        assert study.count_rows(number) == 598
        assert study.verify().problems == ()


def test_the_file_is_the_same_after_a_restored_backup(tmp_path: Path) -> None:
    with make(tmp_path) as study:
        ask(study, tmp_path, "a smoker 0.15")
        ask(study, tmp_path, "b diagnosis 0.2")
        back_up(tmp_path / "clinic", tmp_path / "backup.tar")
        ask(study, tmp_path, "c smoker 0.15")
        first = (tmp_path / "c-smoker.csv").read_bytes()
    (tmp_path / "elsewhere").mkdir()
    restore(tmp_path / "backup.tar", tmp_path / "elsewhere" / "clinic")
    with Study.open(tmp_path / "elsewhere" / "clinic", accept_rollback=True) as study:
        study.release("c", "smoker", bits=0.15, out=tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_bytes() == first


def test_states_are_those_after_what_was_drawn(tmp_path: Path) -> None:
    """A copy that is delivered late, when its states are forgotten, leaves later ones alone."""
    with make(tmp_path) as study:
        for visit in ("a smoker 0.15", "b diagnosis 0.2", "c age 0.1", "b age 0.05"):
            ask(study, tmp_path, visit)
        ask(study, tmp_path, "d smoker 0.15")
        ask(study, tmp_path, "e diagnosis 0.1")
        assert study.verify().problems == ()


def test_worth_and_ceilings_are_those_of_the_new_request(tmp_path: Path) -> None:
    with make(tmp_path) as study:
        ask(study, tmp_path, "a age 0.2", utility="absolute")
        number = ask(study, tmp_path, "b age 0.2", utility="absolute")
        record = entries_of(tmp_path / "clinic")[number - 1]
        assert record.kind == "copy"
        assert record.body["measure"]["kind"] == "absolute"
        assert np.isclose(record.body["value"], entries_of(tmp_path / "clinic")[-4].body["value"])
