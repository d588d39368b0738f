"""What is refused before anything is recorded, because the study is not as it should be."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInputError, LedgerError, RolledBackError
from tacit.ledger import Ledger
from tacit.storage import atomic_file
from tacit.study.books.records import CreatedRecord
from tacit.study.folder import Configuration, Layout, is_study
from tacit.tables.delivery.engine import Engine, Records
from tacit.tables.sources.source import Evidence, find_source


def source_changes(layout: Layout, engine: Engine[Any], records: Records, source: str) -> list[str]:
    """What has changed in the source, in words; a file that is gone has not changed.

    A file that was compared before is compared again only when its size or time has moved.
    """
    if source_file(source) is None:
        return engine.compare(records, source)
    now = look(source)
    if now is None or now == _seen(layout):
        return []
    changes = engine.compare(records, source)
    if not changes:
        keep_look(layout, now)
    return changes


def look(source: str) -> Evidence | None:
    """Evidence of what a source is now; ``None`` if there is none."""
    return find_source(source).evidence()


def keep_look(layout: Layout, seen: Evidence) -> None:
    """Remember how a source looked that is the same as the snapshot, if there is room for it."""
    with suppress(OSError), atomic_file(layout.source_seen, mode=0o600) as written:
        written.write(json.dumps(seen).encode())


def source_shown(source: str) -> str:
    """A source for messages: without a database's password."""
    return find_source(source).shown


def source_file(source: str) -> Path | None:
    """The file that a source is in; ``None`` for a database server."""
    return find_source(source).file


def _seen(layout: Layout) -> object:
    try:
        return json.loads(layout.source_seen.read_text())
    except (OSError, ValueError):
        return None


def refuse_unregistered(layout: Layout, configuration: Configuration, ledger: Ledger) -> None:
    """A folder whose making was cut short just before its ledger knew of it, or a lost ledger."""
    if configuration.study in ledger.studies():
        return
    shown = f"the ledger {ledger.url_shown} does not know {layout.folder}"
    if layout.high_water.exists():
        raise RolledBackError(
            f"{shown}, which was used with it: it was rolled back or replaced; put the newest "
            f"backup back with tacit restore FILE {layout.folder}"
        )
    raise LedgerError(
        f"{shown}: if making it was interrupted, run tacit init again; else restore the ledger"
    )


def source_remarks(layout: Layout, engine: Engine[Any], records: Records, source: str) -> list[str]:
    """What to say before a new release about a table that is gone; one that changed is refused."""
    changes = source_changes(layout, engine, records, source)
    if changes:
        raise InvalidInputError(
            f"{source_shown(source)} has changed since {layout.folder} was made "
            f"({'; '.join(changes)}): put it back, or make a new study of it"
        )
    file = source_file(source)
    if file is None or file.exists():
        return []
    return [f"{file} is no longer there: the release is made of the table as it was at init"]


def refuse_changed_snapshot(snapshot: Records, key: bytes, created: CreatedRecord) -> None:
    """A snapshot that is not, byte by byte, the one that the study began with."""
    if created.snapshot_seal is not None:
        snapshot.check_seal(key, created.snapshot_seal)
    else:  # 0.1 digested what the files say, which takes longer to check
        snapshot.check(key, created.snapshot_digest)


def refuse_own_files(source: str, target: Path) -> None:
    """A file that would lie in the folder of a study, of any, or over the study's table."""
    table, place = source_file(source), target.resolve()
    refuse_study_files(target)
    if table is not None and place == table.resolve():
        raise InvalidInputError(
            f"{target} belongs to the study, which was made of it: give another file"
        )


def refuse_study_files(target: Path) -> None:
    """A file that would lie in the folder of a study, of any."""
    for folder in target.resolve().parents:
        if is_study(folder):
            raise InvalidInputError(
                f"{target} belongs to the study {folder}: give a file that is not in its folder"
            )
