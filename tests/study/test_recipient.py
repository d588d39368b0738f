"""Which files are analysable, and what recipients make of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.errors import InvalidInputError
from tacit.study import Certificate, Study, crosstab_files, estimate_file, read_column
from tests.study.clinic import (
    channel_of,
    classes_of,
    counts_of,
    intents_of,
    make_clinic,
    next_state_of,
    read_patients,
    read_release,
    releases_of,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases of a clinic with public ids, 1.csv to 5.csv."""
    folder = tmp_path_factory.mktemp("recipient")
    with make_clinic(folder, n_records=3_000, public_id=True) as study:
        for party in "abc":
            study.set_limit(party, 0.6)
        release(study, "a", "diagnosis", 0.3, folder / "1.csv")
        release(study, "b", "diagnosis", 0.3, folder / "2.csv")
        release(study, "c", "age", 0.2, folder / "3.csv")
        release(study, "c", "smoker", 0.2, folder / "4.csv")
        release(study, "a", "diagnosis", 0.1, folder / "5.csv")
        assert study.verify().problems == ()
        for number in (1, 2, 3):
            paper = folder / f"{number}.csv.certificate.json"
            assert study.verify(receipt=paper).problems == ()
    return folder


def release(study: Study, party: str, asked: str, bits: float, out: Path) -> None:
    study.release(party, asked, bits=bits, out=out)


def reached_rows(folder: Path, number: int) -> dict[int, list[np.ndarray]]:
    """Level of what release ``number`` asks -> its rows for every cell and history, by walking."""
    intents, classes = intents_of(folder), classes_of(folder)
    cells = np.flatnonzero(counts_of(folder))
    found: dict[int, list[np.ndarray]] = {}
    for x in cells:
        states = {0}
        for intent in intents:
            weights = channel_of(intent).weights[:, classes[intent.number][x]]
            if intent.number == number:
                level = intent.body["question"]["letter_of_cell"][x]
                found.setdefault(level, []).extend(weights[m] / 2**32 for m in states)
                break
            moves = next_state_of(intent)
            states = {int(moves[m, k]) for m in states for k in np.flatnonzero(weights[m])}
    return found


def test_certificates_say_what_is_analysable(place: Path) -> None:
    said = [Certificate.beside(place / f"{k}.csv").is_analysable for k in range(1, 6)]
    assert said == [True, True, False, False, False]


def test_a_copy_of_the_letters_is_analysable(place: Path) -> None:
    """Nothing is drawn: the letters are those of the first release, and so is what they tell."""
    assert read_release(place / "2.csv")[1] == read_release(place / "1.csv")[1]
    assert [entry.kind for entry in releases_of(place / "clinic")][:2] == ["intent", "copy"]
    one, two = (np.array(Certificate.beside(place / f"{k}.csv").p_rhat_given_r) for k in (1, 2))
    assert one == pytest.approx(two, abs=1e-12)


@pytest.mark.parametrize("name", ["1.csv", "3.csv", "4.csv", "5.csv"])
def test_the_range_is_that_of_all_histories(place: Path, name: str) -> None:
    certificate = Certificate.beside(place / name)
    rows = reached_rows(place / "clinic", certificate.entry)
    least, most = certificate.least_given_r, certificate.most_given_r
    if certificate.is_analysable:
        least = most = certificate.p_rhat_given_r
    for r in range(len(certificate.labels)):
        assert np.min(rows[r], axis=0) == pytest.approx(least[r], abs=1e-12)
        assert np.max(rows[r], axis=0) == pytest.approx(most[r], abs=1e-12)


def test_letters_that_stand_for_several_states_are_no_copy(tmp_path: Path) -> None:
    """With one state of memory the letters are forgotten: nothing is copied."""
    with make_clinic(tmp_path, n_records=500, memory=1) as study:
        for party in "ab":
            study.set_limit(party, 0.6)
            release(study, party, "diagnosis", 0.3, tmp_path / f"{party}.csv")
    assert Certificate.beside(tmp_path / "b.csv").is_analysable is True  # a draw of its own
    assert read_release(tmp_path / "a.csv")[1] != read_release(tmp_path / "b.csv")[1]


