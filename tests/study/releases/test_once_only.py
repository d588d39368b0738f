"""A request is answered once: the same bytes whenever and wherever it is asked again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from tacit.errors import DeliveryError, InvalidInputError
from tacit.ledger import Entry
from tacit.sampling import IntegerChannel, Sampler, StudyKey, uniforms
from tacit.study import Study
from tacit.study.books.books import draw_of, first_past
from tacit.study.books.records import IntentRecord
from tests.study.clinic import (
    N_CELLS,
    Row,
    cell_of,
    channel_of,
    classes_of,
    entries_of,
    files_in,
    intents_of,
    make_clinic,
    next_state_of,
    read_patients,
    read_release,
    write_patients,
    write_rows,
)

FALSE_ALARM = 1e-6
"""Keys are random, so a test of many draws may fail by chance: that often."""


class Interrupted(Exception):
    """Somebody pressed Ctrl-C."""


def interrupt(done: int, total: int) -> None:
    raise Interrupted


# -- asking again -----------------------------------------------------------------------------


def test_a_repeat_redelivers_the_same_bytes_at_no_cost(study: Study, tmp_path: Path) -> None:
    first = study.release("lab-a", "diagnosis", out=tmp_path / "a.parquet", bits=0.1)
    before = study.status()
    again = study.release("lab-a", "diagnosis", out=tmp_path / "b.parquet", bits=0.1)
    assert again == first
    assert study.status() == before
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert [entry.kind for entry in entries_of(tmp_path / "clinic")][-2:] == ["intent", "delivered"]


def test_a_repeat_after_everything_else_was_lost_or_moved_on(study: Study, tmp_path: Path) -> None:
    """Another process, no state files, later releases to others: still the same bytes."""
    outs = [tmp_path / f"{number}.csv" for number in range(4)]
    for number, party in enumerate(("lab-a", "lab-b", "registry", "lab-a")):
        study.release(party, "age", out=outs[number], bits=(number + 1) / 32)
    delivered = outs[2].read_bytes()
    shutil.rmtree(tmp_path / "clinic" / "states")
    with Study.open(tmp_path / "clinic") as opened:
        opened.release("registry", "age", out=tmp_path / "again.csv", bits=3 / 32)
    assert (tmp_path / "again.csv").read_bytes() == delivered


def test_requests_that_ask_for_the_same_are_one(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.4)
        first = study.release("lab-a", sql="age > 65", out=tmp_path / "a.csv", bits=0.1)
        same = study.release("lab-a", sql="NOT age <= 65", out=tmp_path / "b.csv", bits=0.1)
        by_name = study.release("lab-a", "smoker", out=tmp_path / "c.csv", bits=0.1)
        by_sql = study.release("lab-a", sql="smoker", out=tmp_path / "d.csv", bits=0.1)
    assert same == first
    assert by_sql == by_name
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    "other", [{"bits": 0.051}, {"utility": "absolute"}, {"asked": "smoker"}, {"party": "lab-b"}]
)
def test_another_party_question_measure_or_limit_is_another_request(
    tmp_path: Path, other: dict[str, object]
) -> None:
    asked = {"party": "lab-a", "asked": "age", "bits": 0.05, "utility": "hamming"}
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.4)
        study.set_limit("lab-b", 0.4)
        numbers = [
            study.release(**(asked | change), out=tmp_path / "a.csv", overwrite=True).entry  # type: ignore[arg-type]
            for change in ({}, other)
        ]
    assert numbers[0] != numbers[1]


def test_again_is_a_new_release_with_other_draws(study: Study, tmp_path: Path) -> None:
    first = study.release("lab-a", "diagnosis", out=tmp_path / "1.csv", bits=0.1)
    second = study.release("lab-a", "diagnosis", out=tmp_path / "2.csv", bits=0.1, again=True)
    assert second.entry > first.entry
    assert second.party_bits > first.party_bits
    (_, ones), (_, twos) = read_release(tmp_path / "1.csv"), read_release(tmp_path / "2.csv")
    assert [record for record, _ in ones] == [record for record, _ in twos]
    assert ones != twos
    latest = study.release("lab-a", "diagnosis", out=tmp_path / "3.csv", bits=0.1)
    assert latest == second
    assert (tmp_path / "3.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()


def test_again_takes_up_what_was_never_delivered(study: Study, tmp_path: Path) -> None:
    asked = {"out": tmp_path / "a.csv", "bits": 0.1, "again": True, "overwrite": True}
    study.release("lab-a", "diagnosis", **asked)  # type: ignore[arg-type]
    with pytest.raises(Interrupted):
        study.release("lab-a", "diagnosis", progress=interrupt, **asked)  # type: ignore[arg-type]
    [undelivered] = study.status().undelivered
    taken_up = study.release("lab-a", "diagnosis", **asked)  # type: ignore[arg-type]
    assert taken_up.entry == undelivered
    assert study.status().undelivered == ()
    assert len(intents_of(tmp_path / "clinic")) == 2


def test_a_repeat_takes_up_what_was_never_delivered(study: Study, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        study.release("lab-a", "age", out=tmp_path / "a.csv", progress=interrupt)
    assert not (tmp_path / "a.csv").exists()
    spent = study.status().parties
    receipt = study.release("lab-a", "age", out=tmp_path / "a.csv")
    assert study.status().parties == spent
    assert receipt.digest is not None
    assert [entry.kind for entry in entries_of(tmp_path / "clinic")][-2:] == ["intent", "delivered"]


# -- what is there already --------------------------------------------------------------------


def test_a_file_that_is_not_of_this_release_is_not_replaced(study: Study, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.csv", tmp_path / "other.csv"
    mine.write_text("record,rhat\n1,old\n")
    study.release("lab-a", "age", out=other, bits=0.1)
    files, entries = files_in(tmp_path), entries_of(tmp_path / "clinic")
    for out in (mine, other):
        with pytest.raises(InvalidInputError, match=rf"{out.name} exists and is not .* --force"):
            study.release("lab-a", "diagnosis", out=out, bits=0.1)
    with pytest.raises(InvalidInputError, match=r"other\.csv exists"):
        study.release("lab-a", "age", out=other, bits=0.1, again=True)
    assert (files_in(tmp_path), entries_of(tmp_path / "clinic")) == (files, entries)
    made = study.release("lab-a", "diagnosis", out=other, bits=0.1, overwrite=True)
    with pytest.raises(InvalidInputError, match=r"other\.csv exists"):
        study.release("lab-a", "age", out=other, bits=0.1)  # which was there before
    assert study.release("lab-a", "diagnosis", out=other, bits=0.1) == made


def test_the_own_file_is_written_again_wherever_it_lies(study: Study, tmp_path: Path) -> None:
    """Also one that was changed, moved, or written by a process that died before it said so."""
    first, copy, moved = (tmp_path / f"{name}.csv" for name in ("first", "copy", "moved"))
    for out in (first, copy):
        study.release("lab-a", "age", out=out, bits=0.1)
    content = first.read_bytes()
    shutil.copy(first, moved)
    for out in (first, copy, moved):
        if out != moved:
            out.write_text("damaged")
        study.release("lab-a", "age", out=out, bits=0.1)
        assert out.read_bytes() == content
    with pytest.raises(Interrupted):
        study.release("lab-a", "diagnosis", out=tmp_path / "d.csv", bits=0.1, progress=interrupt)
    with pytest.raises(InvalidInputError, match=r"first\.csv exists"):
        study.release("lab-a", "diagnosis", out=first, bits=0.1)
    certificate = tmp_path / "d.csv.certificate.json"
    certificate.mkdir()
    with pytest.raises(DeliveryError, match=certificate.name):
        study.release("lab-a", "diagnosis", out=tmp_path / "d.csv", bits=0.1)
    certificate.rmdir()
    assert study.status().undelivered
    study.release("lab-a", "diagnosis", out=tmp_path / "d.csv", bits=0.1)
    assert not study.status().undelivered


def test_a_file_in_the_place_of_a_later_cohorts_is_not_replaced(
    study: Study, tmp_path: Path
) -> None:
    study.extend(str(write_patients(tmp_path / "new.csv", 120, seed=1, first=200)))
    (tmp_path / "age.cohort-2.csv").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"age.cohort-2\.csv exists"):
        study.release("lab-a", "age", out=tmp_path / "age.csv", bits=0.1)
    assert intents_of(tmp_path / "clinic") == []
    study.release("lab-a", "age", out=tmp_path / "age.csv", bits=0.1, cohort=1)


# -- what a file says -------------------------------------------------------------------------


def test_parquet_and_csv_of_a_release_agree(study: Study, tmp_path: Path) -> None:
    for name in ("a.parquet", "a.csv"):
        study.release("lab-a", ("age", "smoker"), out=tmp_path / name)
    assert read_release(tmp_path / "a.parquet") == read_release(tmp_path / "a.csv")


def test_a_file_has_two_columns_and_is_sorted(study: Study, tmp_path: Path) -> None:
    study.release("lab-a", "outcome", out=tmp_path / "a.parquet")
    names, rows = read_release(tmp_path / "a.parquet")
    records = [record for record, _ in rows]
    assert names == ["record", "rhat"]
    assert len(set(records)) == len(read_patients(tmp_path / "patients.csv"))
    assert records == sorted(records)
    assert all(len(record) == 16 and int(record, 16) >= 0 for record in records)
    assert {rhat for _, rhat in rows} <= {"ill", "well"}


def test_pseudonyms_are_a_partys_own_and_stay(study: Study, tmp_path: Path) -> None:
    asked = [("lab-a", "age"), ("lab-a", "diagnosis"), ("lab-b", "age")]
    records = []
    for number, (party, question) in enumerate(asked):
        out = tmp_path / f"{number}.csv"
        study.release(party, question, out=out, bits=0.1)
        records.append([record for record, _ in read_release(out)[1]])
    assert records[0] == records[1]
    assert not set(records[0]) & set(records[2])


def test_public_ids_are_the_tables_own_and_sorted(tmp_path: Path, ledger: str) -> None:
    with make_clinic(tmp_path, ledger, public_id=True) as study:
        study.set_limit("lab-a", 0.4)
        study.release("lab-a", "age", out=tmp_path / "a.csv")
    ids = sorted(patient for patient, *_ in read_patients(tmp_path / "patients.csv"))
    assert [record for record, _ in read_release(tmp_path / "a.csv")[1]] == ids


@pytest.mark.parametrize("public_id", [False, True])
def test_nothing_of_the_sources_order_survives(tmp_path: Path, public_id: bool) -> None:
    """The same key and intent on a snapshot of the shuffled source gives the same bytes."""
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        place.mkdir()
    patients = read_patients(write_patients(here / "patients.csv"))
    write_rows(there / "patients.csv", patients[::-1])
    with make_clinic(here, public_id=public_id) as study:
        study.set_limit("lab-a", 0.4)
        study.release("lab-a", "age", out=here / "a.csv")
    with make_clinic(there, public_id=public_id):
        pass
    assert files_in(here / "clinic" / "snapshot") == files_in(there / "clinic" / "snapshot")
    shutil.copy(there / "patients.csv", here / "patients.csv")  # no change: a table has no order
    with Study.open(here / "clinic") as study:
        study.release("lab-a", "age", out=there / "a.csv")
    assert (here / "a.csv").read_bytes() == (there / "a.csv").read_bytes()


# -- the draws --------------------------------------------------------------------------------

N_DRAWS = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of many records with public ids, and three releases of it, 0.csv to 2.csv."""
    place = tmp_path_factory.mktemp("large")
    with make_clinic(place, n_records=N_DRAWS, public_id=True, external=["outcome"]) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.7)
        study.release("lab-a", "age", out=place / "0.csv", bits=0.3)
        study.release("lab-b", ("diagnosis", "smoker"), out=place / "1.csv", bits=0.4)
        study.release("lab-a", "outcome", out=place / "2.csv", bits=0.1)
    return place


