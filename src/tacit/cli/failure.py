"""What a command prints, and its exit code, when it cannot do what was asked."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import TextIO

import typer

from tacit.cli.display import plain, show_json
from tacit.errors import (
    AcceptanceError,
    DeliveryError,
    InfeasibleError,
    InvalidInputError,
    KeyFileError,
    LedgerError,
    TacitError,
)
from tacit.words.commands import Given, command_of, tail_of

USAGE, REFUSED, INVALID, LEDGER, UNWRITTEN, KEY, INTERRUPTED = 2, 3, 4, 5, 6, 7, 130

EXIT_CODES: dict[type[Exception], int] = {
    InfeasibleError: REFUSED,
    AcceptanceError: REFUSED,
    InvalidInputError: INVALID,
    LedgerError: LEDGER,
    DeliveryError: UNWRITTEN,
    OSError: UNWRITTEN,
    KeyFileError: KEY,
    typer.TyperException: USAGE,
    TacitError: 1,
}
"""Exit code of each kind of error; the first kind that an error belongs to counts. 0 means done."""

PACKAGES = {
    "cli": ("rich", "typer"),
    "excel": ("openpyxl",),
    "plots": ("matplotlib",),
    "postgresql": ("adbc_driver_manager", "adbc_driver_postgresql", "psycopg"),
    "study": (
        *("cryptography", "duckdb", "flint", "jinja2"),
        *("pyarrow", "pydantic", "pydantic_core", "sqlalchemy", "sqlglot"),
    ),
    "service": ("fastapi", "jinja2", "matplotlib", "uvicorn"),
    "spark": ("pandas", "pyspark"),
}
"""An extra of tacit -> packages that it brings, as they are imported."""

KnownError = TacitError | typer.TyperException | OSError


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong.

    Attributes:
        kind: name of the error.
        message: one line, with what to do.
        exit_code: of the command.
        details: for machines.
    """

    kind: str
    message: str
    exit_code: int
    details: dict[str, object] = field(default_factory=dict)

    def tell(self, *, as_json: bool, stream: TextIO | None = None) -> int:
        """Print it on stderr, or on ``stream``; for machines also a document on stdout."""
        if stream is None or not as_json:
            print(f"tacit: {self.message}", file=stream or sys.stderr, flush=True)
        if as_json:
            shown = {"kind": self.kind, "message": self.message, "exit_code": self.exit_code}
            show_json({"error": shown | self.details})
        return self.exit_code


INTERRUPTION = Failure(
    "Interrupted",
    "interrupted: nothing is ever spent twice, so the same command may be run again",
    INTERRUPTED,
)


def failure_of(error: KnownError, given: Given = MappingProxyType({})) -> Failure:
    """What to say about an error of a command that was given these arguments."""
    code = next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
    kind = "UsageError" if code == USAGE else type(error).__name__
    return Failure(kind, plain(_message(error, given)), code, _details(error, given))


def missing_package(error: ModuleNotFoundError, command: str) -> Failure | None:
    """What to say where a package of an extra is not installed; ``None`` for any other module."""
    package = (error.name or "").partition(".")[0]
    extras = [extra for extra, packages in PACKAGES.items() if package in packages]
    if not extras:
        return None
    extra = "recipient" if command in ("estimate", "crosstab") else extras[0]
    said = f"tacit {command} needs the package {package}, which is not installed"
    return Failure("MissingPackage", f"{said}: install tacit with its extra, tacit[{extra}]", 1)


def _message(error: KnownError, given: Given) -> str:
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        command = "tacit" if context is None else context.command_path
        return f"{error.format_message().rstrip('.')}: see {command} --help"
    if isinstance(error, OSError):
        what = error.filename or "a file"
        return f"cannot use {what} ({error.strerror or error}): check the place, and its free space"
    if isinstance(error, AcceptanceError):
        return f"{error}; to go on all the same, add --accept {error.code}"
    return str(error) + tail_of(error.suggestions, given)


def _details(error: KnownError, given: Given) -> dict[str, object]:
    if isinstance(error, AcceptanceError):
        return {"code": error.code, "figures": error.figures}
    if not isinstance(error, InfeasibleError):
        return {}
    fits = [command_of(each, given) for each in error.suggestions if each.is_answered]
    return {
        "coalition": list(error.coalition),
        "limit_bits": None if error.limit_bits == inf else error.limit_bits,
        "held_bits": error.held_bits,
        "fits": fits[0] if fits else None,
        "limited_by": error.limited_by,
    }
