"""[TVC] Table I: the joint law of the paper's numerical experiments, all variables binary."""

from __future__ import annotations

import numpy as np

from tacit.arrays import Array
from tacit.problem import Problem, Utility

JOINT: Array = np.array(
    [
        [[0.024, 0.203], [0.228, 0.013]],  # z = 0: x = 0, x = 1
        [[0.063, 0.228], [0.203, 0.038]],  # z = 1
    ]
)
"""p(z, x, r), [z, x, r]."""
JOINT.setflags(write=False)


def table1_problem(
    individual: float | None = None,
    collusion: float | None = None,
    utility: Utility = "hamming",
) -> Problem:
    """The paper's example under limits in bits; Hamming distortion unless told otherwise."""
    return Problem(JOINT, utility, individual, collusion)
