"""Migrations of a database to the schema that this version of tacit reads and writes."""

from __future__ import annotations

from functools import cache
from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import func, select

from tacit.errors import LedgerError
from tacit.ledger.database import Database

_POSTGRESQL_LOCK = int.from_bytes(b"tacit")
"""An advisory lock: before the first migration there is no row to lock."""

_one_at_a_time = Lock()  # Alembic keeps the migration that runs in module globals


def upgrade_existing(database: Database) -> None:
    """Bring an existing ledger up to date.

    Raises:
        LedgerError: there is none, or a newer version of tacit has made it.
    """
    if database.revision() is None:
        raise LedgerError(
            f"there is no ledger in {database.shown}: put it back where it was, "
            "or restore it from a backup"
        )
    upgrade(database)


def upgrade(database: Database, salt: bytes | None = None) -> None:
    """Bring a database up to date; one without tables gets them.

    Several processes may do so at once.

    Args:
        database: where to.
        salt: of a new ledger, if it is to hold studies of another one; random by default.
    """
    refuse_newer(database)
    _run_migrations(database, salt)


def refuse_newer(database: Database) -> None:
    """Raise LedgerError for a ledger whose schema this version of tacit does not know."""
    found, known = database.revision(), _known_revisions()
    if found is not None and found not in known:
        raise LedgerError(
            f"the ledger {database.shown} was made by a newer version of tacit (schema {found}, "
            f"this one knows up to {known[0]}): update tacit"
        )


def _run_migrations(database: Database, salt: bytes | None) -> None:
    """All that are missing in one transaction, so that a crash leaves the schema as it was."""
    with _one_at_a_time, database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_POSTGRESQL_LOCK)))
        config = alembic_config()
        config.attributes.update(connection=connection, salt=salt)
        command.upgrade(config, "head")


@cache
def _known_revisions() -> tuple[str, ...]:
    """Newest first."""
    scripts = ScriptDirectory.from_config(alembic_config())
    return tuple(script.revision for script in scripts.walk_revisions())


def alembic_config() -> Config:
    """Alembic's configuration, which other projects keep in a file."""
    config = Config()
    config.set_main_option("script_location", "tacit.ledger:migrations")
    return config
