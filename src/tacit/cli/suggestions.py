"""What an error suggests, as commands to paste."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.cli.display import command_line
from tacit.errors import Suggestion


class CommandWords:
    """A command as it was typed: its words, from which a suggestion takes what it does not say.

    Attributes:
        words: what stood after ``tacit``.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)

    def option(self, name: str) -> str | None:
        """What was given for an option."""
        for word, following in zip(self.words, [*self.words[1:], ""], strict=True):
            if word == name:
                return following
            if word.startswith(f"{name}="):
                return word.removeprefix(f"{name}=")
        return None

    @property
    def folder(self) -> str:
        """The study's folder."""
        commands = {"party": 2, "collusion": 2, "restore": 2}
        place = commands.get(self.words[0], 1) if self.words else 1
        return self.words[place] if len(self.words) > place else "FOLDER"


def command_of(suggestion: Suggestion, typed: CommandWords) -> str | None:
    """A suggestion as a command, or as options to add to the command that was typed."""
    return _COMMANDS[suggestion.action](suggestion.arguments, typed)


def tail_of(suggestions: Sequence[Suggestion], typed: CommandWords) -> str:
    """What to add to an error's message, so that people see what to type."""
    fits = [each for each in suggestions if each.is_answered]
    if fits:
        return f"; what fits: {' or '.join(_spelled(fits, typed))}"
    spelled = _spelled(suggestions, typed)
    if not spelled:
        return ""
    is_one_step = {each.action for each in suggestions} <= {"set_party", "change_collusion"}
    if is_one_step or len(spelled) == 1:
        return f" with {' and '.join(spelled)}"
    return f"; see {', '.join(spelled)}"


def _spelled(suggestions: Sequence[Suggestion], typed: CommandWords) -> list[str]:
    commands = (command_of(each, typed) for each in suggestions)
    return [command for command in commands if command is not None]


def _option(name: str, value: object) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option} {command_line(value)}"


def _release(arguments: Mapping[str, Any], typed: CommandWords) -> str | None:
    if "party" not in arguments:  # a scheme's, which has no command line
        return None
    party = arguments["party"]
    words = ["tacit", "release", typed.folder, party]
    words += [",".join(arguments["asked"])] if "asked" in arguments else ["--sql", arguments["sql"]]
    utility = arguments["utility"]
    given = utility if isinstance(utility, str) else typed.option("--utility")
    words += [] if given in ("hamming", None) else ["--utility", given]
    for name, option in (("bits", "--bits"), ("max_error", "--max-error")):
        words += [option, repr(arguments[name])] if name in arguments else []
    return command_line(*words, "--out", typed.option("--out") or f"{party}.parquet")


def _party_add(arguments: Mapping[str, Any], typed: CommandWords) -> str:
    words = ["tacit", "party", "add", typed.folder, arguments["name"], "--limit"]
    return f"{command_line(*words)} BITS"


def _collusion_set(arguments: Mapping[str, Any], typed: CommandWords) -> str | None:
    options = [word for limit in arguments["limits"] for word in _limit_option(limit)]
    if not options:  # limits of kinds that only Python can set
        return None
    return command_line("tacit", "collusion", "set", typed.folder, *options)


def _limit_option(limit: Mapping[str, Any]) -> list[str]:
    """The option that sets a limit; none for kinds that only Python can set."""
    match limit["kind"]:
        case "everyone":
            return ["--everyone", "BITS"]
        case "sizes":
            return ["--any", f"{limit['size']}=BITS"]
        case "groups":
            return ["--group", f"{','.join(limit['members'])}=BITS"]
        case _:
            return []


def _verify(arguments: Mapping[str, Any], typed: CommandWords) -> str:
    paper = ["--receipt", arguments["receipt"]] if "receipt" in arguments else []
    return command_line("tacit", "verify", typed.folder, *paper)


def _restore(_: Mapping[str, Any], typed: CommandWords) -> str:
    return command_line("tacit", "restore", "FILE", typed.folder)


def _init(arguments: Mapping[str, Any], typed: CommandWords) -> str:
    if arguments:
        return " ".join(_option(name, value) for name, value in arguments.items())
    return f"{command_line('tacit', 'init', typed.folder)} --table ..."


def _go_on(_: Mapping[str, Any], __: CommandWords) -> str:
    return "--accept-rollback of tacit release, party add, collusion set and close"


_COMMANDS: dict[str, Callable[[Mapping[str, Any], CommandWords], str | None]] = {
    "create": _init,
    "open": _go_on,
    "release": _release,
    "restore": _restore,
    "change_collusion": _collusion_set,
    "set_party": _party_add,
    "verify": _verify,
}
"""What the library calls an action -> how it is typed."""
