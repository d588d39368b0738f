"""Limits on coalitions of parties: the only reader of what a policy says.

To add a kind of limit, write a subclass of ``Limit`` and decorate it with ``register_limit``.
"""

from tacit.policy.policy import (
    AnySize,
    Everyone,
    Group,
    Limit,
    Parties,
    Policy,
    bits_in_words,
    bits_of,
    coalition_name,
    limit_in_words,
    register_limit,
    whom_in_words,
)

__all__ = [
    "AnySize",
    "Everyone",
    "Group",
    "Limit",
    "Parties",
    "Policy",
    "bits_in_words",
    "bits_of",
    "coalition_name",
    "limit_in_words",
    "register_limit",
    "whom_in_words",
]
