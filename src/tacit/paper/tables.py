"""[TVC] Tables I and II as pictures and pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from tacit.markup import html_table
from tacit.paper.table1 import JOINT
from tacit.paper.table2 import table2, table2_text
from tacit.plots import table_figure

TITLE_1 = "Table I: joint law p(z, x, r)"
TITLE_2 = "Table II: p(r̂ = 0 | z, x) at μ₁ = μ₂ = 0.01 (a), 0.1 (b) and 5 (c), printed and ours"


def draw_table1(out: Path) -> list[Path]:
    """Write table1.png and table1.html."""
    rows = [[str(z), str(x), str(r), f"{JOINT[z, x, r]:.3f}"] for z, x, r in np.ndindex(2, 2, 2)]
    return _draw(out, "table1", ["z", "x", "r", "p"], rows, TITLE_1)


def draw_table2(out: Path) -> list[Path]:
    """Write table2.png and table2.html, and the whole of it with certificates as table2.txt."""
    header = ["z", "x", *(f"({part}) {whose}" for part in "abc" for whose in ("printed", "ours"))]
    rows = []
    for z, x in np.ndindex(2, 2):
        pairs = [(part.printed[z, x, 0], part.run.channel[z, x, 0]) for part in table2()]
        rows.append([str(z), str(x), *(f"{value:.3f}" for pair in pairs for value in pair)])
    text = out / "table2.txt"
    files = _draw(out, "table2", header, rows, TITLE_2)
    text.write_text(table2_text() + "\n", encoding="utf-8")
    return [*files, text]


def _draw(out: Path, name: str, header: list[str], rows: list[list[str]], title: str) -> list[Path]:
    picture, page = out / f"{name}.png", out / f"{name}.html"
    table_figure(header, rows, title, path=picture)
    page.write_text(_page(header, rows, title), encoding="utf-8")
    return [picture, page]


def _page(header: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> str:
    """A table as a page of its own, in HTML."""
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>\n'
        "<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}"
        "caption{font-size:1.5em;margin-bottom:.7em;text-align:left}"
        "td,th{border:1px solid #999;padding:.3em .7em;text-align:center}</style>\n"
        f"{html_table(title, header, rows)}\n</html>\n"
    )