def letters_in(file: Path, intent: Entry) -> NDArray[np.intp]:
    """The letter of each record, sorted by id."""
    letters = IntentRecord.of(intent).letters
    return np.array([letters.index(rhat) for _, rhat in read_release(file)[1]])


def cells_in(place: Path) -> NDArray[np.intp]:
    patients: list[Row] = sorted(read_patients(place / "patients.csv"))
    return np.array([cell_of(patient) for patient in patients])


def releases_in(place: Path) -> Iterator[tuple[Entry, NDArray[np.intp], NDArray[np.intp]]]:
    """Each release, with every record's state before it and the letter that it was given."""
    state = np.zeros(N_DRAWS, dtype=np.intp)
    for number, intent in enumerate(intents_of(place / "clinic")):
        letters = letters_in(place / f"{number}.csv", intent)
        yield intent, state, letters
        state = next_state_of(intent)[state, letters]


def test_the_letters_of_every_cell_follow_the_recorded_table(large: Path) -> None:
    x, classes = cells_in(large), classes_of(large / "clinic")
    p_values = []
    for intent, state, letters in releases_in(large):
        weights = channel_of(intent).weights[:, classes[intent.number]]
        assert (weights[state, x, letters] > 0).all()
        for m, cell in {*zip(state.tolist(), x.tolist(), strict=True)}:
            drawn = letters[(state == m) & (x == cell)]
            p_values.append(p_value(drawn, weights[m, cell] / 2**32))
    assert len(p_values) > 3 * N_CELLS
    assert min(p_values) > FALSE_ALARM / len(p_values)


