"""tacit: the best data release under privacy limits, one request after another."""

from tacit.errors import (
    InfeasibleError,
    InvalidInputError,
    RefusedError,
    TacitError,
    UnconvergedError,
)
from tacit.estimation import Contrast, Estimate, estimate
from tacit.information import (
    bayes_vulnerability,
    conditional_mutual_information,
    entropy,
    local_dp_epsilon,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
    pointwise_maximal_leakage,
)
from tacit.problem import Problem, View
from tacit.scheme import Collusion, Release, Scheme
from tacit.solution import Solution, Status, TimeSharing
from tacit.solvers import solve
from tacit.solvers.blahut_arimoto import Run, blahut_arimoto
from tacit.tradeoff import Surface, trace_surface

__all__ = [
    "Collusion",
    "Contrast",
    "Estimate",
    "InfeasibleError",
    "InvalidInputError",
    "Problem",
    "RefusedError",
    "Release",
    "Run",
    "Scheme",
    "Solution",
    "Status",
    "Surface",
    "TacitError",
    "TimeSharing",
    "UnconvergedError",
    "View",
    "bayes_vulnerability",
    "blahut_arimoto",
    "conditional_mutual_information",
    "entropy",
    "estimate",
    "local_dp_epsilon",
    "maximal_leakage",
    "min_entropy_leakage",
    "mutual_information",
    "pointwise_maximal_leakage",
    "solve",
    "trace_surface",
]
