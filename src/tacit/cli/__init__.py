"""The command ``tacit``: a thin front over the library.

What a command needs is imported when it runs, so that ``tacit --help`` answers at once.
"""

from __future__ import annotations

try:
    import typer  # noqa: F401 - only to say what is missing, before anything else fails
except ImportError as error:  # pragma: no cover - the development environment has it
    raise SystemExit(
        "the command tacit needs the packages typer and rich, which are not installed: "
        "install tacit with its extra, tacit[cli]"
    ) from error

from tacit.cli.app import main, run

__all__ = ["main", "run"]
