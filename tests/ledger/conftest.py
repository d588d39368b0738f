"""One fixture runs every test on every database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.ledger import Ledger


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """Where a SQLite ledger can be created."""
    return f"sqlite:///{tmp_path / 'ledger.sqlite'}"


@pytest.fixture(params=["sqlite_url", "postgres_url"], ids=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Where a ledger can be created."""
    place: str = request.getfixturevalue(request.param)
    return place


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """A new ledger."""
    with Ledger.create(url) as created:
        yield created
