"""What tests of several rooms share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT
from tests.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url", "registry", "site"]

# Whatever is made outside a test names its ledger: never the user's own.
os.environ["TACIT_LEDGER"] = "sqlite:////no/such/folder/ledger.sqlite"


@pytest.fixture(autouse=True)
def registry(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Studies of a test that name no ledger share one of the test's own, not the user's."""
    file = tmp_path_factory.mktemp("registry") / "ledger.sqlite"
    monkeypatch.setenv("TACIT_LEDGER", f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages, built as ``make docs`` does."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder
