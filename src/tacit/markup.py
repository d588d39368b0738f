"""Tables in HTML, for notebooks and pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a caption; all texts are escaped."""
    body = "\n".join(_row("td", cells) for cells in rows)
    return f"<table>\n<caption>{escape(caption)}</caption>\n{_row('th', head)}\n{body}\n</table>"


def _row(kind: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"
