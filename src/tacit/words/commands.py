"""Actions of the library, as an error suggests them or a page does them, as commands to paste."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.errors import Suggestion

Given = Mapping[str, Any]
"""What the command was given, by the names of its parameters; a suggestion takes from it what it
does not say itself. Empty where the words could not be parsed."""


_LIVE_IN_DOUBLE_QUOTES = frozenset('"$`\\!\n')
"""Signs that a shell does not take literally between double quotes."""


def command_line(*words: object) -> str:
    """A command to paste into a shell; words with apostrophes in double quotes, to be readable."""
    return " ".join(map(_quoted, map(str, words)))


def _quoted(word: str) -> str:
    is_readable = "'" in word and not _LIVE_IN_DOUBLE_QUOTES & set(word)
    return f'"{word}"' if is_readable else shlex.quote(word)


def command_of(suggestion: Suggestion, given: Given) -> str | None:
    """A suggestion as a command, or as options to add to the command that was typed."""
    return _COMMANDS[suggestion.action](suggestion.arguments, given)


def tail_of(suggestions: Sequence[Suggestion], given: Given) -> str:
    """What to add to an error's message, so that people see what to type."""
    fits = [each for each in suggestions if each.is_answered]
    if fits:
        return f"; what fits: {' or '.join(_spelled(fits, given))}"
    spelled = _spelled(suggestions, given)
    if not spelled:
        return ""
    is_one_step = {each.action for each in suggestions} == {"set_limit"}
    if is_one_step or len(spelled) == 1:
        return f" with {' and '.join(spelled)}"
    if all(each.startswith("--") for each in spelled):  # the message has named the choices
        return f"; that is {', or '.join(spelled)}"
    return f"; see {', '.join(spelled)}"


def _spelled(suggestions: Sequence[Suggestion], given: Given) -> list[str]:
    commands = (command_of(each, given) for each in suggestions)
    return [command for command in commands if command is not None]


def _option(name: str, value: object) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option} {command_line(value)}"


def _folder(given: Given) -> str:
    return str(given.get("folder", "FOLDER"))


def _release(arguments: Mapping[str, Any], given: Given) -> str | None:
    if "party" not in arguments:  # a scheme's, which has no command line
        return None
    if "compare" in given:  # a quote was asked for
        return _quote(arguments, given)
    words = ["tacit", "release", *_request(arguments, given)]
    words += ["--max-error", repr(arguments["max_error"])] if "max_error" in arguments else []
    words += ["--reason", arguments["reason"]] if "reason" in arguments else []
    words += ["--cohort", arguments["cohort"]] if "cohort" in arguments else []
    out = arguments.get("out") or given.get("out") or f"{arguments['party']}.parquet"
    return command_line(*words, "--out", out)


def _quote(arguments: Mapping[str, Any], given: Given) -> str:
    words = ["tacit", "quote", *_request(arguments, given)]
    words += ["--cohort", arguments["cohort"]] if "cohort" in arguments else []
    return command_line(*words, *(["--compare"] if arguments.get("compare") else []))


def _request(arguments: Mapping[str, Any], given: Given) -> list[str]:
    """The study, the party, what it asks for and how answers are judged."""
    words = [_folder(given), arguments["party"]]
    words += [",".join(arguments["asked"])] if "asked" in arguments else ["--sql", arguments["sql"]]
    utility = arguments.get("utility", "hamming")
    typed = utility if isinstance(utility, str) else given.get("utility")
    words += [] if typed in ("hamming", None) else ["--utility", typed]
    words += ["--worst-level"] if arguments.get("objective") == "worst-level" else []
    for level, error in arguments.get("ceilings", {}).items():
        words += ["--ceiling", f"{level}={error!r}"]
    words += ["--analysable"] if arguments.get("analysable") else []
    words += ["--bits", repr(arguments["bits"])] if "bits" in arguments else []
    return words + (["--again"] if arguments.get("again") else [])


def _set_limit(arguments: Mapping[str, Any], given: Given) -> str:
    line = command_line("tacit", "limit", _folder(given), arguments["whom"])
    for name in ("bits", "times"):
        if name in arguments:
            line += f" --{name} {_amount(arguments[name], name)}"
    return f"{line} --title {command_line(arguments['title'])}" if "title" in arguments else line


def _amount(amount: float | str | None, name: str = "bits") -> str:
    """Bits or times as they are typed; a word for them where somebody has to choose."""
    if isinstance(amount, str):  # none, for no limit
        return amount
    return name.upper() if amount is None else f"{amount:.12g}"


def _party_approval(arguments: Mapping[str, Any], given: Given) -> str:
    setting = "on" if arguments["is_required"] else "off"
    return command_line("tacit", "party", "approval", _folder(given), arguments["name"], setting)


def _close(_: Mapping[str, Any], given: Given) -> str:
    return command_line("tacit", "close", _folder(given), "--yes")


