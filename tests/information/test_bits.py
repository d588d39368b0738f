"""What a number of bits is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import InvalidInputError
from tacit.information.laws import as_limit, as_positive_bits, of_hundred


@pytest.mark.parametrize("bits", [0, 0.3, 1, np.float32(0.5), math.inf])
def test_limits(bits: float) -> None:
    assert as_limit(bits, name="limit") == bits


@pytest.mark.parametrize("bits", [-0.1, math.nan, -math.inf, "0.3", None, np.zeros(2), 1j])
def test_what_is_no_limit(bits: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^limit is .* number of bits"):
        as_limit(bits, name="limit")


@pytest.mark.parametrize("bits", [0.3, 1, np.float32(0.5)])
def test_positive_bits(bits: float) -> None:
    assert as_positive_bits(bits, name="bits") == bits


@pytest.mark.parametrize("bits", [0, 0.0, -0.1, math.nan, math.inf, "0.3", None])
def test_what_is_no_positive_number_of_bits(bits: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^bits is .*: give a number of bits"):
        as_positive_bits(bits, name="bits")


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.5, "50.0"), (0.9994, "99.9"), (6365 / 6366, "99.98"), (1 - 1e-5, "99.999"), (1, "100.0")],
)
def test_almost_all_are_not_shown_as_all(share: float, shown: str) -> None:
    assert of_hundred(share) == shown
