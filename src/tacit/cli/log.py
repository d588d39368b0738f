"""The command ``tacit log``: who got what, when and why, with which command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.cli.display import plain, show_json
from tacit.cli.options import AsJson, Folder
from tacit.errors import Suggestion
from tacit.words.commands import command_of

if TYPE_CHECKING:
    from tacit.study import LogEntry


def log(folder: Folder, as_json: AsJson = False) -> None:
    """Who got what, when and why, and the command that does the same.

    Every entry of the ledger, the oldest first.
    """
    from tacit.study import Study
    from tacit.study.reports.receipts import time_in_words

    with Study.open(folder) as study:
        entries = study.log()
    if as_json:
        commands = [{"command": _command(each, folder)} for each in entries]
        logged = [each.as_dict() for each in entries]
        show_json({"entries": [a | b for a, b in zip(logged, commands, strict=True)]})
        return
    width = len(str(len(entries)))
    for each in entries:
        print(f"{each.number:>{width}}  {time_in_words(each.time)}  {plain(each.in_words)}")
        if each.reason is not None:
            print(f"   reason: {plain(each.reason)}")
        command = _command(each, folder)
        if command is not None:
            print(f"   $ {plain(command)}")


def _command(entry: LogEntry, folder: Path) -> str | None:
    """What is typed to do the same."""
    if entry.action is None:
        return None
    return command_of(Suggestion(entry.action, entry.arguments), {"folder": folder})
