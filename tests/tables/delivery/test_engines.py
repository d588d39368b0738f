"""What every engine must do. A new engine is added to ``ENGINES`` here and runs all of it."""

from __future__ import annotations

import hmac
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.errors import DeliveryError, InvalidInputError
from tacit.sampling import IntegerChannel, StudyKey, pseudonyms, uniforms
from tacit.study import Study
from tacit.tables import Column, Declaration
from tacit.tables.delivery.engine import Engine, MissingStatesError, Records, StateStore
from tacit.tables.delivery.local import LocalEngine
from tacit.tables.delivery.registry import ENGINES
from tacit.tables.delivery.release_file import Alphabet, RecordedRelease
from tacit.tables.delivery.release_reader import digest_of
from tacit.tables.encoding.cohort import Admission
from tests.study.clinic import (
    N_CELLS,
    PRIVATE,
    cell_of,
    read_patients,
    read_release,
    write_patients,
)
from tests.tables.delivery.toy import ToyEngine

KEY = StudyKey(b"k" * 32)
LABELS = ("none", "mild, or so", 'he said "severe"')
N_RECORDS, N_STATES = 200, 4
N_CLASSES = 5
CLASS_OF_X = np.arange(N_CELLS) * 7 % N_CLASSES


@dataclass(frozen=True)
class Clinic:
    """A table that an engine has counted, and two releases about it."""

    engine: Engine[Any]
    table: Path
    records: Records
    states: StateStore
    first: RecordedRelease
    second: RecordedRelease


def recorded(name: str, n_states: int, *, is_id_public: bool = False) -> RecordedRelease:
    """A random release from ``n_states`` states to ``N_STATES``."""
    rng = np.random.default_rng(len(name) + n_states)
    law = rng.dirichlet(np.ones(len(LABELS)), size=(n_states, N_CLASSES))
    next_state = rng.integers(0, N_STATES, size=(n_states, len(LABELS)))
    next_state[0, 0] = N_STATES - 1
    return RecordedRelease(
        name,
        IntegerChannel.quantised(law),
        CLASS_OF_X,
        next_state,
        KEY.derive("release", name),
        KEY.derive("digest", name),
        Alphabet(LABELS),
        None if is_id_public else partial(KEY.derive, "pseudonym", "lab-a"),
    )


def count(engine: Engine[Any], place: Path) -> Clinic:
    table = write_patients(place / "patients.csv", N_RECORDS)
    columns = Declaration(["patient"], list(map(Column.of, PRIVATE)), [Column("outcome")])
    records = engine.count(str(table), columns, place / "records")
    states = StateStore(place / "states", b"s" * 32)
    return Clinic(
        engine, table, records, states, recorded("1-first", 1), recorded("2-second", N_STATES)
    )


