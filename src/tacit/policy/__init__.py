"""Limits on coalitions of parties: the only reader of what a policy says.

To add a kind of limit, write a subclass of ``Limit`` and decorate it with ``register_limit``;
to offer it to the command line, name it in an entry point, see ``find_kind``.
"""

from tacit.policy.policy import (
    Amount,
    AnySize,
    Everyone,
    Group,
    Limit,
    Parties,
    Policy,
    bits_in_words,
    bits_of,
    cap_in_words,
    coalition_name,
    find_kind,
    limit_in_words,
    register_limit,
    times_in_words,
    whom_in_words,
)

__all__ = [
    "Amount",
    "AnySize",
    "Everyone",
    "Group",
    "Limit",
    "Parties",
    "Policy",
    "bits_in_words",
    "bits_of",
    "cap_in_words",
    "coalition_name",
    "find_kind",
    "limit_in_words",
    "register_limit",
    "times_in_words",
    "whom_in_words",
]
