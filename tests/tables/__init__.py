"""From a table to a snapshot, and from a recorded release to a file."""
