"""Release problems that are judged by information: not convex."""
