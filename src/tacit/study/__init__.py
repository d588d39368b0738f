"""The custodian's whole job: encode, count, quote, release, deliver, audit, verify."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.study.estimating import RecipientEstimate, estimate_file
    from tacit.study.quoting import Quote
    from tacit.study.receipts import Certificate, EntryReceipt, Receipt
    from tacit.study.standing import Standing
    from tacit.study.study import Study
    from tacit.study.verification import Verification, verify_study

__all__ = [
    "Certificate",
    "EntryReceipt",
    "Quote",
    "Receipt",
    "RecipientEstimate",
    "Standing",
    "Study",
    "Verification",
    "estimate_file",
    "verify_study",
]

__getattr__ = deferred(
    __name__,
    {
        "estimating": ("RecipientEstimate", "estimate_file"),
        "quoting": ("Quote",),
        "receipts": ("Certificate", "EntryReceipt", "Receipt"),
        "standing": ("Standing",),
        "study": ("Study",),
        "verification": ("Verification", "verify_study"),
    },
)
