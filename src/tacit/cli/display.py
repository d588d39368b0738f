"""How results and progress look: tables and bars on a terminal, plain lines elsewhere, or JSON.

Results go to stdout, progress to stderr.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil, inf
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.errors import AcceptanceError, InvalidInputError, TacitError
from tacit.words.remarks import remark_in_words, remarks_for_machines

if TYPE_CHECKING:
    from rich.text import Text

    from tacit.auditing import Disclosure
    from tacit.remark import Remark

Result = TypeVar("Result")

_BAR_CELLS = 20
_LEAST_WIDE = 12
"""Columns for names, however narrow a terminal is."""

_NUMBER = re.compile(r"[+≤-]?\d[\d,]*(\.\d+)? ?%?|∞|-?")

_LONG_SECONDS = 5.0
"""Work that takes longer prints a line where there is no terminal."""

_LONG_STEPS = 2_000_000
"""A release with fewer steps is written in about a second and prints no lines on progress."""

# -- results ------------------------------------------------------------------------------------


def show_json(result: Any) -> None:
    """One JSON document, in ASCII; at once, because `serve` goes on after it."""
    print(json.dumps(result, indent=2, allow_nan=False), flush=True)


def plain(text: str) -> str:
    """A text on one line; control characters are escaped, since they could move the cursor."""
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


def show_done(
    result: Mapping[str, object], line: str, remarks: Sequence[Remark] = (), *, as_json: bool
) -> None:
    """What a command has changed: a line and remarks, or all of it for machines."""
    if as_json:
        show_json({**result, "remarks": remarks_for_machines(remarks)})
    else:
        print(line)
        show_remarks(remarks)


def show_remarks(remarks: Iterable[Remark]) -> None:
    """Remarks on the result, a line each."""
    for remark in remarks:
        print(f"note: {plain(remark_in_words(remark))}")


def show_disclosures(disclosures: Sequence[Disclosure], verb: str, indent: str = "") -> None:
    """Who has a rare level and is given away, first of all that a result says."""
    from tacit.auditing.disclosure import disclosure_lines
    from tacit.auditing.text import wrap

    for line in disclosure_lines(disclosures, verb):
        print("\n".join(wrap(plain(line), f"{indent}  ", f"{indent}!")))


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number of things: ``1 release``, ``2,000 releases``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def share_in_words(share: float | None) -> tuple[str, str]:
    """An estimated share, and how to read it: as only bounds, or as 0 or 1 where it is outside."""
    if share is None:
        return "", "bounds"
    shown = round(share, 4) + 0.0  # no minus zero
    return f"{shown:.4f}", "read as 0" if shown < 0 else "read as 1" if shown > 1 else ""


def bar(held: float, limit: float) -> str:
    """Bits held of a limit, as a bar; rounded up, so that it never shows less than is held."""
    full, empty = ("█", "░") if _can_show("█░") else ("#", ".")
    cells = min(_BAR_CELLS, ceil(_BAR_CELLS * held / limit)) if limit > 0 else _BAR_CELLS
    cells = max(cells, int(held > 0))  # the share of a tiny number may round to 0
    return full * cells + empty * (_BAR_CELLS - cells)


def answer_in_words(worst_answer: float, times: float | None) -> str:
    """How many times as likely a worst answer makes a combination of levels, of what is allowed;
    ``None``, or infinite, for no limit.
    """
    from tacit.information.laws import times_in_words

    allowed = "" if times is None or times == inf else f" of {times:,.12g}x"
    return f"{times_in_words(worst_answer)}x{allowed}"


def show_rows(heading: Sequence[str], rows: Sequence[Sequence[str]], *, wide: int = 0) -> None:
    """A table: drawn to fit on a terminal, padded with blanks elsewhere.

    Args:
        heading: of the columns.
        rows: texts; columns of numbers are flushed right.
        wide: the column that is broken over several lines where a terminal is too narrow.
    """
    shown = [[plain(cell) for cell in row] for row in rows]
    is_number = [all(map(_NUMBER.fullmatch, column)) for column in zip(*shown, strict=True)]
    if sys.stdout.isatty():
        _draw(heading, shown, is_number, wide)
        return
    widths = [max(map(len, column)) for column in zip(heading, *shown, strict=True)]
    for row in (heading, *shown):
        cells = zip(row, widths, is_number, strict=True)
        padded = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        print("  ".join(padded).rstrip())


def _draw(heading: Sequence[str], rows: list[list[str]], is_number: list[bool], wide: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for k, title in enumerate(heading):
        table.add_column(
            Text(title),
            justify="right" if is_number[k] else "left",
            no_wrap=k != wide,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_coloured, row))
    console = Console(highlight=False)
    # A line that a narrow terminal breaks can be read; a column of single letters cannot.
    console.width = max(console.width, _least_width([list(heading), *rows], wide))
    console.print(table)


def _least_width(rows: list[list[str]], wide: int) -> int:
    """Columns that a table needs if its wide column gets no more than ``_LEAST_WIDE``."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    widths[wide] = min(widths[wide], _LEAST_WIDE)
    return sum(widths) + 2 * len(widths)


