"""The ledger's tables, as the newest migration leaves them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

VERSION_TABLE = "tacit_version"
"""Alembic's table; every name carries a prefix, because a PostgreSQL database may be shared."""

NEWEST_REVISION = "0003"
"""The migration that leads to these tables; a database that has had it is up to date."""

metadata = MetaData()

ledgers = Table(
    "tacit_ledger",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("salt", LargeBinary, nullable=False),
)
"""One row: the salt, made with the database."""

studies = Table(
    "tacit_studies",
    metadata,
    Column("study", Text, primary_key=True),
    Column("n_records", BigInteger, nullable=False),
    Column("sketch", Text, nullable=False),
)

entries = Table(
    "tacit_entries",
    metadata,
    Column("study", Text, ForeignKey("tacit_studies.study"), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False, unique=True),
)
