"""The custodian's whole job: encode, count, quote, release, deliver, audit, verify."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.study.backup import Backup, Restored, back_up, restore
    from tacit.study.books.records import HoldingRecord
    from tacit.study.recipient import LevelEstimate, RecipientEstimate, estimate_file
    from tacit.study.reports.receipts import Certificate, EntryReceipt, HeldShare, Receipt
    from tacit.study.reports.standing import Holding, SmallCell, Standing
    from tacit.study.requests.quote import CurvePoint, Quote, Share
    from tacit.study.study import Study
    from tacit.study.verification.verify import Verification, verify_study

__all__ = [
    "Backup",
    "Certificate",
    "CurvePoint",
    "EntryReceipt",
    "HeldShare",
    "Holding",
    "HoldingRecord",
    "LevelEstimate",
    "Quote",
    "Receipt",
    "RecipientEstimate",
    "Restored",
    "Share",
    "SmallCell",
    "Standing",
    "Study",
    "Verification",
    "back_up",
    "estimate_file",
    "restore",
    "verify_study",
]

__getattr__ = deferred(
    __name__,
    {
        "backup": ("Backup", "Restored", "back_up", "restore"),
        "books.records": ("HoldingRecord",),
        "recipient": ("LevelEstimate", "RecipientEstimate", "estimate_file"),
        "requests.quote": ("CurvePoint", "Quote", "Share"),
        "reports.receipts": ("Certificate", "EntryReceipt", "HeldShare", "Receipt"),
        "reports.standing": ("Holding", "SmallCell", "Standing"),
        "study": ("Study",),
        "verification.verify": ("Verification", "verify_study"),
    },
)
