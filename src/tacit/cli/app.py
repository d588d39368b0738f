"""All commands, and the one place where they are run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

import typer

from tacit.cli.asking import quote, release
from tacit.cli.backup import backup, restore
from tacit.cli.demo import demo
from tacit.cli.failing import INTERRUPTED, INTERRUPTION, failure_of, missing_package
from tacit.cli.looking import audit, estimate, receipt, status, verify
from tacit.cli.reproduce import reproduce
from tacit.cli.setting_up import close, collusion_set, init, party_add
from tacit.errors import TacitError

app = typer.Typer(
    name="tacit", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
party = typer.Typer(help="Who may ask, and for how many bits.", rich_markup_mode=None)
collusion = typer.Typer(help="Who may pool what with whom.", rich_markup_mode=None)


@app.callback()
def about() -> None:
    """Hand out parts of private data, one request after another, within limits that hold
    however the recipients combine their files.

    First tacit init, party add and collusion set, then quote and release. For all of it on real
    data: tacit demo.
    """


app.command()(init)
party.command("add")(party_add)
collusion.command("set")(collusion_set)
app.add_typer(party, name="party")
app.add_typer(collusion, name="collusion")
for command in (
    *(quote, release, status, audit, receipt, verify, estimate),
    *(backup, restore, close, demo, reproduce),
):
    app.command()(command)


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
        errors: where a refusal is told; stderr by default.
    """
    as_json = "--json" in arguments
    try:
        code = app(list(arguments) or ["--help"], prog_name="tacit", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads on, as in: tacit status clinic | head -1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TacitError, typer.TyperException, OSError) as error:
        return failure_of(error, arguments).tell(as_json=as_json, stream=errors)
    except ModuleNotFoundError as error:
        missing = missing_package(error, arguments[0])
        if missing is None:
            raise
        return missing.tell(as_json=as_json, stream=errors)
    if code == INTERRUPTED:  # what Typer makes of Ctrl-C
        if sys.stderr.isatty():
            print(file=sys.stderr)  # after the ^C that the terminal shows
        return INTERRUPTION.tell(as_json=as_json, stream=errors)
    return int(code or 0)
