"""What tests of several rooms share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url", "registry"]


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Studies of a test that name no ledger share one of the test's own, not the user's."""
    file = tmp_path / "registry.sqlite"
    monkeypatch.setenv("TACIT_LEDGER", f"sqlite:///{file}")
    return file
