"""Integer channels and keyed sampling: a recorded release has one outcome, on every machine."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.sampling.integer_channel import TOTAL, IntegerChannel, Sampler
    from tacit.sampling.keys import StudyKey, keyed_digest, pseudonyms, uniforms

__all__ = [
    "TOTAL",
    "IntegerChannel",
    "Sampler",
    "StudyKey",
    "keyed_digest",
    "pseudonyms",
    "uniforms",
]

__getattr__ = deferred(
    __name__,
    {
        "integer_channel": ("TOTAL", "IntegerChannel", "Sampler"),
        "keys": ("StudyKey", "keyed_digest", "pseudonyms", "uniforms"),
    },
)
