"""What tests of several rooms share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url", "registry"]

# Whatever is made outside a test names its ledger: never the user's own.
os.environ["TACIT_LEDGER"] = "sqlite:////no/such/folder/ledger.sqlite"


@pytest.fixture(autouse=True)
def registry(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Studies of a test that name no ledger share one of the test's own, not the user's."""
    file = tmp_path_factory.mktemp("registry") / "ledger.sqlite"
    monkeypatch.setenv("TACIT_LEDGER", f"sqlite:///{file}")
    return file
