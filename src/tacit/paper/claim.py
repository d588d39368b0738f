"""A claim of the paper, and the tolerances that decide whether it holds."""

from __future__ import annotations

from dataclasses import dataclass

ROUNDING = 1e-11
"""Sums of some tens of terms of size up to 100, each right to 2**-53."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the paper says, whether it holds as stated, and the numbers that show it."""

    section: str
    text: str
    holds: bool
    evidence: str
