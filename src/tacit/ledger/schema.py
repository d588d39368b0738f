"""The ledger's tables, and the triggers that let rows be added and never changed.

Every name carries a prefix, because a PostgreSQL database may be shared. Whoever owns the database
can drop the triggers; what they then change, the chain shows.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    insert,
    text,
)

LEDGER_FORMAT = "4"
"""Of these tables; a ledger of another format is refused."""

metadata = MetaData()

versions = Table("tacit_version", metadata, Column("version_num", Text, primary_key=True))
"""One row: the format of the other tables."""

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

_SAME_ROW = {
    "tacit_ledger": "id = NEW.id",
    "tacit_studies": "study = NEW.study",
    "tacit_entries": "(study = NEW.study AND number = NEW.number) OR hash = NEW.hash",
}
"""Append-only table -> what makes a row the same row as a new one."""

_IS_NAMED = (
    "EXISTS (SELECT 1 FROM tacit_entries WHERE study = OLD.study "
    """AND body LIKE '%"registration":%')"""
)
"""A study's registration may be replaced once an entry names a new one: when records are erased,
hashes of their ids leave the sketch."""


def create_tables(connection: Connection, salt: bytes) -> None:
    """Make a ledger without studies."""
    metadata.create_all(connection)
    triggers = _sqlite_triggers if connection.dialect.name == "sqlite" else _postgresql_triggers
    for statement in triggers():
        connection.execute(text(statement))
    connection.execute(insert(ledgers), {"id": 1, "salt": salt})
    connection.execute(insert(versions), {"version_num": LEDGER_FORMAT})


def _sqlite_triggers() -> list[str]:
    statements = []
    for table, is_same_row in _SAME_ROW.items():
        refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        unnamed = f"WHEN NEW.study IS NOT OLD.study OR NOT {_IS_NAMED} "
        allowed = unnamed if table == studies.name else ""
        statements += [
            f"CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} {allowed}{refuse}",
            f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} {refuse}",
            # INSERT OR REPLACE removes the old row without firing the trigger on DELETE.
            (
                f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} "
                f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {is_same_row}) {refuse}"
            ),
        ]
    return statements


def _postgresql_triggers() -> list[str]:
    refuse = "RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;"
    statements = [
        (
            "CREATE FUNCTION tacit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {refuse} END $$"
        ),
        (
            "CREATE FUNCTION tacit_refuse_unnamed() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN IF NEW.study <> OLD.study OR NOT {_IS_NAMED} THEN {refuse} END IF; "
            "RETURN NEW; END $$"
        ),
        (
            "CREATE TRIGGER tacit_studies_update BEFORE UPDATE ON tacit_studies "
            "FOR EACH ROW EXECUTE FUNCTION tacit_refuse_unnamed()"
        ),
    ]
    for table in _SAME_ROW:
        changes = "DELETE OR TRUNCATE" if table == studies.name else "UPDATE OR DELETE OR TRUNCATE"
        statements.append(
            f"CREATE TRIGGER {table}_append_only BEFORE {changes} ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION tacit_refuse_change()"
        )
    return statements
