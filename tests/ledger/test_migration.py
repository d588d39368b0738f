"""Ledgers of every earlier version are brought up to date, all or nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.exc import DBAPIError

from tacit.ledger import Ledger
from tacit.ledger.database import Database, parse_address
from tacit.ledger.migration import alembic_config
from tacit.ledger.schema import NEWEST_REVISION, VERSION_TABLE, metadata
from tests.ledger.chains import STUDY, chain, execute, sketch_of


def test_the_migrations_lead_to_the_schema(url: str) -> None:
    Ledger.create(url).close()
    database = Database.at(parse_address(url))
    with database.reading() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == NEWEST_REVISION
    assert database.revision() == NEWEST_REVISION
    database.close()


def test_creating_again_changes_nothing(url: str) -> None:
    with Ledger.create(url) as first:
        entries = chain(first, 2)
    with Ledger.create(url) as again:
        assert again.salt == first.salt
        assert again.entries(STUDY) == entries


def test_an_older_ledger_is_upgraded(url: str) -> None:
    """Version 0001 had no triggers; what it recorded stays as it was."""
    database = Database.at(parse_address(url))
    with database.writing() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    old = Ledger(database)
    entries = chain(old, 2)
    execute(url, "DELETE FROM tacit_entries WHERE number = 9")
    old.close()
    with Ledger.open(url) as ledger:
        assert ledger.entries(STUDY) == entries
        with pytest.raises(DBAPIError, match="append-only"):
            execute(url, "DELETE FROM tacit_entries")
        assert ledger.register("new", sketch_of("new"), {}).number == 1


def test_sqlite_is_set_for_good(sqlite_url: str) -> None:
    with Ledger.create(sqlite_url) as ledger, ledger._database.reading() as connection:
        pragma = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        }
    extra = 3
    assert pragma == {
        "journal_mode": "delete",
        "synchronous": extra,
        "busy_timeout": 60_000,
        "foreign_keys": 1,
    }


def test_postgresql_is_set_for_good(postgres_url: str) -> None:
    careless = f"{postgres_url}%20-csynchronous_commit%3Doff"
    with Ledger.create(careless) as ledger, ledger._database.writing() as connection:
        names = ("synchronous_commit", "transaction_isolation", "lock_timeout")
        settings = [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names]
    assert settings == ["on", "read committed", "1min"]


def test_a_ledger_that_is_up_to_date_is_opened_without_alembic(sqlite_url: str) -> None:
    Ledger.create(sqlite_url).close()
    script = (
        "import sys; sys.modules['alembic'] = None\n"
        "from tacit.ledger import Ledger; Ledger.open(sys.argv[1]).close()"
    )
    subprocess.run([sys.executable, "-c", script, sqlite_url], check=True)
