"""Figures in words: what is shown never promises more than what is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import bits_down, bits_up
from tacit.policy import limit_in_words
from tacit.study.reports.receipts import value_in_words, worth_in_words

BITS = st.floats(0, 64, allow_nan=False)


@given(BITS, st.integers(1, 8))
def test_what_is_held_is_rounded_up_and_what_is_left_down(bits: float, digits: int) -> None:
    up, down = float(bits_up(bits, digits)), float(bits_down(bits, digits))
    assert down <= bits <= up
    assert up - down <= 1.01 * 10**-digits + 1e-12


def test_figures_that_are_whole_stay_as_they_are() -> None:
    assert (bits_up(0.0), bits_down(0.3), bits_down(0.0)) == ("0.0000", "0.3000", "0.0000")
    assert (bits_up(0.29999990), bits_down(0.29999999)) == ("0.3000", "0.2999")
    assert [limit_in_words(bits) for bits in (0.3, 2.0, 0.1234567)] == ["0.3", "2", "0.1234567"]


@pytest.mark.parametrize(
    ("value", "blind", "said"),
    [
        (0.3, 0.7, "about 7 of 10 values correct; a blind guess gets 3 of 10"),
        (0.35, 0.54, "about 65 of 100 values correct; a blind guess gets 46 of 100"),
        (0.42, 0.7, "about 58 of 100 values correct; a blind guess gets 30 of 100"),
        (0.004, 0.02, "about 996 of 1,000 values correct; a blind guess gets 980 of 1,000"),
        (0.541, 0.542, "about 459 of 1,000 values correct; a blind guess gets 458 of 1,000"),
        (1e-5, 0.5, "about 10,000 of 10,000 values correct; a blind guess gets 5,000 of 10,000"),
        (0.0, 0.5, "about 10 of 10 values correct; a blind guess gets 5 of 10"),
    ],
)
def test_shares_of_right_answers(value: float, blind: float, said: str) -> None:
    assert value_in_words("hamming", value, blind) == said


def test_other_measures_in_words() -> None:
    said = {
        "absolute": "answers are off by 0.54 on average; a blind guess by 0.695",
        "squared": "answers are off, squared, by 0.54 on average; a blind guess by 0.695",
        "costs": "answers cost 0.54 on average; a blind guess costs 0.695",
        "information": "each answer tells 0.540 bits about what was asked; a blind guess tells "
        "none",
    }
    for kind, words in said.items():
        assert value_in_words(kind, 0.54, 0.695) == words
        assert words.startswith(worth_in_words(kind, 0.54, 0.695))
