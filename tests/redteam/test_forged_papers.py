"""Receipts and certificates that somebody doctored, forged, or kept from a ledger that is gone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import InvalidInputError, KeyFileError, TacitError
from tacit.study import Study, Verification, verify_study
from tacit.study.digest_keys import DigestKeys
from tacit.study.entry_kinds import read_books
from tacit.study.folder import Layout
from tacit.study.reports.receipts import certificate_path
from tacit.study.verification.papers import KeptPaper, PaperCheck
from tests.redteam.forger import HOSTILE, RAW, changed, paths
from tests.study.clinic import entries_of, make_clinic
from tests.study.filled_clinic import assert_found, assert_named, filled_clinic
from tests.study.forging import edit_rows, remove_traces
from tests.words import in_words

Content = dict[str, Any]
Check = Callable[[Path], PaperCheck]
RELEASE, LIMIT = 9, 4


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clinic with papers of every kind beside it."""
    place = tmp_path_factory.mktemp("papers")
    with Study.open(filled_clinic(place, "folder")) as study:
        for name, number in (("release", RELEASE), ("limit", LIMIT)):
            receipt = study.receipt(number)
            receipt.write(place / f"{name}.json")
            (place / f"{name}.html").write_text(receipt.as_html())
    shutil.copy(certificate_path(place / "3.csv"), place / "certificate.json")
    return place


@pytest.fixture(scope="module")
def check(original: Path) -> Check:
    """The check of a paper that ``verify`` makes, for a ledger that is read once."""
    entries = entries_of(original / "clinic")
    books = read_books(entries)
    keys = DigestKeys.find(Layout(original / "clinic"), entries[0].study, books)

    def checked(paper: Path) -> PaperCheck:
        found = PaperCheck(KeptPaper.read(paper), keys)
        found.against(books, entries)
        return found

    return checked