def test_an_external_column_is_not_analysable(tmp_path: Path) -> None:
    with make_clinic(tmp_path, n_records=500, external=["outcome"]) as study:
        study.set_limit("a", 0.3)
        release(study, "a", "outcome", 0.1, tmp_path / "a.csv")
    assert Certificate.beside(tmp_path / "a.csv").is_analysable is False


def write_own(place: Path, n: int = 3_000) -> Path:
    """What a recipient knows: an id and a region, which depends on the diagnosis."""
    path = place / "mine.csv"
    rows = [
        (id_, "north" if (diagnosis == "dementia") == (k % 4 > 0) else "south")
        for k, (id_, _, diagnosis, *_) in enumerate(read_patients(place / "patients.csv")[:n])
    ]
    path.write_text("".join(f"{a},{b}\n" for a, b in [("id", "region"), *rows, ("x", "north")]))
    return path


def test_shares_in_groups_of_own_rows(place: Path) -> None:
    mine = write_own(place)
    sure = {"own_id": "id", "confidence": 1 - 1e-9}  # the key is another one every time
    found = crosstab_files([place / "1.csv"], mine, ["region"], **sure)
    truth = {
        (region, level): 0 for region in ("north", "south") for level in ("asthma", "dementia")
    }
    regions = dict(line.split(",") for line in mine.read_text().splitlines()[1:-1])
    for id_, _, diagnosis, *_ in read_patients(place / "patients.csv"):
        truth[regions[id_], diagnosis] += 1
    for cell in found.cells:
        n = sum(count for (region, _), count in truth.items() if region == cell.group[0])
        assert cell.n == n
        assert cell.low <= truth[cell.group[0], cell.levels[0]] / n <= cell.high
        assert cell.high - cell.low < 0.5
    [ratio] = found.odds_ratios
    assert (ratio.level, ratio.where, ratio.compared_with) == ("dementia", "south", "north")
    assert ratio.high is not None
    assert ratio.low < 1 / 9 < ratio.high < 1
    assert [each.code for each in found.remarks] == ["rows_left_out"]


def test_a_file_that_is_not_analysable_has_true_bounds_only(place: Path) -> None:
    mine = write_own(place)
    for path in (place / "4.csv",):
        with pytest.raises(InvalidInputError, match=r"4.csv is not analysable: its answers depend"):
            crosstab_files([path], mine, ["region"], own_id="id")
        with pytest.raises(InvalidInputError, match=r"bounds: tacit.crosstab_files\(file, insist="):
            read_column(path)
    found = crosstab_files(
        [place / "4.csv"], mine, ["region"], own_id="id", confidence=1 - 1e-9, insist=True
    )
    smokers = {id_: smoker for id_, _, _, smoker, _ in read_patients(place / "patients.csv")}
    regions = dict(line.split(",") for line in mine.read_text().splitlines()[1:-1])
    for cell in found.cells:
        group = [smokers[id_] for id_, region in regions.items() if region == cell.group[0]]
        level = {"false": "no", "true": "yes"}[cell.levels[0]]
        assert cell.share is None
        assert cell.low <= group.count(level) / len(group) <= cell.high
    assert found.odds_ratios == ()
    assert found.remarks[0].code == "not_analysable"


def test_bounds_that_say_nothing_are_said_to(place: Path) -> None:
    mine = place / "some.csv"
    mine.write_text("record,k\np000000,a\np000001,b\n")
    found = crosstab_files(place / "4.csv", mine, "k", insist=True)
    assert [(cell.low, cell.high) for cell in found.cells] == [(0, 1)] * 4
    assert {each.code: each.values for each in found.remarks}["wide_bounds"] == {
        "bounds": 4,
        "of": 4,
    }