def p_value(drawn: NDArray[np.intp], law: NDArray[np.float64]) -> float:
    """Of Pearson's test; letters that hardly occur count together."""
    observed = np.bincount(drawn, minlength=len(law)).astype(float)
    expected = law * len(drawn)
    is_rare = expected < 5
    observed = np.append(observed[~is_rare], observed[is_rare].sum())
    expected = np.append(expected[~is_rare], expected[is_rare].sum())
    if expected[-1] < 5:  # too few to tell
        observed, expected = observed[:-1], expected[:-1]
    if len(expected) < 2:
        return 1.0
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, len(expected) - 1))


def test_the_helper_notices_a_wrong_law() -> None:
    drawn = np.repeat([0, 1, 2], [500, 300, 200])
    assert p_value(drawn, np.array([0.5, 0.3, 0.2])) > 0.9
    assert p_value(drawn, np.array([0.4, 0.4, 0.2])) < FALSE_ALARM


def draws_in(place: Path) -> list[str]:
    """Names of the numbers behind each release, computed as docs/reference/ledger.md says."""
    first, *entries = entries_of(place / "clinic")
    past, draws = hashed(b"tacit past 1", first.study.encode()), []
    classes = classes_of(place / "clinic")
    for intent in (entry for entry in entries if entry.kind == "intent"):
        rows = channel_of(intent).weights.transpose(1, 0, 2)[classes[intent.number]]
        different = list(dict.fromkeys(row.tobytes() for row in rows))
        row_of_x = [different.index(row.tobytes()) for row in rows]
        first_x = [row_of_x.index(k) for k in range(len(different))]
        parts = (content_of(rows[first_x]), content_of(np.array(row_of_x)))
        draws.append(hashed(b"tacit draw 2", past.encode(), *parts))
        states = content_of(next_state_of(intent))
        past = hashed(b"tacit next 1", past.encode(), draws[-1].encode(), states)
    return draws


