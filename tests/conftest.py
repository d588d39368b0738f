"""What tests of several rooms share."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.pages import ROOT
from tests.postgres import postgres_server, postgres_url
from tests.study.doomed import Doomed, doomed

__all__ = ["postgres_server", "postgres_url", "registry", "server", "site"]

# Whatever is made outside a test names its ledger: never the user's own.
os.environ["TACIT_LEDGER"] = "sqlite:////no/such/folder/ledger.sqlite"

# What is imported and collected stays: looking through it for garbage, again and again, took a
# quarter of the time of collecting.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from here on, among what the tests make."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Let Python see all at its end: DuckDB reports what is left then."""
    gc.unfreeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow tests begin first: one that began last would keep a single worker busy.

    A worker of xdist gets as many tests in a row as the others, and steals from the end of a row.
    So each row begins with slow tests, those of a folder in the same row: they share fixtures.
    """
    n_workers: int = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    slow, quick = defaultdict(list), []
    for item in items:
        (slow[item.path.parent] if item.get_closest_marker("slow") else quick).append(item)
    rows: list[list[pytest.Item]] = [[] for _ in range(n_workers)]
    for folder in sorted(slow.values(), key=len, reverse=True):
        min(rows, key=len).extend(folder)
    ordered: list[pytest.Item] = []
    others = iter(quick)
    for number, row in enumerate(rows):
        size = (len(items) - len(ordered)) // (n_workers - number)
        ordered += [*row, *islice(others, max(0, size - len(row)))]
    items[:] = [*ordered, *others]


@pytest.fixture(autouse=True)
def registry(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Studies of a test that name no ledger share one of the test's own, not the user's."""
    file = tmp_path_factory.mktemp("registry") / "ledger.sqlite"
    monkeypatch.setenv("TACIT_LEDGER", f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def server() -> Iterator[Doomed]:
    """What runs commands and kills them at a step."""
    with doomed() as running:
        yield running


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
