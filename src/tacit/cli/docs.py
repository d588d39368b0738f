"""The command ``tacit docs``: where the documentation is."""

from __future__ import annotations

from tacit.cli.display import plain, show_json
from tacit.cli.options import AsJson
from tacit.documentation import find_site


def docs(as_json: AsJson = False) -> None:
    """Say where the documentation is: pages to open in a browser, without a network."""
    start = find_site() / "index.html"
    if as_json:
        show_json({"site": str(start.parent), "start": str(start)})
    else:
        print(plain(str(start)))