def content_of(table: NDArray[np.integer]) -> bytes:
    return repr(table.shape).encode() + b":" + table.astype("<i8").tobytes()


def hashed(*parts: bytes) -> str:
    return sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()


def test_tables_that_treat_every_cell_alike_have_one_draw() -> None:
    """Else a finer question would draw the same answers a second time, independently."""
    rows = np.array([[[0.25, 0.75], [0.5, 0.5]]])
    coarse, class_of_x = IntegerChannel.quantised(rows), np.array([0, 1, 1, 0])
    fine, finer = IntegerChannel.quantised(rows[:, [1, 0, 1]]), np.array([1, 2, 0, 1])
    past = first_past("clinic")
    draw = draw_of(past, coarse, class_of_x)
    assert draw == draw_of(past, fine, finer)
    assert draw != draw_of(past, coarse, np.array([0, 1, 0, 0]))
    assert draw != draw_of(past, fine, class_of_x)
    assert draw != draw_of(past, IntegerChannel(coarse.weights[:, ::-1]), class_of_x)


def test_a_record_gets_the_letter_that_the_design_says(large: Path) -> None:
    """AES under the study's key of the tables so far and the record's index, and nothing else."""
    key = StudyKey.load(large / "clinic" / "key")
    x, classes = cells_in(large).astype(np.uint8), classes_of(large / "clinic")
    for (intent, state, letters), draw in zip(releases_in(large), draws_in(large), strict=True):
        words = uniforms(key.derive("draw", draw), 0, N_DRAWS)
        sampler = Sampler(channel_of(intent), classes[intent.number], next_state_of(intent))
        drawn, _ = sampler.draw(x, state.astype(np.uint8), words)
        assert (drawn == letters).all()


