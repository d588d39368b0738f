"""The docs are true: their examples run, and every public name is in them."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import tacit

ROOT = Path(__file__).parent.parent
WITH_EXAMPLES = (
    "study",
    "engine",
    "scheme",
    "audit",
    "estimation",
    "analysis",
    "bottleneck",
    "datasets",
    "information",
)
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in WITH_EXAMPLES)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_as_printed(page: Path) -> None:
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("name", tacit.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert f"`{name}`" in text or f"tacit.{name}" in text


@pytest.mark.parametrize("target", ["demo", "test", "check", "bench"])
def test_every_documented_make_target_exists(target: str) -> None:
    assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_cited_fact_is_on_the_page() -> None:
    page = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^## (\d+)\. ", page, re.MULTILINE))
    cited = {
        number
        for path in (ROOT / "src").rglob("*.[pch]*")
        if path.suffix in (".py", ".c", ".h")
        for fact in re.findall(r"\[M\] facts? ([\d and,]+)", path.read_text(encoding="utf-8"))
        for number in re.findall(r"\d+", fact)
    }
    assert cited
    assert cited <= known
