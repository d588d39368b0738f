"""Deliveries: every row right, the same bytes every time, and nothing half-written."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet

from tacit.errors import DeliveryError, InvalidInputError
from tacit.sampling import pseudonyms
from tacit.tables.delivery.engine import MissingStatesError
from tacit.tables.delivery.release_file import BATCH, Alphabet, ByPseudonym, PseudonymCollisionError
from tacit.tables.delivery.release_reader import digest_of
from tests.tables.delivery.recorded import (
    BEFORE,
    DIGEST_KEY,
    ENGINE,
    LABELS,
    N_NEXT,
    NAME,
    Case,
    party_key,
    pseudonym_texts,
    rows_of,
)

ROOT = Path(__file__).parents[3]
DELIVER_INTO = """
import resource, sys
from pathlib import Path
from tacit.errors import DeliveryError
from tests.tables.delivery.recorded import Case

folder, target, most_bytes = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
case = Case(folder, 100_000)
assert case.records and case.states
if most_bytes:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
target.write_bytes(b"what was there")
try:
    case.deliver(target)
except DeliveryError as error:
    print(error)
print(target.read_bytes() == b"what was there", *[path.name for path in target.parent.iterdir()])
"""


# A batch, exactly; several, the last one short; the letters of a byte, and more.
@pytest.mark.parametrize(
    ("n_records", "labels"),
    [
        (1, LABELS),
        (BATCH, LABELS),
        (BATCH + 70_001, LABELS),
        (5_000, tuple(map(str, range(256)))),
        (5_000, tuple(map(str, range(600)))),
    ],
)
def test_every_row_and_state_is_as_computed_one_by_one(
    tmp_path: Path, n_records: int, labels: tuple[str, ...]
) -> None:
    case = Case(tmp_path, n_records, labels)
    case.deliver(tmp_path / "lab-a.parquet")
    assert rows_of(tmp_path / "lab-a.parquet") == case.rows(pseudonym_texts(n_records))
    states = case.files.load(NAME, N_NEXT)
    assert states is not None
    assert np.array_equal(states, case.next_state[case.state, case.letters])


def test_csv_says_the_same_as_parquet(tmp_path: Path) -> None:
    case = Case(tmp_path, 5_000)
    digests = {case.deliver(tmp_path / name) for name in ("a.parquet", "a.csv")}
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").split("\n")
    assert lines[0] == "record,rhat"
    assert lines[-1] == ""
    quoted = dict(
        zip(LABELS, ["none", '"mild, or so"', '"he said ""severe"""', LABELS[3]], strict=True)
    )
    expected = [f"{record},{quoted[str(rhat)]}" for record, rhat in rows_of(tmp_path / "a.parquet")]
    assert lines[1:-1] == expected
    assert digests == {digest_of(tmp_path / name, DIGEST_KEY) for name in ("a.parquet", "a.csv")}
    assert len(digests) == 1


@pytest.mark.parametrize("name", ["again.parquet", "again.csv"])
def test_the_same_release_is_the_same_file(tmp_path: Path, name: str) -> None:
    case = Case(tmp_path, BATCH + 1000)
    files, states = set(), set()
    for _ in range(3):
        case.deliver(tmp_path / name)
        files.add((tmp_path / name).read_bytes())
        states.add(case.files.path(NAME).read_bytes())
    assert len(files) == len(states) == 1


def test_nothing_of_the_order_of_the_source_survives(tmp_path: Path) -> None:
    case = Case(tmp_path, 20_000)
    case.deliver(tmp_path / "a.parquet")
    place = {record: i for i, record in enumerate(pseudonym_texts(20_000))}
    places = np.array([place[row[0]] for row in rows_of(tmp_path / "a.parquet")])
    # Of independent orders the correlation has deviation 1 / sqrt(n) = 0.007.
    assert abs(np.corrcoef(places, np.arange(20_000))[0, 1]) < 0.04


def test_parties_get_different_pseudonyms(tmp_path: Path) -> None:
    assert not set(pseudonym_texts(1000)) & set(pseudonym_texts(1000, attempt=1))


PUBLIC = {
    "integer": [int(i) for i in np.random.default_rng(3).permutation(500) - 250],
    "text": [f'{i % 7},"{i}"\n' for i in np.random.default_rng(3).permutation(500)],
    "date": [date(2020, 1, 1) + timedelta(days=(i * 7) % 500) for i in range(500)],
}


@pytest.mark.parametrize("kind", PUBLIC)
def test_public_ids_keep_their_type_and_are_sorted(tmp_path: Path, kind: str) -> None:
    parquet.write_table(pa.table({"id_0": PUBLIC[kind]}), tmp_path / "ids.parquet")
    case = Case(tmp_path, pseudonym_key=None)
    digests = {case.deliver(tmp_path / name) for name in ("a.parquet", "a.csv")}
    assert rows_of(tmp_path / "a.parquet") == case.rows(list(PUBLIC[kind]))
    assert digests == {digest_of(tmp_path / name, DIGEST_KEY) for name in ("a.parquet", "a.csv")}


