"""Alembic runs this file: migrate the connection that ``tacit.ledger.migration`` hands over."""

from __future__ import annotations

from alembic import context

from tacit.ledger.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
)
context.run_migrations()
