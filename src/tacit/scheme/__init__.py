"""Sequential release to parties that may collude."""

from tacit.policy import Policy
from tacit.scheme.baselines import NonAdaptiveScheme, SymmetricScheme
from tacit.scheme.memory import Memory
from tacit.scheme.request import Attributes, Request
from tacit.scheme.scheme import Design, Release, Scheme, Step

__all__ = [
    "Attributes",
    "Design",
    "Memory",
    "NonAdaptiveScheme",
    "Policy",
    "Release",
    "Request",
    "Scheme",
    "Step",
    "SymmetricScheme",
]
