"""From columns to levels, and from records to cells."""
