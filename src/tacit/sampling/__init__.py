"""Integer channels and keyed sampling: a recorded release has one outcome, on every machine."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.sampling.digest import keyed_digest
    from tacit.sampling.integer_channel import TOTAL, IntegerChannel
    from tacit.sampling.keyed import Sampler, pseudonyms, uniforms
    from tacit.sampling.keys import StudyKey

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
        "digest": ("keyed_digest",),
        "integer_channel": ("TOTAL", "IntegerChannel"),
        "keyed": ("Sampler", "pseudonyms", "uniforms"),
        "keys": ("StudyKey",),
    },
)
