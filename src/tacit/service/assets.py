"""Files that pages load: ours, and those that installed packages carry. None is from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tacit.errors import InvalidInputError

STATIC = Path(__file__).parent / "static"

_PACKAGED = {
    "swagger-ui.css": ("swagger_ui", "static/swagger-ui.css"),
    "swagger-ui-bundle.js": ("swagger_ui", "static/swagger-ui-bundle.js"),
    "plotly.min.js": ("plotly", "package_data/plotly.min.js"),
}
"""Name -> the package that has it, and where."""

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def plotly_style_ids() -> tuple[str, ...]:
    """Ids of style elements that Plotly adds unless elements with these ids are there.

    Our pages allow no styles but those of our style sheet, which has what the figures need.
    """
    text = _packaged(*_PACKAGED["plotly.min.js"]).read_text(encoding="utf-8")
    return tuple(sorted(set(re.findall(r'getElementById\("([0-9a-f]{64})"\)', text))))


def find_asset(name: str) -> tuple[Path, str] | None:
    """Path and media type of a file by its name; ``None`` if pages load no such file."""
    media_type = _TYPES.get(Path(name).suffix)
    if media_type is None:
        return None
    if name in _PACKAGED:
        return _packaged(*_PACKAGED[name]), media_type
    own = {path.name: path for path in STATIC.iterdir()}
    return (own[name], media_type) if name in own else None


def _packaged(package: str, place: str) -> Path:
    """A file of an installed package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise InvalidInputError(f"the package {package} is missing: install tacit[service]")
    return Path(spec.origin).parent / place
