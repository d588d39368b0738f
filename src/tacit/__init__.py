"""tacit: the best data release under privacy limits, one request after another.

Names load their rooms on first use, so that `tacit --help` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.auditing import Audit, audit
    from tacit.errors import (
        CorruptLedgerError,
        DeliveryError,
        InfeasibleError,
        InvalidInputError,
        KeyFileError,
        LedgerError,
        Suggestion,
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
    from tacit.scheme import NonAdaptiveScheme, Policy, Release, Scheme, SymmetricScheme
    from tacit.solution import Solution, Status, TimeSharing
    from tacit.solvers import solve
    from tacit.solvers.iteration.blahut_arimoto import Run, blahut_arimoto
    from tacit.study import (
        Certificate,
        Costs,
        Quote,
        Receipt,
        Standing,
        Study,
        Verification,
        estimate_file,
    )
    from tacit.tables import Column
    from tacit.tradeoff import Surface, trace_surface

__all__ = [
    "Audit",
    "Certificate",
    "Column",
    "Contrast",
    "CorruptLedgerError",
    "Costs",
    "DeliveryError",
    "Estimate",
    "InfeasibleError",
    "InvalidInputError",
    "KeyFileError",
    "LedgerError",
    "NonAdaptiveScheme",
    "Policy",
    "Problem",
    "Quote",
    "Receipt",
    "Release",
    "Run",
    "Scheme",
    "Solution",
    "Standing",
    "Status",
    "Study",
    "Suggestion",
    "Surface",
    "SymmetricScheme",
    "TacitError",
    "TimeSharing",
    "UnconvergedError",
    "Verification",
    "View",
    "audit",
    "bayes_vulnerability",
    "blahut_arimoto",
    "conditional_mutual_information",
    "entropy",
    "estimate",
    "estimate_file",
    "local_dp_epsilon",
    "maximal_leakage",
    "min_entropy_leakage",
    "mutual_information",
    "pointwise_maximal_leakage",
    "solve",
    "trace_surface",
]

_ROOMS = {
    "tacit.auditing": (
        "Audit",
        "audit",
    ),
    "tacit.errors": (
        "CorruptLedgerError",
        "DeliveryError",
        "InfeasibleError",
        "InvalidInputError",
        "KeyFileError",
        "LedgerError",
        "Suggestion",
        "TacitError",
        "UnconvergedError",
    ),
    "tacit.estimation": (
        "Contrast",
        "Estimate",
        "estimate",
    ),
    "tacit.information": (
        "bayes_vulnerability",
        "conditional_mutual_information",
        "entropy",
        "local_dp_epsilon",
        "maximal_leakage",
        "min_entropy_leakage",
        "mutual_information",
        "pointwise_maximal_leakage",
    ),
    "tacit.problem": (
        "Problem",
        "View",
    ),
    "tacit.scheme": (
        "Policy",
        "NonAdaptiveScheme",
        "Release",
        "Scheme",
        "SymmetricScheme",
    ),
    "tacit.solution": (
        "Solution",
        "Status",
        "TimeSharing",
    ),
    "tacit.solvers": ("solve",),
    "tacit.solvers.iteration.blahut_arimoto": (
        "Run",
        "blahut_arimoto",
    ),
    "tacit.study": (
        "Certificate",
        "Costs",
        "Quote",
        "Receipt",
        "Standing",
        "Study",
        "Verification",
        "estimate_file",
    ),
    "tacit.tables": ("Column",),
    "tacit.tradeoff": (
        "Surface",
        "trace_surface",
    ),
}
_OPEN_ROOMS = ("bottleneck", "datasets", "information", "paper", "plots")
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name from its room, or a room that people enter by name (PEP 562)."""
    if name in _OPEN_ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ROOM_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
