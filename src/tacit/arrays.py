"""The array type and the unit of information that all rooms use."""

from __future__ import annotations

from math import log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Laws, channels and costs."""

LN2 = log(2.0)
"""Nats in a bit."""

_ROUNDED_BITS = 1e-12


def as_limit(bits: float) -> float:
    """A limit in bits; 0 where a difference of rounded numbers came out a little below 0."""
    return 0.0 if -_ROUNDED_BITS <= bits < 0 else bits
