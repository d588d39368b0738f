"""One text for one value: laws of the canonical JSON."""

from __future__ import annotations

from math import copysign

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import CorruptLedgerError, InvalidInputError
from tacit.ledger.entry import canonical_json, parse_json

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | FLOATS | st.text()
JSON = st.recursive(
    SCALARS,
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4),
    max_leaves=20,
)


def reversed_keys(value: object) -> object:
    """The same value, every dictionary filled in the opposite order."""
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(JSON)
def test_values_are_read_back(value: object) -> None:
    assert parse_json(canonical_json(value)) == value


@given(JSON)
def test_equal_values_have_one_text(value: object) -> None:
    text = canonical_json(value)
    assert canonical_json(reversed_keys(value)) == text
    assert canonical_json(parse_json(text)) == text


@given(JSON)
def test_the_text_is_plain_ascii_on_one_line(value: object) -> None:
    text = canonical_json(value)
    assert text.isascii()
    assert text.isprintable()


@given(FLOATS)
def test_floats_are_read_back_to_the_last_bit(value: float) -> None:
    read = parse_json(canonical_json([value]))
    assert isinstance(read, list)
    assert (read[0], copysign(1, read[0])) == (value, copysign(1, value))


@given(JSON, JSON)
def test_different_values_have_different_texts(first: object, second: object) -> None:
    if first != second:
        assert canonical_json(first) != canonical_json(second)


def test_the_text_is_pinned() -> None:
    """Hashes of ledgers out there depend on it."""
    value = {"ü": 1, "a": [0.1, 1e300, -0.0, None, True], "A": {"z": "\n\U0001f600", "y": 10**20}}
    assert canonical_json(value) == (
        '{"A":{"y":100000000000000000000,"z":"\\n\\ud83d\\ude00"},'
        '"a":[0.1,1e+300,-0.0,null,true],"\\u00fc":1}'
    )


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("-inf")],
        {1: "a"},
        {None: "a"},
        {True: "a"},
        (1, 2),
        b"bytes",
        {"a"},
        "\ud83d\ude00",  # two halves that would be read back as one character
        nested(100_000),
    ],
    ids=lambda value: str(type(value)),
)
def test_what_json_would_change_is_refused(value: object) -> None:
    with pytest.raises(InvalidInputError, match="a ledger entry"):
        canonical_json({"value": value})


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "[" * 100_000])
def test_a_text_that_is_no_json_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptLedgerError, match="no JSON"):
        parse_json(text)
