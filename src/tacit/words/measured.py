"""What files that are out tell, in words: the headline first, then a row for each coalition."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.measuring import Coalition, Measured


def measured_heading(found: Measured) -> tuple[str, ...]:
    """Names of the columns of ``measured_rows``."""
    return (
        "whom",
        "people",
        "alone",
        f"under {found.min_cell}",
        "right of 100",
        "surest 5 %",
        "90 % sure by counts (by chance)",
        "bits",
    )


def measured_rows(found: Measured) -> list[tuple[str, ...]]:
    """A row for each coalition; figures before the files in brackets."""
    return [
        (
            each.whom,
            f"{each.people:,}",
            f"{each.alone:,}",
            f"{each.small:,}",
            _of_100(each.guess, each.guess_before),
            _of_100(each.surest, each.surest_before),
            ", ".join(
                f"{one.people:,} ({one.by_chance:,})" for one in each.over if one.at_least == 0.9
            ),
            f"≤ {each.bits_at_most:.3f}"
            if each.bits_at_least is None
            else f"{each.bits_at_least:.3f} to {each.bits_at_most:.3f}",
        )
        for each in found.coalitions
    ]


def measured_headline(found: Measured) -> str:
    """What the largest pool adds over each file alone, disclosures first."""
    pooled = found.coalitions[-1]
    single = [each for each in found.coalitions if "+" not in each.whom and each is not pooled]
    said = [f"{pooled.whom}: {_disclosed(pooled)}"]
    if single:
        most = max(each.alone for each in single)
        few = max(each.small for each in single)
        alone = "nobody alone" if not most else f"at most {_people(most)} alone"
        small = f", {few:,} in groups under {found.min_cell}" if few else ""
        said = [f"each party by itself: {alone}{small}", f"together: {_disclosed(pooled)}"]
    if pooled.surest is not None and pooled.surest_before is not None:
        said[-1] += (
            f", and {100 * pooled.surest:.0f} of 100 values of {found.secret} right among the 5 % "
            f"that one is surest of ({100 * pooled.surest_before:.0f} before)"
        )
    return "; ".join(said)


def _disclosed(pooled: Coalition) -> str:
    return "nobody alone" if not pooled.alone else f"{_people(pooled.alone)} alone"


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def _of_100(after: float | None, before: float | None) -> str:
    if after is None or before is None:
        return "-"
    return f"{100 * after:.1f} ({100 * before:.1f})"
