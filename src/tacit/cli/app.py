"""The table of all commands, and the function that runs one.

To add a command, write a file with one function and add its line to ``COMMANDS``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, TextIO

import typer

from tacit.cli.audit import audit
from tacit.cli.backup import backup
from tacit.cli.close import close
from tacit.cli.crosstab import crosstab
from tacit.cli.demo import demo
from tacit.cli.docs import docs
from tacit.cli.doctor import doctor
from tacit.cli.erase import erase
from tacit.cli.estimate import estimate
from tacit.cli.extend import extend
from tacit.cli.failure import INTERRUPTED, INTERRUPTION, failure_of, missing_package
from tacit.cli.init import init
from tacit.cli.limit import limit
from tacit.cli.link import link
from tacit.cli.log import log
from tacit.cli.measure import measure
from tacit.cli.party import set_approval
from tacit.cli.plan import plan
from tacit.cli.quote import quote
from tacit.cli.receipt import receipt
from tacit.cli.release import release
from tacit.cli.report import report
from tacit.cli.reproduce import reproduce
from tacit.cli.restore import restore
from tacit.cli.serve import serve
from tacit.cli.status import status
from tacit.cli.token import custodian_token, party_token
from tacit.cli.verify import verify
from tacit.cli.what_if import what_if
from tacit.errors import TacitError

COMMANDS: dict[str, Callable[..., None]] = {
    "measure": measure,
    "init": init,
    "extend": extend,
    "limit": limit,
    "party approval": set_approval,
    "party token": party_token,
    "custodian token": custodian_token,
    "plan": plan,
    "what-if": what_if,
    "quote": quote,
    "release": release,
    "status": status,
    "log": log,
    "report": report,
    "audit": audit,
    "receipt": receipt,
    "verify": verify,
    "link": link,
    "estimate": estimate,
    "crosstab": crosstab,
    "backup": backup,
    "restore": restore,
    "erase": erase,
    "close": close,
    "serve": serve,
    "doctor": doctor,
    "demo": demo,
    "docs": docs,
    "reproduce": reproduce,
}
"""What is typed after ``tacit`` -> what runs. Of two words, the first names a group.

A command takes ``as_json`` (``options.AsJson``), prints, and raises ``TacitError``.
"""

GROUPS = {
    "party": "How a party asks through the service.",
    "custodian": "Who may do everything, through the service.",
}
"""The help of each group."""


def command_tree(
    given: dict[str, Any] | None = None, commands: Mapping[str, Callable[..., None]] = COMMANDS
) -> typer.Typer:
    """Commands of the table, all by default, as Typer runs them.

    Args:
        given: filled with the arguments of the command that runs, by the names of its parameters.
        commands: those to have in it.
    """
    tree = typer.Typer(
        name="tacit",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    tree.callback()(_about)
    groups = {name: typer.Typer(help=text, rich_markup_mode=None) for name, text in GROUPS.items()}
    for name, group in groups.items():
        tree.add_typer(group, name=name)
    for words, command in commands.items():
        group_name, _, name = words.rpartition(" ")
        noted = command if given is None else _noting(command, given)
        (groups[group_name] if group_name else tree).command(name)(noted)
    return tree


def _named_by(words: Sequence[str]) -> Mapping[str, Callable[..., None]]:
    """The command that the first words name; all where they name none.

    Typer reads the parameters of every command that it is given.
    """
    names = (words[0], " ".join(words[:2]))
    return {name: COMMANDS[name] for name in names if name in COMMANDS} or COMMANDS


def _noting(command: Callable[..., None], given: dict[str, Any]) -> Callable[..., None]:
    """A command that notes what it is given before it runs."""

    @wraps(command)
    def run_noted(**arguments: Any) -> None:
        given.update(arguments)
        command(**arguments)

    return run_noted


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        print(f"tacit {version('tacit')}")
        raise typer.Exit


def _about(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Hand out parts of private data, one request after another, within limits that hold
    however the recipients combine their files.

    First tacit init and limit, then quote and release. For all of it on real data: tacit demo.
    """


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # still real files
    code = run(sys.argv[1:])
    if code == INTERRUPTED:
        # Python would end with the signal instead, if it came while a module was imported.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)


def run(arguments: Sequence[str], *, errors: TextIO | None = None) -> int:
    """Run one command as it is typed, and return its exit code.

    Args:
        arguments: what stands after ``tacit``.
        errors: where a refusal is printed; stderr by default.
    """
    as_json = "--json" in arguments
    words = list(arguments) or ["--help"]
    given: dict[str, Any] = {}
    try:
        code = command_tree(given, _named_by(words))(
            words, prog_name="tacit", standalone_mode=False
        )
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads on, as in: tacit status clinic | head -1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TacitError, typer.TyperException, OSError) as error:
        return failure_of(error, given).tell(as_json=as_json, stream=errors)
    except ModuleNotFoundError as error:
        missing = missing_package(error, words[0])
        if missing is None:
            raise
        return missing.tell(as_json=as_json, stream=errors)
    if code == INTERRUPTED:  # what Typer makes of Ctrl-C
        if sys.stderr.isatty():
            print(file=sys.stderr)  # after the ^C that the terminal shows
        return INTERRUPTION.tell(as_json=as_json, stream=errors)
    return int(code or 0)