def test_few_rows_and_shares_outside_are_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.study.recipient.count_letters", lambda *_, **__: np.array([70, 0]))
    found = estimate_file(place / "1.csv")
    one, other = found.levels
    assert one.share + other.share == pytest.approx(1, abs=1e-9)
    assert (one.share > 1 == one.high, other.share < 0 == other.low) == (True, True)
    said = {each.code: each.values for each in found.remarks}
    assert said["few_rows"] == {"rows": 70}
    assert said["outside_shares"] == {"shares": 2}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_an_own_table_may_be_a_frame(place: Path, make) -> None:
    with write_own(place).open() as file:
        rows = [line.strip().split(",") for line in file]
    frame = make({"id": [id_ for id_, _ in rows[1:]], "region": [region for _, region in rows[1:]]})
    found = crosstab_files(place / "1.csv", frame, "region", own_id="id")
    assert found == crosstab_files([place / "1.csv"], place / "mine.csv", ["region"], own_id="id")
    with pytest.raises(InvalidInputError, match="own has no column city, only id, region"):
        crosstab_files(place / "1.csv", frame, "city", own_id="id")


def test_several_files_are_insisted_on_in_vain(place: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"4.csv is not analysable"):
        crosstab_files([place / "1.csv", place / "4.csv"], insist=True)
    with pytest.raises(InvalidInputError, match="there is no release file: give at least one"):
        crosstab_files([])
    with pytest.raises(InvalidInputError, match="own is a int: give a mapping of names to columns"):
        crosstab_files(place / "1.csv", 3)
    with pytest.raises(InvalidInputError, match="two files answer diagnosis"):
        crosstab_files([place / "1.csv", place / "2.csv"])


def test_own_tables_that_do_not_fit(place: Path, tmp_path: Path) -> None:
    file, mine = place / "1.csv", tmp_path / "mine.csv"
    with pytest.raises(InvalidInputError, match="there is no file"):
        crosstab_files([file], mine, ["region"])
    mine.write_text("record,region\nnobody,north\n")
    with pytest.raises(InvalidInputError, match="no record is in all of the files"):
        crosstab_files([file], mine, ["region"])
    with pytest.raises(InvalidInputError, match="has no column city, only record, region"):
        crosstab_files([file], mine, ["city"])
    with pytest.raises(InvalidInputError, match="there is no table with region"):
        crosstab_files([file], None, ["region"])
    twice = crosstab_files(file, write_own(place), ["region", "region"], own_id="id")
    assert twice.cells == crosstab_files(file, write_own(place), "region", own_id="id").cells
    with pytest.raises(InvalidInputError, match="id has another value in each of 3,000 rows"):
        crosstab_files(file, write_own(place), "id", own_id="id")
    mine.write_text("record,region\np000000,north\np000000,south\n")
    with pytest.raises(InvalidInputError, match="holds an id twice"):
        crosstab_files([file], mine, ["region"])
    mine.write_text('record,region\n"p000000,north\n')
    with pytest.raises(InvalidInputError, match="cannot be read as a table"):
        crosstab_files([file], mine, ["region"])


def test_a_column_is_read_with_its_ids(place: Path) -> None:
    column = read_column(place / "1.csv")
    rows = read_release(place / "1.csv")[1]
    assert column.levels == ("asthma", "dementia")
    assert column.records.tolist() == [id_ for id_, _ in rows]
    assert [column.levels[letter] for letter in column.letters] == [said for _, said in rows]


def test_a_range_goes_with_what_is_said(place: Path) -> None:
    stored = json.loads((place / "3.csv.certificate.json").read_text())
    assert Certificate.model_validate(stored).is_analysable is False
    for change in (
        {"is_analysable": True},
        {"is_analysable": None},
        {"least_given_r": None},
        {"most_given_r": [[1.0]]},
    ):
        with pytest.raises(ValueError, match=r"go with is_analysable|another shape|valid boolean"):
            Certificate.model_validate(stored | change)


def test_a_table_that_was_changed_is_another_one(place: Path, tmp_path: Path) -> None:
    copy = tmp_path / "1.csv"
    copy.write_text((place / "1.csv").read_text().replace("asthma", "dementia", 1))
    certificate = (place / "1.csv.certificate.json").read_text()
    (tmp_path / "1.csv.certificate.json").write_text(certificate)
    with pytest.raises(InvalidInputError, match="is not the file that the certificate was made"):
        read_column(copy)
