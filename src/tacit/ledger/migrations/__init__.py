"""Alembic's migrations of the ledger; ``tacit.ledger.migrate`` runs them."""
