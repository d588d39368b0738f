"""What somebody who owns the database can do to a study's ledger."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, delete, insert

from tacit.ledger import Entry
from tacit.ledger.database import parse_address
from tacit.ledger.entry import StoredEntry, canonical_json
from tacit.ledger.schema import entries as table
from tacit.sampling import IntegerChannel
from tacit.study.folder import Configuration
from tests.ledger.chains import tamper
from tests.study.clinic import entries_of

Body = dict[str, Any]
Edit = Callable[[Body], object]


def url_of(folder: Path) -> str:
    return Configuration.read(folder).ledger or f"sqlite:///{folder / 'ledger.sqlite'}"


def edit_rows(folder: Path, *statements: str) -> None:
    """Run SQL on the entries; hashes stay what they are."""
    tamper(url_of(folder), *statements)


def forge(folder: Path, edit: Callable[[list[Entry]], list[Entry]]) -> None:
    """Write another history, with all numbers and hashes as they should be."""
    url = url_of(folder)
    forged = sealed(edit(entries_of(folder)))
    tamper(url)
    engine = create_engine(parse_address(url))
    with engine.begin() as connection:
        connection.execute(delete(table))
        connection.execute(insert(table), [asdict(entry) for entry in forged])
    engine.dispose()
    remove_traces(folder)


def remove_traces(folder: Path) -> None:
    """Remove what shows in the folder that the ledger was another one."""
    (folder / "high-water.json").unlink(missing_ok=True)
    shutil.rmtree(folder / "states", ignore_errors=True)


def forge_last(folder: Path, kind: str, edit: Edit, channel: IntegerChannel | None = None) -> None:
    """Change the body of the last entry of a kind, and perhaps its table."""

    def edited(entries: list[Entry]) -> list[Entry]:
        last = max(number for number, entry in enumerate(entries) if entry.kind == kind)
        body = dict(entries[last].body)
        edit(body)
        payload = entries[last].payload if channel is None else channel.to_bytes()
        return [
            *entries[:last],
            replace(entries[last], body=body, payload=payload),
            *entries[last + 1 :],
        ]

    forge(folder, edited)


def sealed(entries: list[Entry]) -> list[StoredEntry]:
    """Entries as a chain; the first follows the study's registration, which stays."""
    chain: list[StoredEntry] = []
    for number, entry in enumerate(entries, 1):
        previous = chain[-1].hash if chain else entry.previous
        body = canonical_json(dict(entry.body))
        new = StoredEntry(
            entry.study, number, entry.kind, entry.time, body, entry.payload, previous
        )
        chain.append(new.sealed())
    return chain
