"""One fixture runs a test on every ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.study import Study
from tests.study.clinic import copy_clinic, make_clinic


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest) -> str:
    """Where a study's ledger is: in its own folder, or on a server."""
    if request.param == "sqlite":
        return "folder"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture(scope="session")
def kept_clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a clinic is that is copied and never used itself."""
    place = tmp_path_factory.mktemp("kept")
    _fill(make_clinic(place, external=["outcome"], everyone=0.9)).close()
    return place


@pytest.fixture
def study(tmp_path: Path, ledger: str, kept_clinic: Path) -> Iterator[Study]:
    """A clinic with two laboratories and a registry, on every ledger."""
    if ledger == "folder":
        made = Study.open(copy_clinic(kept_clinic, tmp_path))
    else:
        made = _fill(make_clinic(tmp_path, ledger, external=["outcome"], everyone=0.9))
    with made:
        yield made


@pytest.fixture
def sqlite_study(tmp_path: Path, kept_clinic: Path) -> Iterator[Study]:
    """The same, for what has nothing to do with the ledger."""
    with Study.open(copy_clinic(kept_clinic, tmp_path)) as made:
        yield made


def _fill(made: Study) -> Study:
    for party in ("lab-a", "lab-b", "registry"):
        made.set_limit(party, 0.4)
    return made
