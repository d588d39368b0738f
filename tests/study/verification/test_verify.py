"""Verification finds what was changed, forged, rolled back or lost, and names it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

from tacit.errors import InfeasibleError, InvalidInputError, KeyFileError, TacitError
from tacit.ledger import Entry
from tacit.remark import Remark
from tacit.sampling import IntegerChannel
from tacit.study import Study, verify_study
from tacit.study.books.books import RESERVE_BITS
from tacit.study.reports.receipts import certificate_path
from tacit.study.verification.verify import PROVED_NEAR
from tests.study.clinic import N_CELLS, channel_of, classes_of, entries_of, intents_of, make_clinic
from tests.study.exact import exact_bits
from tests.study.filled_clinic import assert_found, filled_clinic
from tests.study.forging import Edit, edit_rows, forge, forge_last, remove_traces
from tests.words import in_words


@pytest.fixture
def clinic(tmp_path: Path, ledger: str) -> Path:
    """Folder of a study with two releases to one party and one to another, on every ledger."""
    return filled_clinic(tmp_path, ledger)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled_clinic(tmp_path_factory.mktemp("original"), "folder").parent


@pytest.fixture
def sqlite_clinic(original: Path, tmp_path: Path) -> Path:
    """A copy of such a study, for what has nothing to do with the ledger."""
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return tmp_path / "clinic"


def test_a_whole_study_is_found_whole(clinic: Path) -> None:
    found = verify_study(clinic)
    assert found.is_whole
    assert (found.entries, found.releases, found.notes) == (10, 3, ())


def test_the_helper_notices_what_was_not_found(clinic: Path) -> None:
    with pytest.raises(AssertionError):
        assert_found(verify_study(clinic))


# -- edits that break the chain ---------------------------------------------------------------


@pytest.mark.parametrize("number", range(1, 11))
def test_an_edited_entry_is_found(sqlite_clinic: Path, number: int) -> None:
    edit_rows(sqlite_clinic, f"UPDATE tacit_entries SET body = body || ' ' WHERE number = {number}")
    assert_found(verify_study(sqlite_clinic), f"entry {number} ", "changed")


def test_edited_removed_and_reordered_entries_are_found(clinic: Path) -> None:
    renumber = "UPDATE tacit_entries SET number = {} WHERE number = {}"
    edit_rows(
        clinic,
        "UPDATE tacit_entries SET payload = (SELECT salt FROM tacit_ledger) WHERE number = 5",
        "DELETE FROM tacit_entries WHERE number = 3",
        *(renumber.format(new, old) for new, old in ((99, 7), (7, 9), (9, 99))),
    )
    found = verify_study(clinic)
    for entry in ("entry 3 is missing", "entry 5 ", "entry 7 ", "entry 9 "):
        assert_found(found, entry)
    with pytest.raises(TacitError):
        Study.open(clinic)


def test_a_study_that_is_removed_is_found(clinic: Path) -> None:
    edit_rows(clinic, "DELETE FROM tacit_entries", "DELETE FROM tacit_studies")
    assert_found(verify_study(clinic), "not registered")


# -- forgeries with a perfect chain -----------------------------------------------------------

FAITHFUL = IntegerChannel.quantised(np.eye(2)[np.arange(N_CELLS) // 2 % 2][None])
"""Tells the diagnosis as it is."""


def lower_holdings(body: dict[str, Any]) -> None:
    body["holdings"] = [each | {"bits": each["bits"] / 2} for each in body["holdings"]]


def swap(name: str) -> Edit:
    return lambda body: body.update({name: body[name][::-1]})


MISSTATED: dict[str, tuple[str, Edit]] = {
    "what a coalition holds": ("intent", lower_holdings),
    "what everyone holds": ("intent", lambda body: body.update(everyone_bits=0.01)),
    "the worth of its answers": ("intent", lambda body: body.update(value=body["value"] / 2)),
    "the worth of a blind guess": ("intent", lambda body: body.update(blind=1.0)),
    "that nothing is better": ("intent", lambda body: body.update(bound=1.0)),
    "that its bits are worth nothing": (
        "intent",
        lambda body: body.update(holdings=[each | {"multiplier": 0} for each in body["holdings"]]),
    ),
    "that a little more is worth more": (
        "intent",
        lambda body: body.update(
            holdings=[each | {"multiplier": 1.1 * each["multiplier"]} for each in body["holdings"]]
        ),
    ),
    "that the clock ended the search": (
        "intent",
        lambda body: body.update(is_out_of_time=True),
    ),
    "a slack that is not there": (
        "intent",
        lambda body: body["holdings"][0].update(slack=body["holdings"][0]["slack"] + 1e-11),
    ),
    "a party twice": (
        "intent",
        lambda body: body["holdings"][0].update(parties=2 * body["holdings"][0]["parties"]),
    ),
    "no bound": ("intent", lambda body: body.update(bound=None)),
    "a bound of 0": ("intent", lambda body: body.update(bound=0)),
    "a bound below 0": ("intent", lambda body: body.update(bound=-5)),
    "a limit that was not in force": (
        "intent",
        lambda body: body.update(holdings=[each | {"limit": 9.0} for each in body["holdings"]]),
    ),
    "fewer coalitions": ("intent", lambda body: body.update(holdings=body["holdings"][-1:])),
    "bits that were not asked for": ("intent", lambda body: body.update(bits=0.01)),
    "another party": ("intent", lambda body: body.update(party="lab-b")),
    "an unknown party": ("intent", lambda body: body.update(party="nobody")),
    "what the recipient is told": ("intent", swap("p_rhat_given_r")),
    "the names of the answers": ("intent", swap("letters")),
    "another question": (
        "intent",
        lambda body: body["question"].update(letter_of_cell=[0, 1] * (N_CELLS // 2)),
    ),
    "other words for the question": (
        "intent",
        lambda body: body["question"].update(name="smoker", sql="smoker"),
    ),
    "states that are not recorded": (
        "intent",
        lambda body: body.update(next_state=[[-1, -1]] * len(body["next_state"])),
    ),
    "another digest": ("delivered", lambda body: body.update(digest="0" * 64)),
    "a delivery of something else": ("delivered", lambda body: body.update(intent=1)),
    "a second delivery": ("delivered", lambda body: body.update(intent=5)),
    "another number of records": ("created", lambda body: body.update(counts=[9] * N_CELLS)),
    "a limit that was broken": ("limit", lambda body: body.update(bits=0.05)),
}


@pytest.mark.parametrize("bound", [0.41, 0, -5])
def test_a_bound_that_was_set_is_named(sqlite_clinic: Path, bound: float) -> None:
    forge_last(sqlite_clinic, "intent", lambda body: body.update(bound=bound))
    assert_found(verify_study(sqlite_clinic), "entry 9: it claims", "nothing beats")


def test_a_bound_on_information_is_not_below_what_is_told(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.3)
        study.release("lab-a", "smoker", utility="information", bits=0.1, out=tmp_path / "a.csv")
        assert study.verify().is_whole
    forge_last(tmp_path / "clinic", "intent", lambda body: body.update(bound=body["value"] - 1e-6))
    assert_found(verify_study(tmp_path / "clinic"), "entry 3: it claims that nothing beats")


def test_a_question_that_is_not_its_columns_is_found(tmp_path: Path) -> None:
    with make_clinic(tmp_path, external=["outcome"]) as study:
        study.set_limit("lab-a", 0.3)
        study.release("lab-a", "outcome", bits=0.1, out=tmp_path / "a.csv")
    forge_last(tmp_path / "clinic", "intent", lambda body: body["question"].update(name="age"))
    assert_found(verify_study(tmp_path / "clinic"), "entry 3: its question is not that of")


def test_a_bound_on_information_is_one_for_the_problem_as_posed(tmp_path: Path) -> None:
    """Of an attribute, a first release can tell as many bits as the limit allows."""
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.1)
        asked = {"utility": "information", "out": tmp_path / "a.csv"}
        made = study.receipt(study.release("lab-a", "smoker", **asked).entry)
    assert made.bound == pytest.approx(0.1 - RESERVE_BITS, abs=1e-9)
    assert made.value <= made.bound


@pytest.mark.parametrize("misstated", MISSTATED)
def test_a_forgery_is_found_by_its_certificates(sqlite_clinic: Path, misstated: str) -> None:
    kind, edit = MISSTATED[misstated]
    forge_last(sqlite_clinic, kind, edit)
    assert_found(verify_study(sqlite_clinic))


def test_a_table_that_tells_more_than_is_recorded_is_found(clinic: Path) -> None:
    last = intents_of(clinic)[-1]
    some_x = np.unique(classes_of(clinic)[last.number], return_index=True)[1]
    shape = channel_of(last).weights.shape
    table = IntegerChannel(np.broadcast_to(FAITHFUL.weights[:, some_x], shape))
    forge_last(clinic, "intent", lambda body: None, table)
    found = verify_study(clinic)
    for parties in ("lab-a may hold", "lab-a + lab-b may hold", "everyone may hold"):
        assert_found(found, "entry 9", parties)
    assert exact_bits(clinic, ("lab-a",)) > 0.5


def test_a_first_release_that_exceeds_a_limit_is_found_though_it_says_so(
    sqlite_clinic: Path,
) -> None:
    """Everything that is recorded is true, except that a limit was to hold."""

    def exceeding(entries: list[Entry]) -> list[Entry]:
        first = next(entry for entry in entries if entry.body.get("whom") == "lab-a")
        low = replace(first, body=dict(first.body) | {"bits": 0.09})
        return [low if entry is first else entry for entry in entries]

    forge(sqlite_clinic, exceeding)
    assert_found(verify_study(sqlite_clinic), "lab-a", "0.09")


def test_a_limit_on_everyone_below_what_was_held_is_found(sqlite_clinic: Path) -> None:
    def appended(entries: list[Entry]) -> list[Entry]:
        last = next(entry for entry in reversed(entries) if entry.kind == "limit")
        everyone = {"whom": "everyone", "bits": 0.1, "title": None}
        return [*entries, replace(last, body=dict(last.body) | everyone)]

    forge(sqlite_clinic, appended)
    assert_found(verify_study(sqlite_clinic), "entry 11", "0.1 bits")


def test_entries_after_the_end_are_found(sqlite_clinic: Path) -> None:
    with Study.open(sqlite_clinic) as study:
        study.destroy_key()

    def reopened(entries: list[Entry]) -> list[Entry]:
        party = next(entry for entry in entries if entry.body.get("whom") == "lab-a")
        return [*entries, party]

    forge(sqlite_clinic, reopened)
    assert_found(verify_study(sqlite_clinic), "after the study was closed")


# -- receipts ---------------------------------------------------------------------------------


def papers(clinic: Path, number: int) -> Iterator[Path]:
    """Every kind of paper about the last release."""
    with Study.open(clinic) as study:
        receipt = study.receipt(number)
    receipt.write(clinic.parent / "receipt.json")
    (clinic.parent / "receipt.html").write_text(receipt.as_html())
    yield clinic.parent / "receipt.json"
    yield clinic.parent / "receipt.html"
    yield certificate_path(clinic.parent / "3.csv")


def test_a_ledger_that_was_rolled_back_is_found_by_every_paper(clinic: Path) -> None:
    kept = list(papers(clinic, 9))
    for paper in kept:
        assert verify_study(clinic, paper).is_whole
    edit_rows(clinic, "DELETE FROM tacit_entries WHERE number > 8")
    assert_found(verify_study(clinic), "lost entries", "high-water.json")
    remove_traces(clinic)
    assert verify_study(clinic).is_whole  # nothing in the folder shows it any more
    for paper in kept:
        assert_found(verify_study(clinic, paper), "entry 9", "rolled back")


def test_a_history_that_was_rewritten_is_found_by_every_paper(clinic: Path) -> None:
    kept = list(papers(clinic, 9))
    forge(
        clinic,
        lambda entries: [
            replace(entry, time="2020-01-01T00:00:00.000000+00:00") for entry in entries
        ],
    )
    for paper in kept:
        assert_found(verify_study(clinic, paper), "entry 9", "rewritten")


def test_a_paper_of_another_study_is_none_of_ours(sqlite_clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    kept = list(papers(sqlite_clinic, 9))
    make_clinic(tmp_path / "other").__exit__(None, None, None)
    for paper in kept:
        assert_found(verify_study(tmp_path / "other" / "clinic", paper), "another study")


@pytest.mark.parametrize("text", ["", "{}", "<html></html>", '{"study": 1}'])
def test_a_paper_that_is_none_is_refused(sqlite_clinic: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "paper").write_text(text)
    with pytest.raises(InvalidInputError, match="no receipt"):
        verify_study(sqlite_clinic, tmp_path / "paper")


# -- files and keys ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.npy", "ids.parquet", "counts.npz", "snapshot.json"])
def test_a_snapshot_with_a_changed_byte_is_found(sqlite_clinic: Path, name: str) -> None:
    file = sqlite_clinic / "snapshot" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert_found(verify_study(sqlite_clinic), "snapshot")


def test_a_snapshot_of_other_records_is_found(sqlite_clinic: Path) -> None:
    """Two records exchange their cells: every count stays as it is."""
    file = sqlite_clinic / "snapshot" / "x.npy"
    x = np.load(file)
    other = int(np.argmax(x != x[0]))
    x[0], x[other] = x[other], x[0]
    np.save(file, x)
    assert_found(verify_study(sqlite_clinic), "snapshot")


def test_a_changed_release_file_is_found(clinic: Path) -> None:
    file = clinic.parent / "1.csv"
    heading, first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text("".join([heading, *rest, first]))
    assert_found(verify_study(clinic), "1.csv", "release 5")


def test_a_release_file_that_is_gone_is_noted(clinic: Path) -> None:
    (clinic.parent / "1.csv").unlink()
    found = verify_study(clinic)
    assert found.is_whole
    assert any("release 5" in note for note in in_words(found.notes))


def test_without_the_key_the_ledger_is_still_verified(clinic: Path) -> None:
    (clinic / "key").unlink()
    found = verify_study(clinic)
    assert (found.entries, found.releases) == (10, 3)
    assert any("key" in told for told in in_words([*found.notes, *found.problems]))
    with Study.open(clinic) as study, pytest.raises(KeyFileError, match="missing"):
        study.release("lab-a", "age", out=clinic.parent / "4.csv", bits=0.1)


def test_a_wrong_key_is_found_and_never_used(clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    make_clinic(tmp_path / "other").__exit__(None, None, None)
    shutil.copy(tmp_path / "other" / "clinic" / "key", clinic / "key")
    assert_found(verify_study(clinic), "key")
    n_entries = len(entries_of(clinic))
    with Study.open(clinic) as study:
        with pytest.raises(KeyFileError, match="not this study's"):
            study.release("lab-b", "age", out=clinic.parent / "4.csv", bits=0.1)
        with pytest.raises(KeyFileError, match="not this study's"):
            study.destroy_key()
    assert len(entries_of(clinic)) == n_entries
    assert (clinic / "key").exists()


# -- the end ----------------------------------------------------------------------------------


def test_a_closed_study_is_verified_and_refuses_all_else(clinic: Path) -> None:
    with Study.open(clinic) as study:
        study.destroy_key()
        assert not (clinic / "key").exists()
        for refused in (
            lambda: study.set_limit("lab-c", 0.1),
            lambda: study.set_limit("everyone", 0.6),
            lambda: study.quote("lab-a", "smoker"),
            lambda: study.release("lab-a", "age", out=clinic.parent / "4.csv", bits=0.1),
        ):
            with pytest.raises(InvalidInputError, match="closed"):
                refused()
        assert study.status().is_closed
    found = verify_study(clinic)
    assert (found.problems, found.notes) == ((), ())
    assert entries_of(clinic)[-1].kind == "closed"
    (clinic.parent / "1.csv").write_text("record,rhat\n")
    assert_found(verify_study(clinic), "1.csv")


def test_closing_twice_is_closing_once(clinic: Path) -> None:
    for _ in range(2):
        with Study.open(clinic) as study:
            study.destroy_key()
    kinds = [entry.kind for entry in entries_of(clinic)]
    assert kinds.count("closed") == 1
    assert verify_study(clinic).is_whole


def test_an_undelivered_release_is_noted(tmp_path: Path) -> None:
    class Interrupted(Exception):
        """Somebody pressed Ctrl-C."""

    def interrupt(done: int, total: int) -> None:
        raise Interrupted

    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.3)
        with pytest.raises(Interrupted):
            study.release("lab-a", "age", out=tmp_path / "a.csv", progress=interrupt)
        found = study.verify()
        assert found.is_whole
        assert any("never delivered" in note for note in in_words(found.notes))
        with pytest.raises(InfeasibleError):
            study.set_limit("lab-a", 0.2)
        assert arb(0.3) > exact_bits(tmp_path / "clinic", ("lab-a",)) > 0.2


# -- how near to the best ---------------------------------------------------------------------


def test_every_release_is_proved_near_the_best(clinic: Path) -> None:
    found = verify_study(clinic)
    assert set(found.proved_gaps) == {entry.number for entry in intents_of(clinic)}
    assert max(found.proved_gaps.values()) <= PROVED_NEAR


def test_a_release_judged_by_information_has_no_proof_and_is_named(tmp_path: Path) -> None:
    with make_clinic(tmp_path, everyone=0.5) as study:
        study.set_limit("lab-a", 0.3)
        study.release(
            "lab-a",
            "age",
            out=tmp_path / "1.csv",
            bits=0.1,
            utility="information",
            accept=["disclosure"],
        )
        found = study.verify()
    assert found.is_whole
    assert found.proved_gaps == {}
    assert found.notes == (Remark("judged_by_information", {"release": 3}),)


def test_no_release_claims_to_be_better_than_the_best(tmp_path: Path) -> None:
    """Rare letters are left out after the design, which can lower the cost below its bound."""
    levels = [level for level in range(16) for _ in range(3 * level + 3)]
    rows = ["id,level", *(f"p{n},{level}" for n, level in enumerate(levels))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    with Study.create(
        tmp_path / "s", str(tmp_path / "t.csv"), id="id", private=["level"], memory=8
    ) as study:
        study.set_limit("a", 1.0)
        asked = {"out": tmp_path / "1.csv", "bits": 0.2, "utility": "squared"}
        receipt = study.receipt(study.release("a", "level", **asked).entry)
        assert receipt.bound is not None
        assert receipt.bound <= receipt.value
        assert study.verify().is_whole
