"""Whether the table that a study was made of is still the same."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

from tacit.study.layout import Layout
from tacit.tables import Snapshot, compare
from tacit.tables.postgresql import without_secrets
from tacit.tables.whole_file import whole_file

Look = dict[str, int]


def source_changes(layout: Layout, snapshot: Snapshot, source: str) -> list[str]:
    """What has changed in the source, in words; a file that is gone has not changed.

    A file that was compared before is compared again only when its size or time has moved.
    """
    if source_file(source) is None:
        return compare(snapshot, source)
    now = look(source)
    if now is None or now == _seen(layout):
        return []
    changes = compare(snapshot, source)
    if not changes:
        keep_look(layout, now)
    return changes


def look(source: str) -> Look | None:
    """Size and time of the file that a source is in; ``None`` if there is none."""
    file = source_file(source)
    try:
        status = None if file is None else file.stat()
    except FileNotFoundError:
        return None
    return None if status is None else {"size": status.st_size, "modified": status.st_mtime_ns}


def keep_look(layout: Layout, seen: Look) -> None:
    """Remember how a source looked that is the same as the snapshot, if there is room for it."""
    with suppress(OSError), whole_file(layout.source_seen, mode=0o600) as written:
        written.write(json.dumps(seen).encode())


def source_shown(source: str) -> str:
    """A source for messages: without a database's password."""
    return source if source_file(source) is not None else without_secrets(source)


def source_file(source: str) -> Path | None:
    """The file that a source is in; ``None`` for a database server."""
    if "://" in source:
        return None
    return Path(re.sub(r"(?<=\.duckdb)(::|#).*$", "", source))


def _seen(layout: Layout) -> object:
    try:
        return json.loads(layout.source_seen.read_text())
    except (OSError, ValueError):
        return None
