"""The documentation as it is built: whole, without anything from outside, and its notebook runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from nbclient import NotebookClient

from tests.pages import DOCS, page

pytestmark = pytest.mark.slow
"""They wait for the site to be built."""

LOADED = {"src", "srcset", "data", "poster"}
"""Attributes whose files a browser loads by itself; so it does ``href`` of ``link`` and SVG's."""


class Loads(HTMLParser):
    """What a browser loads for a page, and the classes and ids that are on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.files: list[str] = []
        self.ids: set[str] = set()
        self.classes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            elif name == "class":
                self.classes |= set((value or "").split())
            elif name in LOADED or (name in ("href", "xlink:href") and tag != "a"):
                self.files.append(value or "")
            elif name == "style":
                self.files += loaded_by_style(value or "")


def loaded_by_style(text: str) -> list[str]:
    """What a style sheet loads."""
    found = re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", text)
    return [address or imported for address, imported in found]


def outside(addresses: list[str]) -> list[str]:
    """Those that are not files beside the page, nor data inside it."""
    return [
        address
        for address in addresses
        if not address.startswith("data:")
        and (any(urlsplit(address)[:2]) or address.startswith("/"))
    ]


def pages_of(site: Path) -> Iterator[tuple[Path, Loads]]:
    for path in sorted(site.rglob("*.html")):
        yield path, Loads(path.read_text(encoding="utf-8"))


def test_no_page_loads_anything_from_outside(site: Path) -> None:
    n_pages = 0
    for path, loads in pages_of(site):
        n_pages += 1
        assert outside(loads.files) == [], path
        assert "mermaid" not in loads.classes, "the theme fetches a script for these diagrams"
    assert n_pages > len(list(DOCS.rglob("*.md")))


def test_no_style_loads_anything_from_outside(site: Path) -> None:
    sheets = list(site.rglob("*.css"))
    assert sheets
    for path in sheets:
        assert outside(loaded_by_style(path.read_text(encoding="utf-8"))) == [], path


def test_every_file_that_a_page_loads_is_there(site: Path) -> None:
    loaded = [
        (path, address)
        for path, loads in pages_of(site)
        for address in loads.files
        if not address.startswith(("data:", "#"))
    ]
    assert loaded
    for path, address in loaded:
        assert (path.parent / unquote(urlsplit(address).path)).exists(), (path, address)


def test_formulas_are_drawn_by_the_script_of_the_site(site: Path) -> None:
    with_formulas = [path for path, loads in pages_of(site) if "arithmatex" in loads.classes]
    assert site / "explanation" / "mathematics.html" in with_formulas
    assert (site / "javascripts" / "katex.min.js").stat().st_size > 100_000


def test_the_notebook_prints_what_the_page_shows(site: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(site / "tutorials" / "researcher.ipynb", as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = [
        "".join(output.text for output in cell.outputs if output.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    text = page("researcher").read_text(encoding="utf-8")
    shown = re.findall(
        r"^```python\n.*?^```(?:\n+```text\n(.*?)^```)?", text, re.DOTALL | re.MULTILINE
    )
    assert printed == shown
    assert any(shown)
