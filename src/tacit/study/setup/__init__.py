"""Making a study, and who may learn how much from it."""
