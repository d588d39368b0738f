"""The custodian's whole job: encode, count, quote, release, deliver, audit, verify."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.study.backup import Backup, Restoration, back_up, restore
    from tacit.study.books.records import HoldingRecord
    from tacit.study.erasure import ErasureReport, ListedRecords
    from tacit.study.folder import Configuration
    from tacit.study.recipient import (
        LevelContrast,
        LevelEstimate,
        RecipientEstimate,
        crosstab_files,
        estimate_file,
        read_column,
    )
    from tacit.study.reports.limits import StandingLimit
    from tacit.study.reports.log import LogEntry
    from tacit.study.reports.receipts import Certificate, EntryReceipt, Receipt
    from tacit.study.reports.report import StudyReport
    from tacit.study.reports.risk import Risk, Told
    from tacit.study.reports.statement import OwnRelease, PartyStatement
    from tacit.study.reports.status import CohortStatus, Holding, SmallCell, StudyStatus
    from tacit.study.requests.plan import (
        LimitMeaning,
        LimitPlan,
        PlannedAnswer,
        PlannedCurve,
        PlannedPoint,
    )
    from tacit.study.requests.quote import CurvePoint, Quote, QuotedHolding, QuotedLevel
    from tacit.study.requests.surface import RequestSurface
    from tacit.study.requests.variants import Variant
    from tacit.study.study import Study
    from tacit.study.verification.verify import Verification, verify_study

__all__ = [
    "Backup",
    "Certificate",
    "CohortStatus",
    "Configuration",
    "CurvePoint",
    "EntryReceipt",
    "ErasureReport",
    "Holding",
    "HoldingRecord",
    "LevelContrast",
    "LevelEstimate",
    "LimitMeaning",
    "LimitPlan",
    "ListedRecords",
    "LogEntry",
    "OwnRelease",
    "PartyStatement",
    "PlannedAnswer",
    "PlannedCurve",
    "PlannedPoint",
    "Quote",
    "QuotedHolding",
    "QuotedLevel",
    "Receipt",
    "RecipientEstimate",
    "RequestSurface",
    "Restoration",
    "Risk",
    "SmallCell",
    "StandingLimit",
    "Study",
    "StudyReport",
    "StudyStatus",
    "Told",
    "Variant",
    "Verification",
    "back_up",
    "crosstab_files",
    "estimate_file",
    "read_column",
    "restore",
    "verify_study",
]

__getattr__ = deferred(
    __name__,
    {
        "backup": ("Backup", "Restoration", "back_up", "restore"),
        "books.records": ("HoldingRecord",),
        "erasure": ("ErasureReport", "ListedRecords"),
        "folder": ("Configuration",),
        "recipient": (
            "LevelContrast",
            "LevelEstimate",
            "RecipientEstimate",
            "crosstab_files",
            "estimate_file",
            "read_column",
        ),
        "requests.plan": (
            "LimitMeaning",
            "LimitPlan",
            "PlannedAnswer",
            "PlannedCurve",
            "PlannedPoint",
        ),
        "requests.quote": ("CurvePoint", "Quote", "QuotedHolding", "QuotedLevel"),
        "requests.surface": ("RequestSurface",),
        "requests.variants": ("Variant",),
        "reports.limits": ("StandingLimit",),
        "reports.log": ("LogEntry",),
        "reports.receipts": ("Certificate", "EntryReceipt", "Receipt"),
        "reports.report": ("StudyReport",),
        "reports.risk": ("Risk", "Told"),
        "reports.statement": ("OwnRelease", "PartyStatement"),
        "reports.status": ("CohortStatus", "Holding", "SmallCell", "StudyStatus"),
        "study": ("Study",),
        "verification.verify": ("Verification", "verify_study"),
    },
)
