"""Information quantities of finite laws: Shannon's, and the leakage measures, in bits."""

from tacit.information.laws import (
    conditional_mutual_information,
    entropy,
    mutual_information,
)
from tacit.information.leakage import (
    bayes_vulnerability,
    local_dp_epsilon,
    maximal_leakage,
    min_entropy_leakage,
    pointwise_maximal_leakage,
)

__all__ = [
    "bayes_vulnerability",
    "conditional_mutual_information",
    "entropy",
    "local_dp_epsilon",
    "maximal_leakage",
    "min_entropy_leakage",
    "mutual_information",
    "pointwise_maximal_leakage",
]
