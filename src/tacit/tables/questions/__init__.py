"""What can be asked of a record: a column, or SQL over its levels."""
