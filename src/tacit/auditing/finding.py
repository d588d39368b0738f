"""What is found about one coalition."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import Any

from tacit.auditing.attack import Attack
from tacit.auditing.measures import Exposure


@dataclass(frozen=True, slots=True)
class Finding:
    """What one coalition has learned, and how its attack went.

    Attributes:
        name: the parties, or "everyone".
        parties: sorted.
        limit_bits: the smallest standing limit on them, on its own or on a coalition around them.
        exposure: every leakage measure.
        attack: the attack, carried out.
    """

    name: str
    parties: tuple[str, ...]
    limit_bits: float | None
    exposure: Exposure
    attack: Attack

    def as_dict(self) -> dict[str, Any]:
        """For JSON: bits, and probabilities where the name says chance; infinity is "inf"."""
        exposure, attack = self.exposure, self.attack
        return {
            "name": self.name,
            "parties": list(self.parties),
            "limit_bits": self.limit_bits,
            "is_exact": exposure.is_exact,
            "mutual_information": exposure.mutual_information,
            "chance_of_right_guess": {
                "before": exposure.guess_before,
                "after": exposure.guess_after,
            },
            "min_entropy_leakage": exposure.min_entropy_leakage,
            "maximal_leakage": exposure.maximal_leakage,
            "pointwise_maximal_leakage": {
                **{f"{q:g}": _finite(bits) for q, bits in exposure.pointwise_quantiles.items()},
                "max": _finite(exposure.pointwise_max),
            },
            "local_dp_epsilon": _finite(exposure.local_dp_epsilon),
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


def _finite(bits: float) -> float | str:
    """Infinity as a string: JSON has no such number."""
    return "inf" if isinf(bits) else bits
