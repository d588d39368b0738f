"""All commands, and what happens when one of them is refused."""

from __future__ import annotations

import json
import sys

import typer

from tacit.cli.asking import quote, release
from tacit.cli.demo import demo
from tacit.cli.looking import audit, estimate, receipt, status, verify
from tacit.cli.reproduce import reproduce
from tacit.cli.setting_up import close, collusion_set, init, party_add
from tacit.errors import (
    DeliveryError,
    InvalidInputError,
    KeyFileError,
    LedgerError,
    NotWithinLimitsError,
    TacitError,
)

EXIT_CODES: dict[type[TacitError], int] = {
    NotWithinLimitsError: 3,
    InvalidInputError: 4,
    LedgerError: 5,
    DeliveryError: 6,
    KeyFileError: 7,
    TacitError: 1,
}
"""0: done. 2: the command line itself is wrong. The first that fits counts."""

app = typer.Typer(
    name="tacit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
party = typer.Typer(no_args_is_help=True, help="Who may ask, and for how many bits.")
collusion = typer.Typer(no_args_is_help=True, help="Who may pool what with whom.")


@app.callback()
def about() -> None:
    """Hand out parts of private data, one request after another, within limits that hold
    however the recipients combine their files.
    """


for command in (init, quote, release, status, audit, receipt, verify, estimate, close):
    app.command()(command)
party.command("add")(party_add)
collusion.command("set")(collusion_set)
app.add_typer(party, name="party")
app.add_typer(collusion, name="collusion")
app.command()(demo)
app.command()(reproduce)


def main() -> None:
    """Run the command line; what tacit refuses is one line on stderr."""
    try:
        app()
    except TacitError as error:
        _tell(error)
        raise SystemExit(exit_code(error)) from error


def exit_code(error: TacitError) -> int:
    """What the command ends with."""
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def _tell(error: TacitError) -> None:
    print(f"tacit: {error}", file=sys.stderr)
    if "--json" in sys.argv:
        shown: dict[str, object] = {"kind": type(error).__name__, "message": str(error)}
        if isinstance(error, NotWithinLimitsError):
            shown |= {"coalition": list(error.coalition), "fits": error.fits}
            shown |= {"limit_bits": error.limit_bits, "held_bits": error.held_bits}
        print(json.dumps({"error": shown}, indent=2, ensure_ascii=False))