def test_copies_draw_the_same_for_the_same_table_and_nothing_alike_for_another(
    large: Path, tmp_path: Path
) -> None:
    """Copies go their own ways under one key. At other times, the same request is the same draw."""
    asked = [("lab-b", "smoker"), ("lab-b", "smoker"), ("lab-a", "smoker"), ("lab-b", "diagnosis")]
    copies = [tmp_path / name for name in ("here", "there", "elsewhere", "nowhere")]
    for copy, (party, question) in zip(copies, asked, strict=True):
        shutil.copytree(large / "clinic", copy)
        with Study.open(copy) as study:
            study.set_limit(party, 0.8)  # another entry, at another time
            study.release(party, question, out=copy.with_suffix(".csv"), bits=0.1)
    here, there, _, nowhere = (intents_of(copy)[-1] for copy in copies)
    assert here.hash != there.hash
    assert copies[0].with_suffix(".csv").read_bytes() == copies[1].with_suffix(".csv").read_bytes()
    letters = [
        letters_in(copy.with_suffix(".csv"), intent)
        for copy, intent in zip((copies[0], copies[3]), (here, nowhere), strict=True)
    ]
    words = [
        uniforms(StudyKey.load(copy / "key").derive("draw", str(intent.body["draw"])), 0, N_DRAWS)
        for copy, intent in zip((copies[0], copies[3]), (here, nowhere), strict=True)
    ]
    assert len(letters[0]) == len(letters[1]) == N_DRAWS
    assert_independent(words)


def test_numbers_of_different_releases_are_independent(large: Path) -> None:
    key = StudyKey.load(large / "clinic" / "key")
    assert_independent([uniforms(key.derive("draw", draw), 0, N_DRAWS) for draw in draws_in(large)])


def assert_independent(words: list[NDArray[np.uint32]]) -> None:
    pairs = list(combinations(words, 2))
    expected = N_DRAWS / 64
    for one, other in pairs:
        table, _, _ = np.histogram2d(one, other, bins=8, range=[[0, 2**32]] * 2)
        statistic = float(((table - expected) ** 2 / expected).sum())
        assert statistic < chi2.isf(FALSE_ALARM / len(pairs), 63)


def test_the_helper_notices_numbers_that_are_not() -> None:
    same = np.random.default_rng(0).integers(0, 2**32, N_DRAWS, dtype=np.uint32)
    with pytest.raises(AssertionError):
        assert_independent([same, same])
