"""Bars, tables, counts and progress: what is shown never promises more than what is."""

from __future__ import annotations

import io
import sys
from threading import Event

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.cli.display import (
    bar,
    counted,
    plain,
    progress_bar,
    show_rows,
    waiting,
    watch_design,
)

BITS = st.floats(0, 64, allow_nan=False)


@given(BITS, st.floats(1e-6, 64))
@example(5e-324, 2.0)
@example(5e-324, 64.0)
def test_a_bar_shows_every_bit_that_is_used(held: float, limit: float) -> None:
    shown = bar(held, limit)
    assert len(shown) == 20
    assert shown.count("█") / 20 >= min(1.0, held / limit) - 1e-12
    assert (shown.count("█") > 0) == (held > 0)


def test_a_bar_where_blocks_cannot_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert bar(1, 2) == "##########.........."


def test_counts() -> None:
    assert [counted(n, "release") for n in (0, 1, 2000)] == [
        "0 releases",
        "1 release",
        "2,000 releases",
    ]


@given(st.text())
def test_plain_text_moves_no_cursor(text: str) -> None:
    assert plain(text).isprintable()


def test_plain_tables_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(("who", "bits", ""), [("a\nb", "0.5", "x"), ("[red]c[/red]", "12.25", "")])
    assert capsys.readouterr().out.splitlines() == [
        "who            bits",
        "a\\nb            0.5  x",
        "[red]c[/red]  12.25",
    ]


def test_quick_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("writing a.csv") as (progress, tell), waiting("designing") as tell_too:
        watch_design(tell)(0.1, 0.2, 3.0)
        watch_design(tell_too)(0.1, 0.2, 3.0)
        for done in range(1, 11):
            progress(done, 10)
    assert capsys.readouterr() == ("", "")


def test_long_work_says_a_line_for_each_quarter(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("writing a.csv") as (progress, _):
        for done in range(1, 101):
            progress(done * 100_000, 10_000_000)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [f"writing a.csv: {part} %" for part in (25, 50, 75)]


class Heard(io.StringIO):
    """Text that is waited for until it has a line."""

    def __init__(self) -> None:
        super().__init__()
        self.has_line = Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "\n" in text:
            self.has_line.set()
        return written


def test_long_waits_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    monkeypatch.setattr(sys, "stderr", heard)
    with waiting("designing", seconds=0.0):
        heard.has_line.wait()
    assert heard.getvalue() == "designing ...\n"


def test_a_long_search_tells_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("tacit.cli.display.monotonic", lambda: now)
    with waiting("designing", seconds=3600.0) as tell:
        watch = watch_design(tell)
        for now in (0.0, 3599.0, 3600.0, 3601.0, 7199.0, 7200.0):
            watch(0.1, 2000.0, now)
    out, err = capsys.readouterr()
    assert out == ""
    told = "designing: 0.1000 bits about what was asked, at most 2000.0000 are possible"
    assert err.splitlines() == [f"{told}; 3600 s", f"{told}; 7200 s"]
