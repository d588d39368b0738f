"""Whether the table that a study was made of is still the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tacit.study.layout import Layout
from tacit.tables import Snapshot, compare
from tacit.tables.whole_file import whole_file


def source_changes(layout: Layout, snapshot: Snapshot, source: str) -> list[str]:
    """What has changed in the source, in words; a file that is gone has not changed.

    A file that was compared before is compared again only when its size or time has moved.
    """
    file = _file(source)
    if file is None:
        return compare(snapshot, source)
    try:
        status = file.stat()
    except FileNotFoundError:
        return []
    seen = {"size": status.st_size, "modified": status.st_mtime_ns}
    if _seen(layout) == seen:
        return []
    changes = compare(snapshot, source)
    if not changes:
        with whole_file(layout.source_seen, mode=0o600) as written:
            written.write(json.dumps(seen).encode())
    return changes


def _file(source: str) -> Path | None:
    """The file that a source is in; ``None`` for a database server."""
    if "://" in source:
        return None
    return Path(re.sub(r"(?<=\.duckdb)(::|#).*$", "", source))


def _seen(layout: Layout) -> object:
    try:
        return json.loads(layout.source_seen.read_text())
    except (OSError, ValueError):
        return None
