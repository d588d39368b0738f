"""The pages of the documentation by name, so that no test knows which group a page is in."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def page(name: str) -> Path:
    """The one page of this name, as ``page("cli")``."""
    [path] = DOCS.rglob(f"{name}.md")
    return path


def text_of_all() -> str:
    """All pages, one after another."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md")))
