"""Checks of a study's ledger, files and receipts."""
