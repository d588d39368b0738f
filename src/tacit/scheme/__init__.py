"""Sequential release to parties that may collude."""

from tacit.policy import Policy
from tacit.scheme.baselines import NonAdaptiveScheme, SymmetricScheme
from tacit.scheme.memory import BoundedMemory, Memory
from tacit.scheme.release import Design, Release, Step
from tacit.scheme.scheme import Scheme
from tacit.scheme.variable import Attributes, Variable

__all__ = [
    "Attributes",
    "BoundedMemory",
    "Design",
    "Memory",
    "NonAdaptiveScheme",
    "Policy",
    "Release",
    "Scheme",
    "Step",
    "SymmetricScheme",
    "Variable",
]
