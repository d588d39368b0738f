"""Sequential release to parties that may collude."""

from tacit.policy import Policy
from tacit.scheme.baselines import NonAdaptiveScheme, SymmetricScheme
from tacit.scheme.bounded_memory import BoundedMemory
from tacit.scheme.memory import Memory, Step, Transition
from tacit.scheme.release import Design, Release
from tacit.scheme.scheme import Scheme
from tacit.scheme.variable import Attributes, Variable
from tacit.scheme.views import CoalitionView, EveryoneView

__all__ = [
    "Attributes",
    "BoundedMemory",
    "CoalitionView",
    "Design",
    "EveryoneView",
    "Memory",
    "NonAdaptiveScheme",
    "Policy",
    "Release",
    "Scheme",
    "Step",
    "SymmetricScheme",
    "Transition",
    "Variable",
]