@pytest.fixture
def place(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return tmp_path


def content_of(paper: Path) -> Content:
    text = paper.read_text()
    embedded = re.search(r'id="receipt">(.*?)</script>', text)
    content: Content = json.loads(embedded[1] if embedded else text)
    return content


def doctor(paper: Path, edit: Callable[[Content], object]) -> None:
    """Change what a paper says to machines, and nothing else."""
    content = content_of(paper)
    edit(content)
    text = json.dumps(content)
    if paper.suffix == ".html":
        page = paper.read_text()
        old = re.search(r'id="receipt">(.*?)</script>', page)
        assert old is not None
        text = page.replace(old[1], text)
    paper.write_text(text)


def verified(place: Path, paper: str) -> Verification:
    return verify_study(place / "clinic", place / paper)


PAPERS = ("release.json", "release.html", "limit.json", "limit.html", "certificate.json")


@pytest.mark.parametrize("paper", PAPERS)
def test_a_genuine_paper_is_good(place: Path, paper: str) -> None:
    found = verified(place, paper)
    assert (found.problems, found.notes) == ((), ())


IDS = ("format", "study", "entry", "hash", "seal")
"""They say what a paper is compared with, and have tests of their own."""


@pytest.mark.parametrize("paper", PAPERS)
def test_every_field_that_was_doctored_is_named(place: Path, paper: str, check: Check) -> None:
    """Each place in a paper, in turn; the whole of ``verify`` for the last of them."""
    told, kept = content_of(place / paper), (place / paper).read_text()
    for path in [path for path in paths(told) if path and path[0] not in IDS]:
        (place / paper).write_text(kept)
        doctor(place / paper, lambda body, at=path: body.update(changed(body, at, lambda _: "x")))
        problems = check(place / paper).problems
        assert_named(problems, f"{paper} says {path[0]}", "the ledger says")
    assert verified(place, paper).problems == tuple(problems)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_of_another_entry_is_found(place: Path, paper: str) -> None:
    doctor(place / paper, lambda body: body.update(entry=body["entry"] - 1))
    assert_found(verified(place, paper), "is not in the ledger as", "is forged")


@pytest.mark.parametrize("number", [4, 99])
def test_a_paper_of_another_version_is_refused(place: Path, number: int) -> None:
    doctor(place / "release.json", lambda body: body.update(format=number))
    said = f"release.json has format {number}, and this version of tacit reads 5 only"
    with pytest.raises(InvalidInputError, match=said):
        verified(place, "release.json")


def test_a_doctored_figure_is_named_with_what_the_ledger_says(place: Path) -> None:
    true = content_of(place / "release.html")["party_bits"]
    doctor(place / "release.html", lambda body: body.update(party_bits=0.1))
    said = f"release.html says party_bits 0.1, the ledger says {true}"
    assert_found(verified(place, "release.html"), said)


@pytest.mark.parametrize(
    "edit",
    [
        lambda body: body.update(party_bits=0.001),
        lambda body: body.update(everyone_bits=0.001),
        lambda body: body.update(value=0.0, in_words="about 100 of 100 values correct"),
        lambda body: body.update(party="lab-b"),
        lambda body: body.update(request="smoker"),
        lambda body: body.update(records=7),
        lambda body: body.update(note="all is well"),
        lambda body: body.pop("bound"),
        lambda body: body.update(entropy_bits=9.0),
        lambda body: body.update(party_limit=0.1),
        lambda body: body.update(digest="0" * 64),
        lambda body: body.update(time="2020-01-01T00:00:00.000000+00:00"),
        lambda body: body["holdings"].pop(),
    ],
)
def test_a_doctored_receipt_is_found_without_a_key_too(
    place: Path, edit: Callable[[Content], object]
) -> None:
    (place / "clinic" / "key").unlink()
    assert verified(place, "release.json").is_whole
    doctor(place / "release.json", edit)
    assert_found(verified(place, "release.json"), "release.json says ", "the ledger says")


def test_a_doctored_law_is_found(place: Path) -> None:
    doctor(place / "certificate.json", lambda body: body["p_rhat_given_r"][0].reverse())
    assert_found(verified(place, "certificate.json"), "says p_rhat_given_r[0][0]")


@pytest.mark.parametrize("page", ["release.html", "limit.html"])
def test_a_page_that_shows_something_else_than_its_data_is_found(
    place: Path, page: str, check: Check
) -> None:
    """Each line of the page, in turn; the whole of ``verify`` for one more line."""
    text = (place / page).read_text()
    lines = text.splitlines(keepends=True)
    for k, line in enumerate(lines):
        if not re.search(r"[\w]", line) or "application/json" in line:
            continue
        forged = re.sub(r"\w", "9", line, count=1)
        if forged == line:
            forged = re.sub(r"\w", "8", line, count=1)
        (place / page).write_text("".join([*lines[:k], forged, *lines[k + 1 :]]))
        assert_named(check(place / page).problems, "the page was changed")
    (place / page).write_text(text + "<p>And all of it is true.</p>\n")
    assert_found(verified(place, page), "the page was changed")


def test_a_seal_of_somebody_else_is_found(place: Path) -> None:
    doctor(place / "limit.json", lambda body: body.update(seal="0" * 64))
    assert_found(verified(place, "limit.json"), "seal of", "does not fit")


def test_a_paper_without_its_seal_is_compared_and_said(place: Path) -> None:
    doctor(place / "limit.json", lambda body: body.update(seal=None))
    found = verified(place, "limit.json")
    assert found.is_whole
    assert any("carries no seal" in note for note in in_words(found.notes))


# -- ledgers that have lost something -----------------------------------------------------------


def roll_back(place: Path) -> None:
    edit_rows(place / "clinic", f"DELETE FROM tacit_entries WHERE number >= {RELEASE}")
    remove_traces(place / "clinic")
    assert verify_study(place / "clinic").is_whole


@pytest.mark.parametrize("paper", ["release.json", "release.html", "certificate.json"])
def test_a_genuine_paper_of_a_lost_entry_is_told_from_a_forged_one(place: Path, paper: str) -> None:
    roll_back(place)
    genuine = f"genuine, sealed by this study's key: the ledger has lost entry {RELEASE}"
    assert_found(verified(place, paper), genuine, "rolled back")
    doctor(place / paper, lambda body: body.update(party_bits=0.3))
    assert_found(verified(place, paper), "is forged")
    doctor(place / paper, lambda body: body.update(seal=None))
    assert_found(verified(place, paper), "rolled back", "carries no seal")


def test_after_closing_seals_are_still_made_and_checked(place: Path) -> None:
    with Study.open(place / "clinic") as study:
        study.destroy_key()
        study.receipt(10).write(place / "late.json")
    for paper in (*PAPERS, "late.json"):
        assert verified(place, paper).notes == ()
    roll_back(place)  # the end of the study is forgotten, too
    assert_found(verified(place, "late.json"), "genuine")


def test_a_study_without_its_key_gives_receipts_without_a_seal(place: Path) -> None:
    (place / "clinic" / "key").unlink()
    with Study.open(place / "clinic") as study:
        assert study.receipt(RELEASE).seal is None
    (place / "clinic" / "key").write_bytes(b"damaged")
    (place / "clinic" / "key").chmod(0o600)
    with Study.open(place / "clinic") as study, pytest.raises(KeyFileError):
        study.receipt(RELEASE)


def test_a_receipt_from_before_the_delivery_is_still_good(tmp_path: Path) -> None:
    class Interrupted(Exception):
        """Somebody pressed Ctrl-C."""

    def interrupt(done: int, total: int) -> None:
        raise Interrupted

    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.3)
        with pytest.raises(Interrupted):
            study.release(
                "lab-a", "age", out=tmp_path / "a.csv", progress=interrupt, accept=["disclosure"]
            )
        study.receipt(3).write(tmp_path / "early.json")
        study.release("lab-a", "age", out=tmp_path / "a.csv", accept=["disclosure"])
        found = study.verify(tmp_path / "early.json")
        assert found.is_whole
        assert any("before release 3 was delivered" in note for note in in_words(found.notes))


# -- papers that are none -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["release.json", "certificate.json"])
def test_no_hostile_value_ends_in_a_raw_error(place: Path, paper: str, check: Check) -> None:
    content = json.loads((place / paper).read_text())
    for name, value in product(content, HOSTILE[::4]):
        (place / paper).write_text(json.dumps(content | {name: value}))
        found, said = checked_or_refused(check, place / paper)
        assert "\n" not in said
        is_as_before = json.loads(json.dumps(value)) == content[name]
        assert said or is_as_before or (found and "no seal" in in_words(found.notes)[0])


@pytest.mark.parametrize("text", RAW, ids=range(len(RAW)))
def test_no_hostile_text_ends_in_a_raw_error(place: Path, check: Check, text: str) -> None:
    (place / "release.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    _, said = checked_or_refused(check, place / "release.json")
    assert "is no receipt" in said
    assert "\n" not in said


def checked_or_refused(check: Check, paper: Path) -> tuple[PaperCheck | None, str]:
    """What a check found, and its problems or the refusal in words."""
    try:
        found = check(paper)
    except TacitError as error:
        return None, str(error)
    return found, "".join(in_words(found.problems))
