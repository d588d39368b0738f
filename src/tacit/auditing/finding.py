"""What is found about one coalition."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import Any

from tacit.auditing.attack import Attack
from tacit.auditing.exposure import Exposure
from tacit.auditing.inference import WHOLE, Inference
from tacit.information.measures import MEASURES

_LIMIT_TOL = 1e-9
"""Bits by which a figure in double precision may exceed a limit that is met."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one coalition has learned, and how its attack went.

    Attributes:
        name: the parties, or "everyone".
        parties: sorted.
        limit_bits: the smallest standing limit on them, on its own or on a coalition around them.
        exposure: every leakage measure, about the whole record.
        inferences: what it can tell about single variables, such as attributes.
        attack: the attack, carried out.
    """

    name: str
    parties: tuple[str, ...]
    limit_bits: float | None
    exposure: Exposure
    inferences: tuple[Inference, ...]
    attack: Attack

    @property
    def told(self) -> tuple[Inference, ...]:
        """What it can tell about every variable, and last about the whole record."""
        return (*self.inferences, Inference(WHOLE, self.exposure))

    @property
    def is_above_limit(self) -> bool:
        """Whether it has learned more than the limit allows."""
        learned = self.exposure.mutual_information
        return self.limit_bits is not None and learned > self.limit_bits + _LIMIT_TOL

    def as_dict(self) -> dict[str, Any]:
        """For JSON: bits, and probabilities where the name says chance; infinity is "inf"."""
        exposure, attack = self.exposure, self.attack
        return {
            "name": self.name,
            "parties": list(self.parties),
            "limit_bits": self.limit_bits,
            "is_exact": exposure.is_exact,
            **_nested(exposure),
            "inferences": [each.as_dict() for each in self.told],
            "attack": {
                "records": attack.records,
                "successes": attack.successes,
                "observed_chance": attack.observed,
                "interval": [attack.low, attack.high],
                "predicted_chance": attack.predicted,
                "is_bound": attack.is_bound,
                "is_consistent": attack.is_consistent,
                "simulated_bits": attack.simulated_bits,
            },
        }


def _nested(exposure: Exposure) -> dict[str, Any]:
    """Every figure of an exposure where its measure's row puts it."""
    nested: dict[str, Any] = {}
    for name, figure in exposure.figures.items():
        *outer, last = MEASURES[name].json_path
        place = nested
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = "inf" if isinf(figure) else figure  # JSON has no such number
    return nested
