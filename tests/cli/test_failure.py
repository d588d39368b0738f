"""What a command prints, and ends with, when it cannot do what was asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli import failure
from tacit.errors import (
    AcceptanceError,
    CorruptLedgerError,
    DeliveryError,
    HeadMovedError,
    InfeasibleError,
    InvalidInputError,
    KeyFileError,
    LedgerError,
    TacitError,
    UnconvergedError,
)
from tests.cli.clinic import tacit


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TacitError("x"), 1),
        (UnconvergedError("x"), 1),
        (InfeasibleError(("a",), 0.1, 0.2), 3),
        (AcceptanceError("rows", "x"), 3),
        (InvalidInputError("x"), 4),
        (LedgerError("x"), 5),
        (HeadMovedError("x"), 5),
        (CorruptLedgerError("x"), 5),
        (DeliveryError("x"), 6),
        (OSError(28, "No space left on device", "a.csv"), 6),
        (KeyFileError("x"), 7),
    ],
)
def test_exit_codes(error: TacitError | OSError, code: int) -> None:
    assert failure.failure_of(error).exit_code == code


def test_a_refusal_is_one_line_and_nothing_on_stdout(fresh: Path) -> None:
    answer = tacit("quote", fresh, "lab-a", "diagnose")
    assert answer.code == failure.INVALID
    assert answer.out == ""
    assert answer.err.startswith("tacit: 'diagnose' is no private attribute of this study")
    assert answer.err.count("\n") == 1


def test_what_has_to_be_accepted_names_the_option_and_its_code() -> None:
    told = failure.failure_of(AcceptanceError("rows", "two rows of a person", most=2))
    assert told.message.endswith("; to go on all the same, add --accept rows")
    assert told.details == {"code": "rows", "figures": {"most": 2}}


def test_a_message_stays_on_one_line() -> None:
    told = failure.failure_of(InvalidInputError("two\nlines, \x1b[31mred\x1b[0m, and née"))
    assert told.message == "two\\nlines, \\x1b[31mred\\x1b[0m, and née"
