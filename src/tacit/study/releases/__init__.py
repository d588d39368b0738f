"""From a design to a delivered file."""
