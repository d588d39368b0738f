"""Limits on coalitions of parties: the only reader of what a policy says.

To add a kind of limit, write a subclass of ``Limit`` and decorate it with ``register``.
"""

from tacit.policy.policy import AnySize, Everyone, Group, Limit, Parties, Policy, register

__all__ = ["AnySize", "Everyone", "Group", "Limit", "Parties", "Policy", "register"]
