"""The state of a study, read from its ledger."""
