"""One fixture runs a test on every ledger; one server runs all commands that are killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.study import Study
from tests.study.clinic import make_clinic
from tests.study.doomed import Doomed, doomed


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest) -> str:
    """Where a study's ledger is: in its own folder, or on a server."""
    if request.param == "sqlite":
        return "folder"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def study(tmp_path: Path, ledger: str) -> Iterator[Study]:
    """A clinic with two laboratories and a registry, on every ledger."""
    yield from _clinic(tmp_path, ledger)


@pytest.fixture
def sqlite_study(tmp_path: Path) -> Iterator[Study]:
    """The same, for what has nothing to do with the ledger."""
    yield from _clinic(tmp_path, "folder")


def _clinic(place: Path, ledger: str) -> Iterator[Study]:
    with make_clinic(place, ledger, external=["outcome"], everyone=0.9) as made:
        for party in ("lab-a", "lab-b", "registry"):
            made.set_party(party, 0.4)
        yield made


@pytest.fixture(scope="session")
def server() -> Iterator[Doomed]:
    """What runs commands and kills them at a step."""
    with doomed() as running:
        yield running