def _coloured(cell: str) -> Text:
    """A cell of a table, a full bar in red; no markup: a level may be called [red]."""
    from rich.text import Text

    is_full = cell in ("█" * _BAR_CELLS, "#" * _BAR_CELLS)
    return Text(cell, style="red" if is_full else "")


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _escaped(sign: str) -> str:
    return "\\n" if sign == "\n" else sign.encode("unicode_escape").decode()


# -- questions ----------------------------------------------------------------------------------


def confirm(question: str) -> None:
    """Ask on the terminal; anything but yes is no."""
    if not sys.stdin.isatty():
        raise InvalidInputError("nobody is there to be asked whether this is meant: add --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise TacitError("nothing was changed: it was not confirmed")


def accepting(act: Callable[[Sequence[str]], Result], accept: Sequence[str]) -> Result:
    """Do what has consequences that are accepted by their codes; on a terminal, ask for others."""
    try:
        return act(accept)
    except AcceptanceError as error:
        if error.code in accept or not sys.stdin.isatty():
            raise
        confirm(f"{plain(str(error))}. Go on all the same?")
        return accepting(act, [*accept, error.code])


# -- progress -----------------------------------------------------------------------------------


Tell = Callable[[str], None]
"""Shows how far work has come, in the place of what was shown before."""


@contextmanager
def progress_bar(what: str) -> Iterator[tuple[Callable[[int, int], None], Tell]]:
    """A bar on a terminal; elsewhere a line for each quarter of work that is long.

    Yields what moves the bar, and what tells of the work before it.
    """
    if not sys.stderr.isatty():
        yield _Quarters(what), _Lines(_LONG_SECONDS)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield (
            lambda done, total: shown.update(task, description=what, completed=done, total=total),
            lambda text: shown.update(task, description=text),
        )


@contextmanager
def waiting(what: str, seconds: float = _LONG_SECONDS) -> Iterator[Tell]:
    """A spinner on a terminal; elsewhere one line once work has lasted ``seconds``.

    Yields what tells how far the work has come; elsewhere, a line whenever ``seconds`` have gone.
    """
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(what) as status:
            yield status.update
        return
    line = Timer(seconds, print, [f"{what} ..."], {"file": sys.stderr, "flush": True})
    line.daemon = True
    line.start()
    try:
        yield _Lines(seconds)
    finally:
        line.cancel()


def watch_design(tell: Tell) -> Callable[[float, float, float], None]:
    """Tell how far the search for a release has come: by information, or by an error."""

    def watch(value: float, bound: float, seconds: float) -> None:
        reached = f"{value:.4f} bits about what was asked, at most {bound:.4f} are possible"
        if value > bound:
            reached = f"an error of {value:.4f}, at least {max(bound, 0.0):.4f} is needed"
        tell(f"designing: {reached}; {seconds:.0f} s")

    return watch


class _Lines:
    """Prints the latest text whenever so many seconds have gone."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._printed = seconds, monotonic()

    def __call__(self, text: str) -> None:
        if monotonic() - self._printed >= self._seconds:
            self._printed = monotonic()
            print(text, file=sys.stderr, flush=True)


class _Quarters:
    """Prints a line whenever another quarter is done."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._printed = 0

    def __call__(self, done: int, total: int) -> None:
        quarter = 4 * done // total
        if total >= _LONG_STEPS and self._printed < quarter < 4:
            self._printed = quarter
            print(f"{self._what}: {25 * quarter} %", file=sys.stderr, flush=True)
