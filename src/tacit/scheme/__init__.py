"""Sequential release to parties that may collude."""

from tacit.policy import Policy
from tacit.scheme.baselines import NonAdaptiveScheme, SymmetricScheme
from tacit.scheme.request import Request
from tacit.scheme.scheme import Design, Release, Scheme, Step

__all__ = [
    "Design",
    "NonAdaptiveScheme",
    "Policy",
    "Release",
    "Request",
    "Scheme",
    "Step",
    "SymmetricScheme",
]
