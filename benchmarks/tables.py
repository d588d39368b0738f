"""Results as aligned tables on standard output."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table: readable in a terminal, ready to paste into the documentation."""
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    print(f"\n{title}\n")
    for line in (header, ["-" * width for width in widths], *rows):
        cells = " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(f"| {cells} |")
    print(flush=True)


def seconds_text(seconds: float, is_capped: bool = False) -> str:
    """Seconds with three significant digits; ``> `` where the clock stopped it."""
    return f"{'> ' if is_capped else ''}{seconds:.3g} s"


def gap_text(gap: float | None) -> str:
    """A gap in scientific notation; a dash where nothing was found."""
    return "-" if gap is None else f"{gap:.1e}"


def ratio_text(ratio: float | None, is_lower_bound: bool = False) -> str:
    """A speed ratio; ``> `` where the slower contender was stopped by the clock."""
    if ratio is None:
        return "-"
    return f"{'> ' if is_lower_bound else ''}{ratio:.3g}x"


def verdict_text(ratio: float | None, target: float | None, is_lower_bound: bool = False) -> str:
    """The target, and whether it was met; a lower bound below the target decides nothing."""
    if target is None:
        return "-"
    if ratio is not None and ratio >= target:
        return f">= {target:g}x: met"
    return f">= {target:g}x: {'undecided' if is_lower_bound else 'missed'}"
