"""What MkDocs adds to the pages in docs when it builds the site.

A page for each room of tacit, written from docstrings; KaTeX, out of an installed wheel; and the
researchers' tutorial as a notebook.
"""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import tacit

ROOMS = (*tacit.ROOMS, "remark", "solvers.iteration.blahut_arimoto")
"""Rooms with a page of their own, and two modules that hold single names."""

ROOM_PAGES = {room: f"reference/python/{room}.md" for room in ROOMS}
NOTEBOOK = "tutorials/researcher"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the empty list of *Python, name by name* with the pages of rooms; leave out one page.

    A page for unknown addresses would need to know the address of the site; a server has its own.
    """
    config.theme.static_templates.discard("404.html")
    [reference] = [part["Reference"] for part in config.nav or [] if "Reference" in part]
    [names] = [part for part in reference if "Python, name by name" in part]
    names["Python, name by name"] = [{f"tacit.{room}": path} for room, path in ROOM_PAGES.items()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is not in docs."""
    for room, path in ROOM_PAGES.items():
        files.append(File.generated(config, path, content=f"::: tacit.{room}\n"))
    files.append(File.generated(config, "javascripts/katex.min.js", abs_src_path=str(katex())))
    tutorial = files.get_file_from_path(f"{NOTEBOOK}.md")
    if tutorial is None:
        raise SystemExit(f"{NOTEBOOK}.md is not in docs")
    notebook = nbformat.writes(notebook_of(tutorial.content_string))
    files.append(File.generated(config, f"{NOTEBOOK}.ipynb", content=notebook))
    return files


def katex() -> Path:
    """KaTeX as one file; as MathML its formulas need no fonts and no style."""
    wheel = distribution("sphinxcontrib-katex")
    return Path(str(wheel.locate_file("sphinxcontrib/katex.min.js")))


def text_alone(text: str) -> str:
    """Text as notebooks show it: dollars around formulas, no links to pages that are not there."""
    text = re.sub(r"\\\((.+?)\\\)", r"$\1$", text)
    return re.sub(r"\[([^]]+)\]\([^)]+\.(?:md|ipynb)[^)]*\)", r"\1", text)


def notebook_of(page: str) -> Any:
    """A page as a notebook: its Python becomes cells; what they print on the page is left out."""
    cells = []
    printed = r"(?:\n+```text\n.*?^```)?"
    parts = re.split(rf"^```python\n(.*?)^```{printed}", page, flags=re.DOTALL | re.MULTILINE)
    for number, part in enumerate(parts):
        if number % 2:
            cells.append(new_code_cell(part.strip(), id=f"cell-{number}"))
        elif part.strip():
            cells.append(new_markdown_cell(text_alone(part.strip()), id=f"cell-{number}"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})
