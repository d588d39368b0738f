"""Sequential release to parties that may collude."""

from tacit.policy import Policy
from tacit.scheme.baselines import NonAdaptiveScheme, SymmetricScheme
from tacit.scheme.question import Question
from tacit.scheme.release import Design, Release, Step
from tacit.scheme.scheme import Scheme

__all__ = [
    "Design",
    "NonAdaptiveScheme",
    "Policy",
    "Question",
    "Release",
    "Scheme",
    "Step",
    "SymmetricScheme",
]
