"""The docs are true: their examples run, and every public name is in them."""

from __future__ import annotations

import doctest
import re
import tomllib
from pathlib import Path

import pytest

from tests.pages import DOCS, ROOT, page

WITH_EXAMPLES = (
    "study",
    "cohorts",
    "engine",
    "scheme",
    "audit",
    "estimation",
    "analysis",
    "bottleneck",
    "datasets",
    "information",
    "bits",
    "collusion",
    "adaptive",
    "caps",
)
PAGES = [ROOT / "README.md", *map(page, WITH_EXAMPLES)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_examples_run_as_printed(path: Path) -> None:
    outcome = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_citation_names_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{version}}}" in page("cite").read_text(encoding="utf-8")


def test_formulas_are_written_for_the_script_that_draws_them() -> None:
    """Not with letters that only look like one."""
    for path in DOCS.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        prose = re.sub(r"(?ms)^```.*?^```|`[^`]*`", "", text)
        assert not re.search("[Rr]\u0302|Σ|log₂", prose), path


def test_every_cited_fact_is_on_the_page() -> None:
    facts = page("mathematics").read_text(encoding="utf-8")
    known = set(re.findall(r"^## (\d+)\. ", facts, re.MULTILINE))
    cited = {
        number
        for path in (ROOT / "src").rglob("*.[pch]*")
        if path.suffix in (".py", ".c", ".h")
        for fact in re.findall(r"\[M\] facts? ([\d and,]+)", path.read_text(encoding="utf-8"))
        for number in re.findall(r"\d+", fact)
    }
    assert cited
    assert cited <= known
