"""The command ``tacit estimate``: what a recipient can read from a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import (
    counted,
    plain,
    share_in_words,
    show_json,
    show_remarks,
    show_rows,
)
from tacit.cli.options import AsJson
from tacit.words.remarks import remarks_for_machines

if TYPE_CHECKING:
    from tacit.study.recipient import LevelContrast, LevelEstimate, RecipientEstimate


def estimate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A release, .parquet or .csv, its certificate beside it."
        ),
    ],
    confidence: Annotated[
        float, typer.Option(metavar="SHARE", help="Of every interval, between 0 and 1.")
    ] = 0.95,
    as_json: AsJson = False,
) -> None:
    """For recipients: frequencies with intervals.

    Of what was asked, among the records of the file.
    """
    from tacit.study import estimate_file

    found = estimate_file(file, confidence=confidence)
    if as_json:
        show_json(found.as_dict() | {"remarks": remarks_for_machines(found.remarks)})
    else:
        _show_estimate(found)


def _show_estimate(found: RecipientEstimate) -> None:
    print(
        f"{plain(found.request)}: {counted(found.n, 'record')}, "
        f"{100 * found.confidence:g} % intervals"
    )
    show_rows(("level", "share", "from", "to", ""), [_row(level) for level in found.levels])
    if found.contrasts:
        print("told together, as sums of shares:")
        for contrast in found.contrasts:
            print(f"  {plain(_contrast_in_words(contrast))}")
    show_remarks(found.remarks)


def _contrast_in_words(contrast: LevelContrast) -> str:
    terms = [
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):.4g} x '}{level}"
        for level, weight in contrast.weights.items()
    ]
    named = " ".join(terms).removeprefix("+ ")
    return f"{named} = {contrast.value:.4f} ({contrast.low:.4f} to {contrast.high:.4f})"


def _row(level: LevelEstimate) -> tuple[str, ...]:
    """Level, share, interval, and how to read them where that is not plain."""
    share, how = share_in_words(level.share)
    return level.level, share, f"{level.low:.4f}", f"{level.high:.4f}", how
