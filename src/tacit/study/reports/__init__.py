"""What people and machines are told about a study."""
