"""Checks of figures that were written."""

from __future__ import annotations

import re
from pathlib import Path


def assert_works_offline(page: Path) -> None:
    """plotly.js is inside, and nothing is loaded from elsewhere."""
    text = page.read_text(encoding="utf-8")
    assert "plotly.js v" in text
    assert not re.search(r"<(?:script|img|iframe)[^>]{0,300}\ssrc=", text)
    assert not re.search(r"<link[^>]{0,300}\shref=", text)


def assert_is_png(picture: Path) -> None:
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert 5_000 < len(data) < 150_000