def test_public_ids_of_other_types_are_text(tmp_path: Path) -> None:
    ids = [i / 4 for i in range(500)]
    parquet.write_table(pa.table({"id_0": ids}), tmp_path / "ids.parquet")
    case = Case(tmp_path, pseudonym_key=None)
    case.deliver(tmp_path / "a.parquet")
    in_order = [(str(record), rhat) for record, rhat in case.rows(list(ids))]
    assert rows_of(tmp_path / "a.parquet") == in_order


def test_several_public_ids_are_one_json_array(tmp_path: Path) -> None:
    pairs = [("a" if i % 2 else 'b"', i) for i in range(500)]
    columns = {"id_0": [pair[0] for pair in pairs], "id_1": [pair[1] for pair in pairs]}
    parquet.write_table(pa.table(columns), tmp_path / "ids.parquet")
    case = Case(tmp_path, pseudonym_key=None)
    case.deliver(tmp_path / "a.parquet")
    read = [
        (tuple(json.loads(str(record))), rhat) for record, rhat in rows_of(tmp_path / "a.parquet")
    ]
    assert read == [((pair[0], str(pair[1])), rhat) for pair, rhat in case.rows(list(pairs))]


def test_many_public_ids_stay_in_order_and_give_the_same_file(tmp_path: Path) -> None:
    n_records = 3 * BATCH + 4321
    ids = np.random.default_rng(5).permutation(n_records)
    parquet.write_table(pa.table({"id_0": ids}), tmp_path / "ids.parquet")
    case = Case(tmp_path, n_records, pseudonym_key=None)
    for name in ("a.parquet", "again.parquet"):
        case.deliver(tmp_path / name)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
    table = parquet.read_table(tmp_path / "a.parquet")
    assert np.array_equal(table["record"].to_numpy(), np.arange(n_records))
    labels = np.array(LABELS)[np.array(case.letters)[np.argsort(ids)]]
    assert (table["rhat"].to_numpy(zero_copy_only=False) == labels).all()


@pytest.mark.parametrize("n_letters", [2, 300])
@pytest.mark.parametrize("first_word", [0, 2**63 + 5, 2**64 - 1])
def test_two_records_with_one_pseudonym_are_noticed(n_letters: int, first_word: int) -> None:
    n_records = 1000

    def words(start: int, stop: int) -> NDArray[np.uint64]:
        drawn = pseudonyms(party_key(0), 0, n_records).copy()
        drawn[[10, 990]] = first_word
        return drawn[start:stop]

    letters = (np.arange(n_records) % n_letters).astype(np.uint16)
    with ThreadPoolExecutor(1) as pool:
        order = ByPseudonym(words, n_records, n_letters, pool)
        order.put(0, letters)
        with pytest.raises(PseudonymCollisionError):
            next(order.blocks(pool))


def test_after_a_collision_the_next_key_is_used_for_all(tmp_path: Path) -> None:
    def second_key(attempt: int) -> bytes:
        if attempt == 0:
            raise PseudonymCollisionError
        return party_key(attempt)

    case = Case(tmp_path, pseudonym_key=second_key)
    case.deliver(tmp_path / "a.parquet")
    assert rows_of(tmp_path / "a.parquet") == case.rows(pseudonym_texts(500, attempt=1))


def test_lost_states_are_written_again_without_a_file(tmp_path: Path) -> None:
    case = Case(tmp_path, BATCH + 5)
    case.deliver(tmp_path / "a.csv")
    delivered = case.files.path(NAME).read_bytes()
    case.files.path(NAME).unlink()
    assert not ENGINE.keeps(case.records, case.states, case.release)
    ENGINE.remember(case.records, case.states, case.before, case.release)
    assert ENGINE.keeps(case.records, case.states, case.release)
    assert case.files.path(NAME).read_bytes() == delivered


def test_states_before_that_are_not_kept_are_an_error(tmp_path: Path) -> None:
    case = Case(tmp_path)
    ENGINE.forget(case.states, [BEFORE])
    with pytest.raises(MissingStatesError, match="cannot be read again"):
        case.deliver(tmp_path / "a.csv")
    with pytest.raises(MissingStatesError, match="cannot be read again"):
        ENGINE.remember(case.records, case.states, case.before, case.release)
    assert not (tmp_path / "a.csv").exists()


def test_progress_grows_to_the_end(tmp_path: Path) -> None:
    case, told = Case(tmp_path, BATCH + 5), []
    case.deliver(tmp_path / "a.csv", lambda done, total: told.append((done, total)))
    total = 2 * (BATCH + 5)
    assert told == [(done, total) for done in (BATCH, BATCH + 5, total - 5, total)]


