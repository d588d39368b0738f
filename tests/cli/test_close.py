"""``tacit close``: it asks first."""

from __future__ import annotations

from pathlib import Path

from tests.cli.clinic import refused
from tests.cli.terminal import on_terminal


def test_close_asks(used: Path) -> None:
    no, interrupted, yes, again = on_terminal(
        *[["close", used]] * 3, ["status", used], typed=["n\n", "\x03", "y\n"]
    )
    question = "Destroy the key of clinic? Nothing can ever be released or delivered again"
    assert question in no.sent
    assert (no.code, interrupted.code, yes.code) == (1, 130, 0)
    assert no.lines[-1] == "tacit: nothing was changed: it was not confirmed"
    assert interrupted.lines[-1].startswith("tacit: interrupted: ")
    assert yes.lines[-1] == "clinic is closed after 2 releases; tacit verify still works"
    assert "CLOSED." in again.sent
    assert not (used / "key").exists()


def test_close_without_anybody_to_ask(used: Path) -> None:
    said = refused(4, "close", used)
    assert said == "nobody is there to be asked whether this is meant: add --yes"
    assert (used / "key").exists()
