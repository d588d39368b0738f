"""From cells and states to release files."""