def test_several_deliveries_at_once_do_not_meet(tmp_path: Path) -> None:
    case = Case(tmp_path, 50_000)
    expected = case.deliver(tmp_path / "a.parquet")
    with ThreadPoolExecutor(4) as pool:
        digests = list(pool.map(case.deliver, [tmp_path / "a.parquet"] * 8))
    assert {*digests, digest_of(tmp_path / "a.parquet", DIGEST_KEY)} == {expected}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "states", "x.npy"]


def test_an_alphabet_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="3 letters but the channel 4"):
        replace(Case(tmp_path).release, alphabet=Alphabet(("a", "b", "c")))


def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no known ending"):
        Case(tmp_path).deliver(tmp_path / "a.feather")
    assert [path.stem for path in (tmp_path / "states").iterdir()] == [BEFORE]
    assert not (tmp_path / "a.feather").exists()


def test_a_draw_that_fails_leaves_nothing_half_written(tmp_path: Path) -> None:
    case = Case(tmp_path)
    dead_end = np.full_like(case.next_state, -1)
    release = replace(case.release, next_state=dead_end)
    (tmp_path / "a.csv").write_text("what was there")
    with pytest.raises(InvalidInputError, match="no next state"):
        ENGINE.deliver(case.records, case.states, case.before, release, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "what was there"
    assert [path.stem for path in (tmp_path / "states").iterdir()] == [BEFORE]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_an_interruption_while_writing_leaves_nothing_half_written(
    tmp_path: Path, name: str
) -> None:
    def interrupt_late(done: int, total: int) -> None:
        if done > total // 2:
            raise InterruptedError("enough")

    case = Case(tmp_path, 2 * BATCH)
    (tmp_path / name).write_text("what was there")
    with pytest.raises(DeliveryError, match="enough"):
        case.deliver(tmp_path / name, interrupt_late)
    gc.collect()  # what pyarrow would still like to write is noticed here
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, "states", "x.npy"]
    assert (tmp_path / name).read_text() == "what was there"


def test_a_folder_that_is_not_there_is_a_free_failure(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match=r"\(No such file or directory\).*costs nothing"):
        Case(tmp_path).deliver(tmp_path / "nowhere" / "a.csv")


def test_unreadable_ids_are_a_free_failure(tmp_path: Path) -> None:
    (tmp_path / "ids.parquet").write_bytes(b"no parquet")
    case = Case(tmp_path, pseudonym_key=None)
    with pytest.raises(DeliveryError, match="costs nothing") as failure:
        case.deliver(tmp_path / "a.csv")
    assert "\n" not in str(failure.value)
    assert not (tmp_path / "a.csv").exists()


# The states fail at once, later, or not at all, and then the file does.
@pytest.mark.parametrize(
    ("name", "most_bytes"),
    [("a.csv", 20), ("a.csv", 150_000), ("a.csv", 400_000), ("a.parquet", 400_000)],
)
def test_a_file_that_may_not_grow_is_a_free_failure(
    tmp_path: Path, name: str, most_bytes: int
) -> None:
    command = [
        sys.executable,
        "-c",
        DELIVER_INTO,
        str(tmp_path),
        str(tmp_path / name),
        str(most_bytes),
    ]
    assert_failed_for_free(command, "File too large", [name, "states", "x.npy"])


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs Linux namespaces")
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_full_disk_is_a_free_failure(tmp_path: Path, name: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    inside = f'mount -t tmpfs -o size=256k tmpfs {disk} && exec "$@"'
    namespace = ["unshare", "--map-root-user", "--mount", "sh", "-c", inside, "sh"]
    if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a disk of their own")
    command = [*namespace, sys.executable, "-c", DELIVER_INTO, str(tmp_path), str(disk / name), "0"]
    assert_failed_for_free(command, "No space left on device", [name])


def assert_failed_for_free(command: list[str], reason: str, left: list[str]) -> None:
    """One line says why, the old file is as it was, and nothing partial is beside it."""
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    assert finished.stderr == ""
    message, outcome = finished.stdout.splitlines()
    assert f"was not written ({reason})" in message
    was_kept, *names = outcome.split()
    assert was_kept == "True"
    assert sorted(names) == left


def test_a_folder_whose_name_is_a_pattern_is_taken_literally(tmp_path: Path) -> None:
    folder = tmp_path / "a[1] *"
    folder.mkdir()
    parquet.write_table(pa.table({"id_0": PUBLIC["text"]}), folder / "ids.parquet")
    case = Case(folder, pseudonym_key=None)
    case.deliver(folder / "a.parquet")
    assert rows_of(folder / "a.parquet") == case.rows(list(PUBLIC["text"]))
