"""Release files: labels, both formats, and one digest of what they say."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tacit.errors import InvalidInputError
from tacit.tables.delivery.release_file import (
    Alphabet,
    Block,
    ContentDigest,
    check_target,
    content_of_columns,
    csv_text,
    release_writer,
)
from tacit.tables.delivery.release_reader import count_letters, digest_of, digests_of

KEY = b"digest key"

TEXTS = st.text(st.sampled_from('ab,"\n\r é\0') | st.characters(codec="utf-8"), max_size=4)


def write(path: Path, alphabet: Alphabet, *blocks: Block) -> str:
    """Write a release file and return the digest of what was put in."""
    with path.open("wb") as file:
        release_writer(path)(file, alphabet, iter(blocks))
    digest = ContentDigest(KEY)
    for block in blocks:
        digest.update(content_of_columns(alphabet.columns(block)))
    return digest.hexdigest()


def block(records: list[str], letters: list[int]) -> Block:
    return Block(pa.array(records), np.array(letters, dtype=np.uint8))


def test_two_letters_with_one_label_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="each letter its own"):
        Alphabet(("a", "a"))


@pytest.mark.slow
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6), st.data())
def test_any_text_survives_both_formats(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    labels = tuple({label: None for _, label in rows})
    letters = [labels.index(label) for _, label in rows]
    cut = data.draw(st.integers(0, len(rows)))
    records = [record for record, _ in rows]
    blocks = [
        block(records[part], letters[part])
        for part in (slice(cut), slice(cut, None))
        if records[part]
    ]
    digests = set()
    for name in ("file.parquet", "file.csv"):
        digests |= {write(folder / name, Alphabet(labels), *blocks), digest_of(folder / name, KEY)}
    assert len(digests) == 1
    table = parquet.read_table(folder / "file.parquet")
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows
    if not any("\0" in text for row in rows for text in row):
        plain = io.StringIO((folder / "file.csv").read_bytes().decode(), newline="")
        shown = [[csv_text(text) for text in row] for row in rows]
        assert list(csv.reader(plain)) == [["record", "rhat"], *shown]


def test_parquet_holds_plain_text_and_nothing_of_its_source(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", Alphabet(("no", "yes")), block(["r0", "r1"], [0, 1]))
    metadata = parquet.read_metadata(tmp_path / "a.parquet")
    assert metadata.metadata is None
    assert metadata.created_by.startswith("parquet-cpp-arrow")
    assert metadata.schema.to_arrow_schema() == pa.schema({"record": "string", "rhat": "string"})
    assert "RLE_DICTIONARY" in metadata.row_group(0).column(1).encodings


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_digest_sees_every_change(tmp_path: Path, suffix: str) -> None:
    alphabet = Alphabet(("a", "b", "ab", ""))
    contents = [
        block(["r", "s"], [0, 1]),
        block(["r", "s"], [1, 0]),
        block(["s", "r"], [0, 1]),
        block(["r", "sa"], [3, 1]),
        block(["r", "s"], [2, 3]),
        block(["rs", ""], [0, 1]),
        block(["r", "s", "t"], [0, 1, 1]),
    ]
    paths = [tmp_path / f"{number}{suffix}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        write(path, alphabet, content)
    digests = [digest_of(path, KEY) for path in paths]
    assert len(set(digests)) == len(contents)
    assert digest_of(paths[0], b"another key") not in digests


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_digests_for_several_keys_are_those_for_each(name: str, tmp_path: Path) -> None:
    keys = [KEY, b"another key"]
    write(tmp_path / name, Alphabet(("=1", "b")), block(["r0", "r1"], [0, 1]))
    expected = [digest_of(tmp_path / name, key) for key in keys]
    assert digests_of(tmp_path / name, keys) == expected


def test_a_file_that_is_no_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("record,value\n1,2\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but no more")
    parquet.write_table(pa.table({"rhat": ["a"], "record": ["b"]}), tmp_path / "b.parquet")
    for name, message in [
        ("a.csv", "has the columns record, value"),
        ("a.parquet", "cannot be read as a release file"),
        ("b.parquet", "has the columns rhat, record"),
        ("absent.csv", "cannot be read as a release file"),
        ("absent.parquet", "cannot be read as a release file"),
    ]:
        with pytest.raises(InvalidInputError, match=message) as refusal:
            digest_of(tmp_path / name, KEY)
        assert "\n" not in str(refusal.value)


def test_a_place_where_no_file_can_go_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for place, message in [
        ("file.xlsx", "name the file something.parquet or something.csv"),
        ("file", "no known ending"),
        ("nowhere/file.csv", "there is no folder"),
        ("folder.csv", "is a folder"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            check_target(tmp_path / place)
    check_target(tmp_path / "FILE.CSV")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_letters_are_counted(tmp_path: Path, name: str) -> None:
    blocks = block(["a", "b", "c"], [0, 2, 2]), block(["d"], [1])
    write(tmp_path / name, Alphabet(("x", "y", "z", "never")), *blocks)
    assert count_letters(tmp_path / name, ("x", "y", "z", "never")).tolist() == [1, 1, 2, 0]


def test_letters_of_another_release_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path, Alphabet(("x", "y")), block(["a", "b"], [0, 1]))
    with pytest.raises(InvalidInputError, match="the entry 'y', which its certificate"):
        count_letters(path, ("x", "z"))
    path.write_text("record,rhat,t\na,x,0\n")
    with pytest.raises(InvalidInputError, match="has the columns record, rhat, t, a release file"):
        count_letters(path, ("x", "y"))
