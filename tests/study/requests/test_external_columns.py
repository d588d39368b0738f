"""External columns: predicted, never read; their counts are public, and small ones are listed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.study import Certificate, estimate_file
from tests.study.clinic import (
    cell_of,
    intents_of,
    make_clinic,
    read_patients,
    write_patients,
    write_rows,
)

SENTENCE = "outcome is predicted from the private attributes; nobody's own outcome is read"
REMARK = Remark("external_column", {"column": "outcome"})


def test_everything_about_an_external_column_says_that_it_is_predicted(tmp_path: Path) -> None:
    out = tmp_path / "lab.csv"
    with make_clinic(tmp_path, external=["outcome"]) as study:
        assert REMARK in study.remarks
        study.set_limit("lab", 0.9)
        assert study.quote("lab", "outcome", bits=0.3).remarks == (REMARK,)
        certificate = study.release("lab", "outcome", bits=0.3, out=out)
        assert certificate == Certificate.beside(out)
        receipt = study.receipt(certificate.entry)
        assert receipt.remarks == (REMARK,)
        assert SENTENCE.replace("'", "&#39;") in receipt.as_html()
        again = study.quote("lab", "outcome", bits=0.3)
        assert again.answered_by == receipt.entry
        assert again.remarks == (REMARK,)
        assert study.verify().is_whole
        assert study.quote("lab", "diagnosis", bits=0.1).remarks == ()
        other = study.release("lab", "diagnosis", bits=0.1, out=tmp_path / "other.csv")
        assert other.remarks == ()
    assert Certificate.beside(out).remarks == (REMARK,)
    assert REMARK in estimate_file(out).remarks


def test_the_sentence_is_true(tmp_path: Path) -> None:
    """Exchange the outcomes of two people of one cell: what is drawn from stays the same."""
    first, second = tmp_path / "first", tmp_path / "second"
    for place in (first, second):
        place.mkdir()
    rows = read_patients(write_patients(first / "patients.csv"))
    ill = next(row for row in rows if row[-1] == "ill")
    well = next(row for row in rows if row[-1] == "well" and cell_of(row) == cell_of(ill))
    exchanged = {ill: (*ill[:-1], "well"), well: (*well[:-1], "ill")}
    write_rows(second / "patients.csv", [exchanged.get(row, row) for row in rows])
    for place in (first, second):
        with make_clinic(place, external=["outcome"]) as study:
            study.set_limit("lab", 0.9)
            study.release("lab", "outcome", bits=0.3, out=place / "lab.csv")
    codes = [np.load(place / "clinic" / "snapshot" / "x.npy") for place in (first, second)]
    assert np.array_equal(*codes)
    channels = [intents_of(place / "clinic")[0].payload for place in (first, second)]
    assert channels[0] == channels[1]


def test_small_counts_of_an_external_column_are_listed_with_its_level(tmp_path: Path) -> None:
    with make_clinic(tmp_path, external=["outcome"]) as study:
        found = study.small_cells(6)
    counts = np.zeros((12, 2), dtype=int)
    for row in read_patients(tmp_path / "patients.csv"):
        counts[cell_of(row), ("ill", "well").index(row[-1])] += 1
    private = [cell for cell in found if cell.external is None]
    external = [cell for cell in found if cell.external is not None]
    assert sorted(cell.records for cell in private) == sorted(
        n for n in counts.sum(axis=1).tolist() if 0 < n < 6
    )
    assert [cell.records for cell in external] == sorted(
        n for n in counts.ravel().tolist() if 0 < n < 6
    )
    assert external
    assert {cell.external for cell in external} <= {("outcome", "ill"), ("outcome", "well")}
    assert found == [*private, *external]


def test_fewer_than_none_is_refused(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        assert study.small_cells(0) == []
        with pytest.raises(InvalidInputError, match="fewer than -5 records: give 0, for none"):
            study.small_cells(-5)
