"""Sequential release to parties that may collude."""

from tacit.scheme.baselines import NonAdaptiveScheme, SymmetricScheme
from tacit.scheme.bounded_memory import BoundedMemory
from tacit.scheme.memory import Copy, Memory, Step, Transition
from tacit.scheme.release import Design, Release
from tacit.scheme.scheme import Scheme
from tacit.scheme.variable import Attributes, Variable
from tacit.scheme.views import CoalitionView, EveryoneView

__all__ = [
    "Attributes",
    "BoundedMemory",
    "CoalitionView",
    "Copy",
    "Design",
    "EveryoneView",
    "Memory",
    "NonAdaptiveScheme",
    "Release",
    "Scheme",
    "Step",
    "SymmetricScheme",
    "Transition",
    "Variable",
]
