"""What a person sees on a terminal of 80 columns, and what goes into a pipe instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import done
from tests.cli.terminal import COLUMNS, on_terminal, process


def test_tables_and_bars_fit(used: Path) -> None:
    long_name = "the-laboratory-of-the-university-hospital-in-the-north"
    done("limit", used, long_name, "--bits", 0.123456789)
    status, quote, release, audit = on_terminal(
        ["status", used],
        ["quote", used, "lab-a", "income", "--bits", 0.05],
        ["release", used, "lab-a", "income", "--out", "a.csv"],
        ["audit", used, "--records", 500],
    )
    for shown in (status, quote, release, audit):
        assert shown.code == 0
        assert max(map(len, shown.lines)) <= COLUMNS
    assert "\x1b[1m" in status.sent  # a real table, not the plain lines
    for number in ("0.2000", "0.1000", "0.3", "0.35", "0.123456789"):
        assert any(number in line for line in status.lines)  # no figure is cut
    assert any(line.startswith("lab-a ") and "█" in line and "░" in line for line in status.lines)
    assert "the-laboratory" in " ".join(status.lines)
    assert any("would learn 0.0500 bits" in line for line in quote.lines)
    assert any("<- this" in line for line in quote.lines)
    assert "writing a.csv" in release.sent  # while it lasts
    assert release.lines[-1].strip() == "receipt: tacit receipt clinic 10"
    said = [line for line in audit.lines if line and "attacking simulated records" not in line]
    assert said[0] == "Every coalition is within its limits; every attack went as predicted."


@pytest.mark.parametrize("columns", [40, 20])
def test_no_name_is_broken_into_letters_however_narrow_the_terminal(
    used: Path, columns: int
) -> None:
    done("limit", used, "laboratory-of-the-north", "--bits", 0.1)
    status, audit = on_terminal(
        ["status", used], ["audit", used, "--records", 200], columns=columns
    )
    for shown in (status, audit):
        assert shown.code == 0
        assert not any(len(line.strip()) == 1 for line in shown.lines)
    assert any(line.startswith("laboratory-") for line in status.lines)
    for number in ("0.2000", "0.1000", "0.3"):
        assert any(number in line for line in status.lines)  # no figure is cut


def test_nothing_but_plain_lines_goes_into_a_pipe(used: Path) -> None:
    finished = process("release", used, "lab-a", "income", "--out", "a.csv")
    assert finished.code == 0
    assert finished.err == ""
    assert "\x1b" not in finished.out
    assert "\r" not in finished.out


def test_a_full_bar_is_red(used: Path) -> None:
    done("release", used, "lab-a", "income", "--out", "a.csv")
    status, receipt = on_terminal(["status", used], ["receipt", used, 9])
    for shown in (status, receipt):
        assert "\x1b[31m" + "█" * 20 in shown.sent
        with_room = [line for line in shown.sent.splitlines() if "░" in line]
        assert with_room
        assert all("\x1b[31m" not in line for line in with_room)
    # A path is as long as it is: of this test, too long under some folders for temporary files.
    assert max(len(line) for line in receipt.lines if "a.csv" not in line) <= COLUMNS
