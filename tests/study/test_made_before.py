"""Studies made by 0.1 and 0.2 still open, verify, and deliver the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet

from tacit.remark import Remark
from tacit.study import Study, estimate_file, verify_study
from tests.study.clinic import channel_of, intents_of
from tests.study.made_before import unpack_0_1, unpack_0_2, unpack_papers_3


def assert_same_parquet(made_now: Path, made_before: Path) -> None:
    """The same bytes if the same version of pyarrow wrote both; in any case the same table.

    pyarrow writes its version into the file, and versions choose encodings differently.
    """
    with parquet.ParquetFile(made_now) as now, parquet.ParquetFile(made_before) as before:
        assert now.read().equals(before.read(), check_metadata=True)
        assert now.metadata.row_group(0).sorting_columns == (
            before.metadata.row_group(0).sorting_columns
        )
        is_same_writer = now.metadata.created_by == before.metadata.created_by
    if is_same_writer:
        assert made_now.read_bytes() == made_before.read_bytes()


@pytest.mark.parametrize("name", ["clinic", "closed"])
def test_a_study_of_0_1_verifies(tmp_path: Path, name: str) -> None:
    made = unpack_0_1(tmp_path)
    found = verify_study(made / name, made / "receipt.html")
    assert found.problems == ()
    assert found.releases == 5


@pytest.mark.parametrize("paper", ["receipt.json", "limits.json", "lab-a-2.csv.certificate.json"])
def test_papers_of_0_1_are_still_good(tmp_path: Path, paper: str) -> None:
    made = unpack_0_1(tmp_path)
    assert verify_study(made / "clinic", made / paper).problems == ()


def test_a_release_of_0_1_is_delivered_again_as_the_same_bytes(tmp_path: Path) -> None:
    made = unpack_0_1(tmp_path)
    with Study.open(made / "clinic") as study:
        study.release("lab-a", "diagnosis", bits=0.2, out=tmp_path / "again.csv")
        study.release("lab-b", sql="smoker and age > 65", bits=0.15, out=tmp_path / "b.parquet")
    assert (tmp_path / "again.csv").read_bytes() == (made / "lab-a-3.csv").read_bytes()
    assert_same_parquet(tmp_path / "b.parquet", made / "lab-b-1.parquet")


def test_a_study_of_0_1_goes_on(tmp_path: Path) -> None:
    made = unpack_0_1(tmp_path)
    with Study.open(made / "clinic") as study:
        before, out = study.status(), tmp_path / "new.csv"
        study.release("registry", "smoker", bits=0.1, out=out)
        assert study.status().releases == before.releases + 1
        assert study.verify().problems == ()


@pytest.mark.parametrize("name", ["clinic", "closed"])
def test_a_study_of_0_2_verifies(tmp_path: Path, name: str) -> None:
    made = unpack_0_2(tmp_path)
    found = verify_study(made / name, made / "receipt.html" if name == "clinic" else None)
    assert found.problems == ()
    assert found.releases == 7


def test_a_release_of_0_2_is_delivered_again_as_the_same_bytes(tmp_path: Path) -> None:
    made = unpack_0_2(tmp_path)
    with Study.open(made / "clinic") as study:
        study.release("lab-a", "age", utility="absolute", bits=0.1, out=tmp_path / "1.csv")
        study.release("lab-a", "diagnosis", bits=0.12, out=tmp_path / "7.csv")
    for name in ("1.csv", "7.csv"):
        assert (tmp_path / name).read_bytes() == (made / name).read_bytes()


def test_a_study_of_0_2_goes_on(tmp_path: Path) -> None:
    """Tables go on having a row for each cell: the old ones told all cells apart."""
    made = unpack_0_2(tmp_path)
    with Study.open(made / "clinic") as study:
        before = study.status()
        for party in ("lab-a", "lab-b"):
            study.release(party, "smoker", bits=0.03, out=tmp_path / f"{party}.csv")
        assert study.status().releases == before.releases + 2
        assert study.verify().problems == ()
    *_, last = intents_of(made / "clinic")
    assert last.body["merges"] is not None
    assert channel_of(last).weights.shape[1] == 12


PAPERS_3 = [f"receipt-{entry}.{kind}" for entry in (4, 6, 8) for kind in ("json", "html")]


@pytest.mark.parametrize("paper", [*PAPERS_3, "1.csv.certificate.json", "3.csv.certificate.json"])
def test_papers_whose_remarks_are_sentences_are_still_good(tmp_path: Path, paper: str) -> None:
    made = unpack_papers_3(tmp_path)
    found = verify_study(made / "clinic", made / paper)
    assert found.problems == ()
    assert not [note for note in found.notes if "paper" in note.values]


@pytest.mark.parametrize("paper", ["receipt-8.json", "receipt-8.html", "1.csv.certificate.json"])
def test_a_changed_sentence_in_an_old_paper_is_named(tmp_path: Path, paper: str) -> None:
    made = unpack_papers_3(tmp_path)
    path = made / paper
    path.write_text(path.read_text().replace("nobody's own outcome", "everybody's own outcome"))
    problems = verify_study(made / "clinic", path).problems
    [changed] = [each for each in problems if each.code == "paper_differs"]
    assert changed.values["field"] == "remarks[0]"
    assert "paper_seal_wrong" in [each.code for each in problems]


def test_an_old_certificate_still_says_its_sentences(tmp_path: Path) -> None:
    said = "outcome is predicted from the private attributes; nobody's own outcome is read"
    found = estimate_file(unpack_papers_3(tmp_path) / "1.csv")
    assert Remark("said_in_certificate", {"text": said}) in found.remarks
