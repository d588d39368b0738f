"""Triggers that let rows be added and never changed.

Whoever owns the database can drop them; what they then change, the chain shows.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

KEYS = {
    "tacit_ledger": "id = NEW.id",
    "tacit_studies": "study = NEW.study",
    "tacit_entries": "(study = NEW.study AND number = NEW.number) OR hash = NEW.hash",
}
"""Table -> what makes a row the same row as a new one."""


def upgrade() -> None:
    """Create the triggers in the database's own dialect."""
    if op.get_bind().dialect.name == "sqlite":
        _forbid_changes_in_sqlite()
    else:
        _forbid_changes_in_postgresql()


def _forbid_changes_in_sqlite() -> None:
    for table, is_same_row in KEYS.items():
        refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        op.execute(f"CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} {refuse}")
        op.execute(f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} {refuse}")
        # INSERT OR REPLACE removes the old row without firing the trigger on DELETE.
        op.execute(
            f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} "
            f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {is_same_row}) {refuse}"
        )


def _forbid_changes_in_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION tacit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"
    )
    for table in KEYS:
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION tacit_refuse_change()"
        )
