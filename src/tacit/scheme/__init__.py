"""Sequential release to parties that may collude."""

from tacit.scheme.baselines import NonAdaptiveScheme, SymmetricScheme
from tacit.scheme.policy import Collusion
from tacit.scheme.scheme import Release, Scheme

__all__ = ["Collusion", "NonAdaptiveScheme", "Release", "Scheme", "SymmetricScheme"]
