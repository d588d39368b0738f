"""Where the built documentation is: as the library and ``tacit docs`` tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit import documentation
from tacit.errors import TacitError
from tests.cli.clinic import done, refused


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the site, with nothing in it."""
    monkeypatch.setattr(documentation, "SITE", tmp_path / "site")
    return tmp_path / "site"


def test_a_site_that_was_built_is_found(site: Path) -> None:
    site.mkdir()
    (site / "index.html").touch()
    assert documentation.find_site() == site
    assert done("docs").out == f"{site / 'index.html'}\n"
    assert done("docs", "--json").json == {"site": str(site), "start": str(site / "index.html")}


def test_where_none_was_built_it_is_said_how(site: Path) -> None:
    with pytest.raises(TacitError, match="run make docs in a clone of tacit"):
        documentation.find_site()
    site.mkdir()  # left by a build that was interrupted
    assert "run make docs in a clone of tacit" in refused(1, "docs")
