"""The custodian's whole job: encode, count, quote, release, deliver, audit, verify."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.study.recipient import RecipientEstimate, estimate_file
    from tacit.study.reports.receipts import Certificate, EntryReceipt, Receipt
    from tacit.study.reports.standing import Standing
    from tacit.study.requests.quote import Quote
    from tacit.study.requests.utilities import Costs
    from tacit.study.study import Study
    from tacit.study.verification.verify import Verification, verify_study

__all__ = [
    "Certificate",
    "Costs",
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
        "recipient": ("RecipientEstimate", "estimate_file"),
        "requests.quote": ("Quote",),
        "requests.utilities": ("Costs",),
        "reports.receipts": ("Certificate", "EntryReceipt", "Receipt"),
        "reports.standing": ("Standing",),
        "study": ("Study",),
        "verification.verify": ("Verification", "verify_study"),
    },
)
