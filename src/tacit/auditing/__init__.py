"""Audit of a scheme: what every coalition has learned, measured and attacked."""

from tacit.auditing.attack import Attack
from tacit.auditing.exposure import Exposure
from tacit.auditing.finding import Finding
from tacit.auditing.inference import Inference, certain_levels
from tacit.auditing.report import Audit, audit, infer_held

__all__ = [
    "Attack",
    "Audit",
    "Exposure",
    "Finding",
    "Inference",
    "audit",
    "certain_levels",
    "infer_held",
]
