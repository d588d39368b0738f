"""Integer channels and keyed sampling: a recorded release has one outcome, on every machine."""

from tacit.sampling.integer_channel import TOTAL, IntegerChannel
from tacit.sampling.keyed import Sampler, pseudonyms, uniforms
from tacit.sampling.keys import StudyKey, keyed_digest

__all__ = [
    "TOTAL",
    "IntegerChannel",
    "Sampler",
    "StudyKey",
    "keyed_digest",
    "pseudonyms",
    "uniforms",
]
