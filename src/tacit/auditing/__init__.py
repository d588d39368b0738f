"""Audit of a scheme: what every coalition has learned, measured and attacked."""

from tacit.auditing.attack import Attack
from tacit.auditing.disclosure import (
    SURE,
    Disclosure,
    disclosed_levels,
    list_disclosures,
    may_disclose,
    most_complete_first,
)
from tacit.auditing.exposure import Exposure
from tacit.auditing.finding import Finding
from tacit.auditing.inference import Inference, class_variable
from tacit.auditing.report import Audit, audit, infer_held

__all__ = [
    "SURE",
    "Attack",
    "Audit",
    "Disclosure",
    "Exposure",
    "Finding",
    "Inference",
    "audit",
    "class_variable",
    "disclosed_levels",
    "infer_held",
    "list_disclosures",
    "may_disclose",
    "most_complete_first",
]
