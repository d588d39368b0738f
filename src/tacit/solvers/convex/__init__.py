"""Release problems that are judged by a mean cost: convex, and solved to a certified gap."""
