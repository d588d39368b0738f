"""Files that pages load. None is from elsewhere."""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def find_asset(name: str) -> tuple[Path, str] | None:
    """Path and media type of a file by its name; ``None`` if pages load no such file."""
    own = {path.name: path for path in STATIC.iterdir()}
    media_type = _TYPES.get(Path(name).suffix)
    return (own[name], media_type) if name in own and media_type is not None else None
