"""All commands and their options, found by walking the tree that Typer has made of them."""

from __future__ import annotations

from functools import cache
from typing import Any

from typer.main import get_command

from tacit.cli.app import command_tree


@cache
def commands() -> dict[tuple[str, ...], Any]:
    """Words of each command -> the command; groups are not commands."""
    found: dict[tuple[str, ...], Any] = {}

    def walk(command: Any, path: tuple[str, ...]) -> None:
        children = getattr(command, "commands", None)
        if children is None:
            found[path] = command
            return
        for name, child in children.items():
            walk(child, (*path, name))

    walk(get_command(command_tree()), ())
    return found


def options(path: tuple[str, ...]) -> set[str]:
    """The options of a command, as they are typed."""
    named = [name for param in commands()[path].params for name in param.opts]
    return {name for name in named if name.startswith("-")}


def arguments(path: tuple[str, ...]) -> list[str]:
    """The arguments of a command, as its help calls them."""
    return [param.metavar for param in commands()[path].params if not param.opts[0].startswith("-")]