def _erase(arguments: Mapping[str, Any], given: Given) -> str:
    if "ids" not in arguments and arguments.get("skip_unknown"):
        return "--skip-unknown"
    words = ["tacit", "erase", _folder(given)]
    words += ["--ids", arguments["ids"]] if "ids" in arguments else []
    words += ["--skip-unknown"] if arguments.get("skip_unknown") else []
    return command_line(*words, *(["--dry-run"] if arguments.get("dry_run") else []))


def _verify(arguments: Mapping[str, Any], given: Given) -> str:
    paper = ["--receipt", arguments["receipt"]] if "receipt" in arguments else []
    return command_line("tacit", "verify", _folder(given), *paper)


def _audit(arguments: Mapping[str, Any], given: Given) -> str:
    records = ["--records", arguments["records"]] if "records" in arguments else []
    return command_line("tacit", "audit", _folder(given), *records)


def _audit_parties(arguments: Mapping[str, Any], given: Given) -> str:
    names = ",".join(arguments["parties"])
    return command_line("tacit", "audit", _folder(given), "--parties", names)


def _what_if(arguments: Mapping[str, Any], given: Given) -> str:
    words = ["tacit", "what-if", *_request(arguments, given)]
    for name in ("limit", "everyone"):
        words += [f"--{name}", _amount(arguments[name])] if name in arguments else []
    return command_line(*words)


def _plan(arguments: Mapping[str, Any], given: Given) -> str:
    asked = arguments.get("asked", ())
    asked = [each if isinstance(each, str) else ",".join(each) for each in asked]
    words = ["tacit", "plan", _folder(given), *asked]
    for expression in arguments.get("sql", ()):
        words += ["--sql", expression]
    if "correct" in arguments:
        words += ["--correct", f"{100 * arguments['correct']:g}"]
    words += ["--parties", arguments["parties"]] if arguments.get("parties") else []
    for option, name in (("bits", "limit"), ("times", "times")):
        words += [f"--{option}", _amount(arguments[name])] if name in arguments else []
    for whom, bits in arguments.get("limits", {}).items():
        words += ["--limit", f"{whom}={_amount(bits)}"]
    return command_line(*words)


def _link(arguments: Mapping[str, Any], given: Given) -> str:
    words = ["tacit", "link", _folder(given), arguments["party"], arguments["ids"]]
    return command_line(*words, "--out", "pseudonyms.csv")


def _token(arguments: Mapping[str, Any], given: Given) -> str:
    words = ["tacit", arguments["role"], "token", _folder(given), arguments["name"]]
    words += ["--expires", f"{arguments['days']:g}d"] if "days" in arguments else []
    return command_line(*words, *(["--revoke"] if arguments.get("revoke") else []))


def _receipt(arguments: Mapping[str, Any], given: Given) -> str:
    page = ["--html", "receipt.html"]
    return command_line("tacit", "receipt", _folder(given), arguments["number"], *page)


def _estimate(arguments: Mapping[str, Any], _: Given) -> str:
    return command_line("tacit", "estimate", arguments["file"])


def _look(command: str, *options: str) -> Callable[[Mapping[str, Any], Given], str]:
    """A command that takes nothing but the study."""
    return lambda _, given: command_line("tacit", command, _folder(given), *options)


def _restore(_: Mapping[str, Any], given: Given) -> str:
    return command_line("tacit", "restore", "FILE", _folder(given))


def _init(arguments: Mapping[str, Any], given: Given) -> str:
    if arguments:
        return " ".join(_option(name, value) for name, value in arguments.items())
    return f"{command_line('tacit', 'init', _folder(given))} --table ..."


def _extend(arguments: Mapping[str, Any], given: Given) -> str:
    named = {name: value for name, value in arguments.items() if value is not False}
    options = " ".join(_option(name, value) for name, value in named.items())
    if "table" not in arguments:
        return options
    return f"{command_line('tacit', 'extend', _folder(given))} {options}"


def _go_on(_: Mapping[str, Any], __: Given) -> str:
    return "--accept-rollback of tacit release, extend, limit, erase and close"


def _crosstab(arguments: Mapping[str, Any], _: Given) -> str:
    return " ".join(_option(name, value) for name, value in arguments.items())


_COMMANDS: dict[str, Callable[[Mapping[str, Any], Given], str | None]] = {
    "audit": _audit,
    "create": _init,
    "crosstab": _crosstab,
    "destroy_key": _close,
    "erase": _erase,
    "estimate": _estimate,
    "extend": _extend,
    "limits": _look("limit"),
    "link": _link,
    "log": _look("log"),
    "open": _go_on,
    "plan": _plan,
    "quote": _quote,
    "receipt": _receipt,
    "release": _release,
    "report": _look("report", "--html", "report.html"),
    "restore": _restore,
    "risk": _audit_parties,
    "set_approval": _party_approval,
    "set_limit": _set_limit,
    "status": _look("status"),
    "token": _token,
    "trace_surface": _what_if,
    "verify": _verify,
}
"""What the library calls an action -> how it is typed."""
