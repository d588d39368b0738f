"""tacit: the best data release under privacy limits, one request after another.

Names and rooms load on first use, so that `tacit --help` answers at once and a recipient need not
install what only custodians need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.auditing import Attack, Audit, Exposure, Finding, audit
    from tacit.errors import (
        CeilingError,
        CorruptLedgerError,
        DeliveryError,
        InfeasibleError,
        InvalidInputError,
        KeyFileError,
        LedgerError,
        RolledBackError,
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
    from tacit.limits import Limit
    from tacit.measuring import Measured, measure
    from tacit.problem import Costs, Problem, View
    from tacit.remark import Remark
    from tacit.scheme import Design, NonAdaptiveScheme, Release, Scheme, SymmetricScheme
    from tacit.solution import Solution, Status, TimeSharing
    from tacit.solvers import solve
    from tacit.solvers.iteration.blahut_arimoto import Run, blahut_arimoto
    from tacit.study import (
        Certificate,
        EntryReceipt,
        Quote,
        Receipt,
        RecipientEstimate,
        Study,
        StudyStatus,
        Verification,
        crosstab_files,
        estimate_file,
        read_column,
    )
    from tacit.tables import Column
    from tacit.tradeoff import Surface, trace_surface

__all__ = [
    "Attack",
    "Audit",
    "CeilingError",
    "Certificate",
    "Column",
    "Contrast",
    "CorruptLedgerError",
    "Costs",
    "DeliveryError",
    "Design",
    "EntryReceipt",
    "Estimate",
    "Exposure",
    "Finding",
    "InfeasibleError",
    "InvalidInputError",
    "KeyFileError",
    "LedgerError",
    "Limit",
    "Measured",
    "NonAdaptiveScheme",
    "Problem",
    "Quote",
    "Receipt",
    "RecipientEstimate",
    "Release",
    "Remark",
    "RolledBackError",
    "Run",
    "Scheme",
    "Solution",
    "Status",
    "Study",
    "StudyStatus",
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
    "crosstab_files",
    "entropy",
    "estimate",
    "estimate_file",
    "local_dp_epsilon",
    "maximal_leakage",
    "measure",
    "min_entropy_leakage",
    "mutual_information",
    "pointwise_maximal_leakage",
    "read_column",
    "solve",
    "trace_surface",
]

_NAMES = {
    "auditing": (
        "Attack",
        "Audit",
        "Exposure",
        "Finding",
        "audit",
    ),
    "errors": (
        "CeilingError",
        "CorruptLedgerError",
        "DeliveryError",
        "InfeasibleError",
        "InvalidInputError",
        "KeyFileError",
        "LedgerError",
        "RolledBackError",
        "Suggestion",
        "TacitError",
        "UnconvergedError",
    ),
    "estimation": (
        "Contrast",
        "Estimate",
        "estimate",
    ),
    "information": (
        "bayes_vulnerability",
        "conditional_mutual_information",
        "entropy",
        "local_dp_epsilon",
        "maximal_leakage",
        "min_entropy_leakage",
        "mutual_information",
        "pointwise_maximal_leakage",
    ),
    "limits": ("Limit",),
    "measuring": ("Measured", "measure"),
    "problem": (
        "Costs",
        "Problem",
        "View",
    ),
    "remark": ("Remark",),
    "scheme": (
        "Design",
        "NonAdaptiveScheme",
        "Release",
        "Scheme",
        "SymmetricScheme",
    ),
    "solution": (
        "Solution",
        "Status",
        "TimeSharing",
    ),
    "solvers": ("solve",),
    "solvers.iteration.blahut_arimoto": (
        "Run",
        "blahut_arimoto",
    ),
    "study": (
        "Certificate",
        "EntryReceipt",
        "Quote",
        "Receipt",
        "RecipientEstimate",
        "StudyStatus",
        "Study",
        "Verification",
        "crosstab_files",
        "estimate_file",
        "read_column",
    ),
    "tables": ("Column",),
    "tradeoff": (
        "Surface",
        "trace_surface",
    ),
}

ROOMS = (
    "accounting",
    "auditing",
    "bottleneck",
    "datasets",
    "documentation",
    "errors",
    "estimation",
    "information",
    "ledger",
    "limits",
    "measuring",
    "paper",
    "plots",
    "problem",
    "sampling",
    "scheme",
    "solution",
    "solvers",
    "storage",
    "study",
    "tables",
    "tradeoff",
)
"""Modules that ``import tacit`` opens, as ``tacit.study``.

``tacit.cli`` is not among them: it is a program, and ends the process where typer is missing.
"""

__getattr__ = deferred(__name__, _NAMES, ROOMS)


def __dir__() -> list[str]:
    return sorted({*__all__, *ROOMS})
