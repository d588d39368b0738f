"""The study's key: its file, what is derived from it, its random words, and that nobody sees it."""

from __future__ import annotations

import copy
import hashlib
import hmac
import os
import pickle
import stat
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import KeyFileError
from tacit.sampling import StudyKey, keyed_digest, pseudonyms, uniforms

SECRET = b"correct horse battery staple 42!"
KEY = StudyKey(SECRET)

TRICKY = st.sampled_from(
    [1, "1", b"1", 0, -1, 10, "", b"", "a", "ab", "abc", "b", "bc", "c", b"a", "\0", "\ud800", "é"]
)
CONTEXTS = st.lists(TRICKY | st.integers() | st.text() | st.binary(), max_size=3)


def write_key(path: Path, secret: bytes = SECRET, mode: int = 0o600) -> Path:
    path.write_bytes(secret)
    path.chmod(mode)
    return path


def test_a_new_key_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        key = StudyKey.create(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert (tmp_path / "key").stat().st_size == 32
    assert StudyKey.load(tmp_path / "key").derive("test") == key.derive("test")


def test_new_keys_differ(tmp_path: Path) -> None:
    first, second = StudyKey.create(tmp_path / "1"), StudyKey.create(tmp_path / "2")
    assert first.derive("test") != second.derive("test")


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    path = write_key(tmp_path / "key")
    with pytest.raises(KeyFileError, match="exists already"):
        StudyKey.create(path)
    assert path.read_bytes() == SECRET


def test_a_key_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be made: No such file"):
        StudyKey.create(tmp_path / "nowhere" / "key")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o666])
def test_a_key_open_to_others_is_refused_with_the_fix(tmp_path: Path, mode: int) -> None:
    path = write_key(tmp_path / "key", mode=mode)
    with pytest.raises(
        KeyFileError, match=r"open to others.*let only its owner read it"
    ) as refusal:
        StudyKey.load(path)
    assert_unseen(str(refusal.value))


@pytest.mark.parametrize(
    "secret",
    [b"", SECRET[:-1], SECRET + b"!", bytes(32)],
    ids=["empty", "short", "long", "destroyed"],
)
def test_a_damaged_key_is_refused(tmp_path: Path, secret: bytes) -> None:
    path = write_key(tmp_path / "key", secret)
    with pytest.raises(KeyFileError, match=r"damaged .* restore it") as refusal:
        StudyKey.load(path)
    assert_unseen(str(refusal.value))


def test_a_missing_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="missing: restore it"):
        StudyKey.load(tmp_path / "key")


def test_a_key_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be read: Is a directory"):
        StudyKey.load(tmp_path)


def test_a_destroyed_key_is_gone_and_was_overwritten(tmp_path: Path) -> None:
    path = write_key(tmp_path / "key")
    copy_of_the_name = tmp_path / "same file"
    copy_of_the_name.hardlink_to(path)
    StudyKey.destroy(path)
    assert not path.exists()
    with pytest.raises(KeyFileError, match="damaged"):
        StudyKey.load(copy_of_the_name)
    StudyKey.destroy(path)


def test_a_key_that_cannot_be_destroyed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be destroyed: Is a directory"):
        StudyKey.destroy(tmp_path)


def test_a_key_of_another_size_is_refused() -> None:
    with pytest.raises(KeyFileError, match="32 bytes, not 31") as refusal:
        StudyKey(SECRET[1:])
    assert_unseen(str(refusal.value))


def test_a_key_is_never_shown() -> None:
    for shown in (repr(KEY), str(KEY), f"{KEY}", repr([KEY])):
        assert_unseen(shown)
    assert not hasattr(KEY, "__dict__")
    for carry in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled") as refusal:
            carry(KEY)
        assert_unseen(str(refusal.value))


def assert_unseen(text: str) -> None:
    """No run of six bytes of the key is in the text, plain or in hexadecimal."""
    for place in range(len(SECRET) - 6):
        part = SECRET[place : place + 6]
        assert part.decode() not in text
        assert part.hex() not in text


def test_assert_unseen_can_fail() -> None:
    for text in (repr(SECRET), SECRET.hex()):
        with pytest.raises(AssertionError):
            assert_unseen(text)


@given(st.text(max_size=3), CONTEXTS, st.text(max_size=3), CONTEXTS)
def test_different_arguments_derive_different_keys(
    purpose: str, context: list[bytes | str | int], other: str, others: list[bytes | str | int]
) -> None:
    is_same = (purpose, context) == (other, others)
    assert (KEY.derive(purpose, *context) == KEY.derive(other, *others)) == is_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1,), ("1",)),
        ((b"a",), ("a",)),
        (("a", "bc"), ("ab", "c")),
        (("a",), ("a", "")),
        ((12,), (1, 2)),
        ((), ("",)),
    ],
)
def test_what_looks_alike_derives_apart(one: tuple[str], other: tuple[str]) -> None:
    assert KEY.derive("test", *one) != KEY.derive("test", *other)


def test_derived_keys_are_hkdf_of_rfc_5869() -> None:
    def item(kind: bytes, content: bytes) -> bytes:
        return kind + len(content).to_bytes(8, "big") + content

    info = b"".join(
        (item(b"s", b"tacit 1"), item(b"s", b"release"), item(b"b", b"\xff"), item(b"i", b"-7"))
    )
    extracted = hmac.digest(bytes(32), SECRET, "sha256")
    expected = hmac.digest(extracted, info + b"\x01", "sha256")
    assert KEY.derive("release", b"\xff", -7) == expected


@given(st.binary(max_size=40), st.lists(st.binary(max_size=9), max_size=5))
def test_keyed_digest_is_hmac_of_all_chunks(key: bytes, chunks: list[bytes]) -> None:
    expected = hmac.new(key, b"".join(chunks), hashlib.sha256).hexdigest()
    assert keyed_digest(key, chunks) == expected


# --- random words -------------------------------------------------------------------------------

STREAM_KEY = bytes(range(32))


@given(st.integers(0, 2**40), st.lists(st.integers(0, 40), min_size=1, max_size=5))
def test_any_split_gives_the_same_words(start: int, sizes: list[int]) -> None:
    bounds = [start, *(start + total for total in accumulate(sizes))]
    for stream in (uniforms, pseudonyms):
        whole = stream(STREAM_KEY, bounds[0], bounds[-1])
        parts = [stream(STREAM_KEY, *pair) for pair in pairwise(bounds)]
        assert np.array_equal(np.concatenate(parts), whole)


@given(st.integers(0, 2**40), st.integers(1, 9))
def test_words_are_aes_of_the_counter(start: int, n_words: int) -> None:
    def word(number: int, size: int) -> int:
        block, place = divmod(number * size, 16)
        encryptor = Cipher(algorithms.AES(STREAM_KEY), modes.ECB()).encryptor()
        return int.from_bytes(
            encryptor.update(block.to_bytes(16, "big"))[place : place + size], "little"
        )

    numbers = range(start, start + n_words)
    assert uniforms(STREAM_KEY, start, start + n_words).tolist() == [word(i, 4) for i in numbers]
    assert pseudonyms(STREAM_KEY, start, start + n_words).tolist() == [word(i, 8) for i in numbers]


def test_another_key_gives_other_words() -> None:
    for stream in (uniforms, pseudonyms):
        assert (stream(STREAM_KEY, 0, 100) != stream(STREAM_KEY[::-1], 0, 100)).all()