@pytest.fixture(
    scope="module", params=["local", "toy", pytest.param("spark", marks=pytest.mark.slow)]
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine[Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENGINES, "toy", ToyEngine())
        if request.param == "spark":
            request.getfixturevalue("spark")
        yield ENGINES[request.param]


@pytest.fixture(scope="module")
def counted(engine: Engine[Any], tmp_path_factory: pytest.TempPathFactory) -> Clinic:
    """As the engine has just counted it: tests leave it as it is."""
    return count(engine, tmp_path_factory.mktemp("counted"))


def copied(clinic: Clinic, place: Path) -> Clinic:
    """A copy that a test may change, opened again."""
    copytree(clinic.table.parent, place, dirs_exist_ok=True)
    return replace(
        clinic,
        table=place / clinic.table.name,
        records=clinic.engine.open(place / "records"),
        states=StateStore(place / "states", b"s" * 32),
    )


@pytest.fixture
def clinic(counted: Clinic, tmp_path: Path) -> Clinic:
    """A copy in which nothing is released."""
    return copied(counted, tmp_path)


@dataclass(frozen=True)
class Delivered:
    """A clinic after its first and its second release, ``both.parquet``; and their digests."""

    clinic: Clinic
    first: str
    second: str


@pytest.fixture(scope="module")
def both(counted: Clinic, tmp_path_factory: pytest.TempPathFactory) -> Delivered:
    place = tmp_path_factory.mktemp("both")
    clinic = copied(counted, place)
    return Delivered(clinic, *deliver_both(clinic, place / "both.parquet"))


@pytest.fixture
def delivered(both: Delivered, tmp_path: Path) -> Delivered:
    """A copy in which both are delivered."""
    return replace(both, clinic=copied(both.clinic, tmp_path))


def join(clinic: Clinic, place: Path, *, skip_known: bool) -> Records:
    """A cohort of 60 patients of whom 20 are known."""
    table = write_patients(place / "later.csv", 60, seed=1, first=N_RECORDS - 20)
    return clinic.engine.count_cohort(
        str(table),
        [clinic.records],
        place / "cohort",
        Admission(skip_known, False, frozenset(), ID_KEY),
        remark=lambda remark: None,
    )


def test_who_joins_is_the_same_in_all_engines(clinic: Clinic, tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    reference = join(count(LocalEngine(), tmp_path / "reference"), tmp_path, skip_known=True)
    (tmp_path / "joined").mkdir()
    joined = join(clinic, tmp_path / "joined", skip_known=True)
    assert joined.n_records == int(joined.counts.sum()) == 40
    assert joined.digest(b"k") == reference.digest(b"k")
    assert clinic.engine.open(tmp_path / "joined" / "cohort").digest(b"k") == joined.digest(b"k")
    states = StateStore(tmp_path / "joined" / "states", b"s" * 32)
    file = tmp_path / "joined" / "a.csv"
    digest = clinic.engine.deliver(joined, states, None, clinic.first, file)
    other = StateStore(tmp_path / "other", b"s" * 32)
    assert digest == LocalEngine().deliver(reference, other, None, clinic.first, tmp_path / "b.csv")
    assert file.read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_who_is_known_does_not_join(clinic: Clinic, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="in the study already"):
        join(clinic, tmp_path, skip_known=False)
    assert not (tmp_path / "cohort").exists()


def cells(clinic: Clinic) -> list[int]:
    """The cell of each record in the order of ids, from the table itself."""
    return [cell_of(patient) for patient in sorted(read_patients(clinic.table))]


def drawn(clinic: Clinic, states: list[int], release: RecordedRelease) -> tuple[list[int], ...]:
    """Letters and next states, record by record."""
    letters, after = [], []
    words = uniforms(release.draw_key, 0, N_RECORDS).tolist()
    for x, m, word in zip(cells(clinic), states, words, strict=True):
        letters.append(
            bisect_right(list(accumulate(release.channel.weights[m, CLASS_OF_X[x]].tolist())), word)
        )
        after.append(int(release.next_state[m, letters[-1]]))
    return letters, after


def rows(clinic: Clinic, *, is_id_public: bool = False) -> list[tuple[str, str]]:
    """What the file of the second release must say."""
    _, states = drawn(clinic, [0] * N_RECORDS, clinic.first)
    letters, _ = drawn(clinic, states, clinic.second)
    words = pseudonyms(KEY.derive("pseudonym", "lab-a", 0), 0, N_RECORDS).tolist()
    names = (
        sorted(patient[0] for patient in read_patients(clinic.table))
        if is_id_public
        else [f"{word:016x}" for word in words]
    )
    labels = [LABELS[letter] for letter in letters]
    return sorted(zip(names, labels, strict=True))


def deliver_both(clinic: Clinic, target: Path) -> tuple[str, str]:
    """Write the first file, and the second in its place; their digests."""
    engine, place = clinic.engine, (clinic.records, clinic.states)
    first = engine.deliver(*place, None, clinic.first, target)
    return first, engine.deliver(*place, clinic.first, clinic.second, target)


def damage(folder: Path) -> None:
    for path in filter(Path.is_file, folder.rglob("*")):
        content = path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(content[:middle] + b"#" + content[middle + 1 :])


def test_records_are_counted_by_cell(counted: Clinic) -> None:
    assert counted.records.n_records == N_RECORDS
    assert counted.records.counts.tolist() == np.bincount(cells(counted), minlength=12).tolist()
    by_outcome = counted.records.external_counts("outcome")
    assert by_outcome.shape == (12, 2)
    assert by_outcome.sum(axis=1).tolist() == counted.records.counts.tolist()


def test_all_engines_say_the_same_of_the_same_records(counted: Clinic, tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    reference = count(LocalEngine(), tmp_path / "reference").records
    found = counted.records
    assert found.encoding == reference.encoding
    assert found.digest(b"key") == reference.digest(b"key")
    assert found.sketch(b"salt", 20) == reference.sketch(b"salt", 20)


def test_records_open_again_and_changes_in_them_are_noticed(clinic: Clinic, tmp_path: Path) -> None:
    records = clinic.records
    digest, seal = records.digest(b"key"), records.seal(b"key")
    again = clinic.engine.open(tmp_path / "records")
    again.check(b"key", digest)
    again.check_seal(b"key", seal)
    with pytest.raises(InvalidInputError):
        again.check(b"another key", digest)
    with pytest.raises(InvalidInputError):
        again.check_seal(b"another key", seal)
    damage(tmp_path / "records")
    with pytest.raises(InvalidInputError):
        again.check_seal(b"key", seal)


@pytest.mark.parametrize("name", ["both.parquet", "both.csv"])
def test_a_file_says_what_is_drawn_record_by_record(
    delivered: Delivered, name: str, tmp_path: Path
) -> None:
    clinic, digest = delivered.clinic, delivered.second
    if name == "both.csv":
        place = (clinic.records, clinic.states)
        clinic.engine.forget(clinic.states, [clinic.second.name])
        digest = clinic.engine.deliver(*place, clinic.first, clinic.second, tmp_path / name)
    assert read_release(tmp_path / name)[1] == rows(clinic)
    assert digest == digest_of(tmp_path / name, clinic.second.digest_key)


def test_all_engines_deliver_the_same_content(delivered: Delivered, tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    reference = count(LocalEngine(), tmp_path / "reference")
    expected = deliver_both(reference, tmp_path / "reference.parquet")
    assert (delivered.first, delivered.second) == expected
    assert read_release(tmp_path / "both.parquet") == read_release(tmp_path / "reference.parquet")


def test_records_may_be_called_by_their_own_ids(delivered: Delivered, tmp_path: Path) -> None:
    clinic = delivered.clinic
    public = recorded(clinic.second.name, N_STATES, is_id_public=True)
    clinic.engine.forget(clinic.states, [public.name])
    clinic.engine.deliver(clinic.records, clinic.states, clinic.first, public, tmp_path / "a.csv")
    assert read_release(tmp_path / "a.csv")[1] == rows(clinic, is_id_public=True)


def test_states_are_kept_remembered_and_forgotten(delivered: Delivered, tmp_path: Path) -> None:
    clinic = delivered.clinic
    engine, place = clinic.engine, (clinic.records, clinic.states)
    names = [clinic.first.name, clinic.second.name]
    assert engine.remembered(clinic.states.folder) == names
    assert engine.keeps(*place, clinic.first)
    engine.forget(clinic.states, names)
    engine.forget(clinic.states, names)  # there is nothing left to forget
    assert engine.remembered(clinic.states.folder) == []
    assert not engine.keeps(*place, clinic.first)
    with pytest.raises(MissingStatesError):
        engine.deliver(*place, clinic.first, clinic.second, tmp_path / "a.csv")
    with pytest.raises(MissingStatesError):
        engine.remember(*place, clinic.first, clinic.second)
    engine.remember(*place, None, clinic.first)
    again = engine.deliver(*place, clinic.first, clinic.second, tmp_path / "a.csv")
    assert again == delivered.second


def test_states_that_were_not_written_under_the_key_are_not_believed(delivered: Delivered) -> None:
    clinic = delivered.clinic
    other = StateStore(clinic.states.folder, b"t" * 32)
    assert not clinic.engine.keeps(clinic.records, other, clinic.first)
    damage(clinic.states.folder)
    assert not clinic.engine.keeps(clinic.records, clinic.states, clinic.first)


def test_other_content_than_before_is_not_written(clinic: Clinic, tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("what was there")
    place = (clinic.records, clinic.states)
    with pytest.raises(DeliveryError, match="comes out differently"):
        clinic.engine.deliver(*place, None, clinic.first, target, expected="another digest")
    assert target.read_text() == "what was there"


def test_progress_ends_with_all_steps(clinic: Clinic, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    clinic.engine.deliver(
        clinic.records,
        clinic.states,
        None,
        clinic.first,
        tmp_path / "a.csv",
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (2 * N_RECORDS, 2 * N_RECORDS)


def test_redrawing_gives_the_digests_and_finds_wrong_states(delivered: Delivered) -> None:
    clinic, first, second = delivered.clinic, delivered.first, delivered.second
    engine, place = clinic.engine, (clinic.records, clinic.states)
    releases = [clinic.first, clinic.second]
    assert list(engine.redraw(*place, releases)) == [(first, True), (second, True)]
    damage(clinic.states.folder)
    assert list(engine.redraw(*place, releases)) == [(first, False), (second, False)]
    engine.forget(clinic.states, [clinic.second.name])
    assert list(engine.redraw(*place, releases)) == [(first, False), (second, True)]


def test_a_copy_is_redrawn_beside_what_it_is_a_copy_of(delivered: Delivered) -> None:
    """The same letters under other names; states stay those before it."""
    clinic, digest = delivered.clinic, delivered.first
    first, second = clinic.first, clinic.second
    copy = replace(first, digest_key=b"c" * 32, pseudonym_key=lambda _: b"n" * 32, is_copy=True)
    same = replace(first, is_copy=True)
    redrawn = clinic.engine.redraw(clinic.records, clinic.states, [same, copy, first, second])
    [again, (other, _), *drawn] = redrawn
    assert again == (digest, True)
    assert other != digest
    assert drawn == [(digest, True), (delivered.second, True)]


# -- erasure ----------------------------------------------------------------------------------


ID_KEY = b"i" * 32


def id_hash(patient: str, key: bytes = ID_KEY) -> str:
    """As the protocol says it: HMAC-SHA-256 of the typed id, shortened."""
    return hmac.new(key, f"t{len(patient)}:{patient}".encode(), "sha256").hexdigest()[:32]


def erased(clinic: Clinic, patients: Sequence[str]) -> Clinic:
    """The clinic after some patients are erased, opened again."""
    hashes = list(map(id_hash, patients))
    clinic.engine.erase(clinic.records, clinic.states, ID_KEY, hashes)
    return replace(clinic, records=clinic.engine.open(clinic.table.parent / "records"))


def test_ids_are_known_by_their_keyed_hashes(clinic: Clinic) -> None:
    there, other = id_hash("p000007"), id_hash("p999999")
    assert clinic.engine.known(clinic.records, ID_KEY, [there, other]) == {there}
    assert clinic.engine.known(clinic.records, b"j" * 32, [there, other]) == set()


@given(indices=st.sets(st.integers(0, N_RECORDS - 1), max_size=N_RECORDS - 1))
@example(indices=set(range(N_RECORDS - 1)))
@settings(max_examples=4, deadline=None)
@pytest.mark.parametrize("name", ["local", "toy"])
def test_the_others_keep_their_answers_whoever_is_erased(name: str, indices: set[int]) -> None:
    engine: Engine[Any] = {"local": LocalEngine(), "toy": ToyEngine()}[name]
    gone = {f"p{k:06d}" for k in indices}
    for is_id_public in (False, True):
        with TemporaryDirectory() as place:
            before = count(engine, Path(place))
            second = recorded(before.second.name, N_STATES, is_id_public=is_id_public)
            clinic = replace(before, second=second)
            file = Path(place) / "a.csv"
            deliver_both(clinic, file)
            expected = rows(clinic, is_id_public=is_id_public)
            words = pseudonyms(KEY.derive("pseudonym", "lab-a", 0), 0, N_RECORDS).tolist()
            names = {f"{words[k]:016x}" for k in indices} | gone
            after = erased(clinic, sorted(gone))
            _, digest = deliver_both(after, file)
            assert read_release(file)[1] == [row for row in expected if row[0] not in names]
            place_now = (after.records, after.states)
            assert list(engine.redraw(*place_now, [clinic.first, second]))[1] == (digest, True)


def test_nothing_of_an_erased_record_is_left(delivered: Delivered) -> None:
    clinic = delivered.clinic
    counts = clinic.records.counts.tolist()
    by_outcome = clinic.records.external_counts("outcome").tolist()
    assert clinic.records.n_erased == 0
    after = erased(clinic, ["p000007", "p000100"]).records
    assert (after.n_erased, after.n_records) == (2, N_RECORDS)
    assert after.counts.tolist() == counts
    assert after.external_counts("outcome").tolist() == by_outcome
    assert len(after.sketch(b"salt", N_RECORDS)) == N_RECORDS - 2
    assert clinic.engine.known(after, ID_KEY, [id_hash("p000007")]) == set()
    assert clinic.engine.remembered(clinic.states.folder) == []


def test_erased_records_are_the_same_in_all_engines(clinic: Clinic, tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    reference = erased(count(LocalEngine(), tmp_path / "reference"), ["p000003"])
    found = erased(clinic, ["p000003"])
    assert found.records.digest(b"key") == reference.records.digest(b"key")
    assert found.records.sketch(b"salt", 20) == reference.records.sketch(b"salt", 20)


def test_erasing_again_changes_nothing(clinic: Clinic) -> None:
    once = erased(clinic, ["p000003"])
    digest, seal = once.records.digest(b"key"), once.records.seal(b"key")
    twice = erased(once, ["p000003", "p999999"])
    assert (twice.records.digest(b"key"), twice.records.seal(b"key")) == (digest, seal)


def test_a_study_finds_its_engine_by_its_name(engine: Engine[Any], tmp_path: Path) -> None:
    [name] = [name for name, each in ENGINES.items() if each is engine]
    table = write_patients(tmp_path / "patients.csv")
    made = Study.create(
        tmp_path / "clinic",
        str(table),
        id="patient",
        private=PRIVATE,
        external=["outcome"],
        ledger="folder",
        engine=name,
    )
    with made:
        made.set_limit("lab-a", 0.4)
        receipts = [
            made.release("lab-a", asked, bits=0.1, out=tmp_path / f"{asked}.csv")
            for asked in ("diagnosis", "smoker", "outcome", "age")
        ]
    with Study.open(tmp_path / "clinic") as study:
        again = study.release("lab-a", "diagnosis", bits=0.1, out=tmp_path / "again.parquet")
        assert again.digest == receipts[0].digest
        assert study.verify().problems == ()
    suffix = {"local": ".npy", "toy": ".json", "spark": ".parquet"}[name]
    assert {path.suffix for path in (tmp_path / "clinic" / "states").iterdir()} == {suffix}


def test_an_unknown_engine_is_refused_with_the_nearest(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv")
    with pytest.raises(InvalidInputError, match="'locale' is no engine: there is 'local'"):
        Study.create(
            tmp_path / "clinic", str(table), id="patient", private=PRIVATE, engine="locale"
        )
    assert not (tmp_path / "clinic").exists()
