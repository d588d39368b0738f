"""From a request to a design, and what it would cost."""
