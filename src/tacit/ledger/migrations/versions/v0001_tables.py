"""Tables for the salt, the studies and their entries."""

from __future__ import annotations

from secrets import token_bytes

from alembic import context, op
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    Text,
)

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables, and the salt with them."""
    ledgers = op.create_table(
        "tacit_ledger",
        Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        Column("salt", LargeBinary, nullable=False),
    )
    salt = context.config.attributes.get("salt") or token_bytes(32)
    op.bulk_insert(ledgers, [{"id": 1, "salt": salt}])
    op.create_table(
        "tacit_studies",
        Column("study", Text, primary_key=True),
        Column("n_records", BigInteger, nullable=False),
        Column("sketch", Text, nullable=False),
    )
    op.create_table(
        "tacit_entries",
        Column("study", Text, ForeignKey("tacit_studies.study"), primary_key=True),
        Column("number", BigInteger, primary_key=True, autoincrement=False),
        Column("kind", Text, nullable=False),
        Column("time", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("payload", LargeBinary, nullable=False),
        Column("previous", Text, nullable=False),
        Column("hash", Text, nullable=False, unique=True),
    )
