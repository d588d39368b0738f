"""Triggers that let a study's registration be replaced, once an entry names a new one.

When records are erased, hashes of their ids leave the sketch.
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

_IS_NAMED = (
    "EXISTS (SELECT 1 FROM tacit_entries WHERE study = OLD.study "
    """AND body LIKE '%"registration":%')"""
)


def upgrade() -> None:
    """Replace the trigger on the table of studies, in the database's own dialect."""
    if op.get_bind().dialect.name == "sqlite":
        _allow_named_in_sqlite()
    else:
        _allow_named_in_postgresql()


def _allow_named_in_sqlite() -> None:
    op.execute("DROP TRIGGER tacit_studies_update")
    op.execute(
        "CREATE TRIGGER tacit_studies_update BEFORE UPDATE ON tacit_studies "
        f"WHEN NEW.study IS NOT OLD.study OR NOT {_IS_NAMED} "
        "BEGIN SELECT RAISE(ABORT, 'tacit_studies is append-only'); END"
    )


def _allow_named_in_postgresql() -> None:
    op.execute("DROP TRIGGER tacit_studies_append_only ON tacit_studies")
    op.execute(
        "CREATE TRIGGER tacit_studies_append_only BEFORE DELETE OR TRUNCATE ON tacit_studies "
        "FOR EACH STATEMENT EXECUTE FUNCTION tacit_refuse_change()"
    )
    op.execute(
        "CREATE FUNCTION tacit_refuse_unnamed() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN IF NEW.study <> OLD.study OR NOT {_IS_NAMED} THEN "
        "RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END IF; RETURN NEW; END $$"
    )
    op.execute(
        "CREATE TRIGGER tacit_studies_update BEFORE UPDATE ON tacit_studies "
        "FOR EACH ROW EXECUTE FUNCTION tacit_refuse_unnamed()"
    )
