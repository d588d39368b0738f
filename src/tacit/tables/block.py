"""Records of a release file, some at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

BATCH = 2**18
"""Records handled at a time: a few megabytes, near what a core's cache holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive records of a file.

    Attributes:
        record: what the recipient calls them.
        letters: what they got.
    """

    record: pa.Array
    letters: NDArray[np.unsignedinteger]
