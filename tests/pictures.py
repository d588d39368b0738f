"""Checks of figures that were written."""

from __future__ import annotations

from pathlib import Path


def assert_is_png(picture: Path) -> None:
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert 5_000 < len(data) < 150_000
