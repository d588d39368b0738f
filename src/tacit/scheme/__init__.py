"""Sequential release to parties that may collude."""

from tacit.policy import Policy
from tacit.scheme.baselines import NonAdaptiveScheme, SymmetricScheme
from tacit.scheme.memory import Memory, Transition
from tacit.scheme.question import Attributes, Question
from tacit.scheme.release import Design, Release, Step
from tacit.scheme.scheme import Scheme
from tacit.scheme.views import CoalitionView

__all__ = [
    "Attributes",
    "CoalitionView",
    "Design",
    "Memory",
    "NonAdaptiveScheme",
    "Policy",
    "Question",
    "Release",
    "Scheme",
    "Step",
    "SymmetricScheme",
    "Transition",
]
