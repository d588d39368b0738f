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
