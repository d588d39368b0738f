"""Cross-tables of noisy columns, with each other and with your own columns.

Given the true values, the letters of analysable releases are independent of each other and of all
that you know. So a cross-table is a table of frequencies seen through the product of the channels,
group by group.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.estimation.column import NoisyColumn, join, without_rare_letters
from tacit.estimation.functionals import Target
from tacit.estimation.odds import log_odds_ratio
from tacit.estimation.own_columns import as_columns, as_noisy, group_rows
from tacit.estimation.recipient import Estimate, check_confidence, check_target, estimate_counts
from tacit.markup import html_table
from tacit.remark import Remark

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_CELLS = 256
"""Combinations of levels whose bounds take seconds."""

_FEW_ROWS = 100
"""Intervals are right for large groups; see the table of coverage in docs/how-to/analysis.md."""

_SEEN = 5e-5
"""Of a share: less is not seen in four figures."""

_NEARLY_ALL = 0.75
"""Of bounds that say nothing: then it is said."""


@dataclass(frozen=True, slots=True)
class Cell:
    """How frequent a combination of levels is in a group.

    Attributes:
        group: levels of your own columns.
        levels: of the noisy columns.
        n: rows of the group.
        share: unbiased estimate of its share in the group; ``None`` where only bounds are known.
        standard_error: of ``share``.
        low: end of its interval, or of what is possible at all.
        high: the other end.
    """

    group: tuple[str, ...]
    levels: tuple[str, ...]
    n: int
    share: float | None
    standard_error: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OddsRatio:
    """Odds of a level against a reference, in one group or level against another.

    Of the population that the rows are drawn from. An end that the letters do not bound is
    ``None``.

    Attributes:
        within: levels of your own columns; for two noisy columns, the group that it holds in.
        level: whose odds.
        against: the reference of ``level``.
        where: group, or level of the other noisy column.
        compared_with: the reference of ``where``.
        value: estimate of maximum likelihood; ``None`` where that is not finite.
        log_standard_error: of its logarithm.
        low: end of the interval.
        high: the other end.
    """

    within: tuple[str, ...]
    level: str
    against: str
    where: str
    compared_with: str
    value: float | None
    log_standard_error: float | None
    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class CrossTable:
    """Shares of levels in groups, and odds ratios.

    Attributes:
        columns: names of the noisy columns.
        by: names of your own columns.
        n: rows in all.
        confidence: of each interval alone.
        cells: group by group.
        odds_ratios: against the first level and the first group; none for three noisy columns, or
            where a release does not tell every level.
        remarks: for the reader.
    """

    columns: tuple[str, ...]
    by: tuple[str, ...]
    n: int
    confidence: float
    cells: tuple[Cell, ...]
    odds_ratios: tuple[OddsRatio, ...]
    remarks: tuple[Remark, ...]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"remarks": [each.as_dict() for each in self.remarks]}

    def to_arrow(self) -> pa.Table:
        """A row for each cell: its group and levels, rows, and the share with its interval."""
        import pyarrow as pa

        names = (*self.by, *self.columns)
        return pa.Table.from_pylist(
            [
                dict(zip(names, (*cell.group, *cell.levels), strict=True))
                | {"rows": cell.n, "share": cell.share, "low": cell.low, "high": cell.high}
                for cell in self.cells
            ]
        )

    def __repr__(self) -> str:
        """How large it is."""
        names = " x ".join((*self.by, *self.columns))
        return f"CrossTable({names}: {len(self.cells)} cells, {self.n:,} rows)"

    def _repr_html_(self) -> str:
        """Every cell with its interval, as a table for notebooks."""
        caption = f"{self.n:,} rows; intervals at {100 * self.confidence:g} % each"
        rows = [
            (
                *cell.group,
                *cell.levels,
                f"{cell.n:,}",
                "" if cell.share is None else f"{cell.share:.4f}",
                f"{cell.low:.4f} to {cell.high:.4f}",
            )
            for cell in self.cells
        ]
        return html_table(caption, (*self.by, *self.columns, "rows", "share", "interval"), rows)


def crosstab(
    columns: Mapping[str, NoisyColumn],
    by: Mapping[str, ArrayLike] | Any = None,
    *,
    confidence: float = 0.95,
    target: Target = "rows",
) -> CrossTable:
    """Shares of the levels of analysable columns in groups by your own columns, and odds ratios.

    Args:
        columns: name -> column; several are tabulated jointly.
        by: name -> your own values of the same rows, in the same order; or a pandas, polars or
            pyarrow table of them. Rows without a value are the group ``missing``.
        confidence: of each interval.
        target: of shares, as for ``estimate``; odds ratios are always those of the population.
    """
    check_confidence(confidence)
    check_target(target)
    own = {} if by is None else as_columns(by, "by")
    columns = as_noisy(columns)
    joined = join([*columns.values()])
    if len(joined.levels) > _MOST_CELLS:
        raise InvalidInputError(
            f"the columns have {len(joined.levels):,} combinations of levels: give fewer columns, "
            f"{_MOST_CELLS} combinations at most"
        )
    names, group_of_row = group_rows(own, len(joined))
    counts = count_by_group(joined, group_of_row, len(names))
    found = [
        estimate_counts(*without_rare_letters(each, joined.p_rhat_given_r), confidence, target)
        for each in counts
    ]
    levels = [*product(*(column.levels for column in columns.values()))]
    cells = [
        cell for group, one in zip(names, found, strict=True) for cell in _cells(group, levels, one)
    ]
    is_told = all(cell.share is not None for cell in cells)
    ratios = [*_odds_ratios([*columns.values()], names, counts, confidence)] if is_told else []
    return CrossTable(
        tuple(columns),
        tuple(own),
        len(joined),
        confidence,
        tuple(cells),
        tuple(ratios),
        tuple(_remarks(found, cells, ratios, own)),
    )


def _remarks(
    found: Sequence[Estimate],
    cells: Sequence[Cell],
    ratios: Sequence[OddsRatio],
    by: Collection[str],
) -> Iterator[Remark]:
    if not all(one.is_consistent for one in found):
        yield Remark("unlikely_letters")
    if any(cell.share is None for cell in cells):
        yield Remark("bounds_only")
    yield from remark_wide_bounds([(c.low, c.high) for c in cells if c.share is None])
    yield from remark_few_rows(min(one.n for one in found), in_a_group=bool(by))
    yield from remark_outside_shares([cell.share for cell in cells])
    n_open = sum(each.high is None or each.low == 0 for each in ratios)
    if n_open > 0:
        yield Remark("unbounded_intervals", {"figures": n_open, "of": len(ratios)})


def remark_few_rows(rows: int, *, in_a_group: bool = False) -> Iterator[Remark]:
    """That intervals are of fewer rows than they are right for."""
    if rows < _FEW_ROWS:
        values = {"rows": rows}
        yield Remark("small_groups", values) if in_a_group else Remark("few_rows", values)


def remark_outside_shares(shares: Iterable[float | None]) -> Iterator[Remark]:
    """That unbiased estimates lie where no share can be."""
    outside = sum(share is not None and not 0 <= round(share, 4) <= 1 for share in shares)
    if outside > 0:
        yield Remark("outside_shares", {"shares": outside})


def remark_wide_bounds(bounds: Sequence[tuple[float, float]]) -> Iterator[Remark]:
    """That nearly all bounds are 0 and 1."""
    wide = sum(low < _SEEN and high > 1 - _SEEN for low, high in bounds)
    if wide > 0 and wide >= _NEARLY_ALL * len(bounds):
        yield Remark("wide_bounds", {"bounds": wide, "of": len(bounds)})


def count_by_group(
    column: NoisyColumn, group_of_row: NDArray[np.intp], n_groups: int
) -> NDArray[np.int64]:
    """How many rows of each group have each letter, [group, rhat]."""
    n_letters = column.p_rhat_given_r.shape[1]
    both = group_of_row * n_letters + column.letters
    counts = np.bincount(both, minlength=n_groups * n_letters)
    return counts.reshape(n_groups, n_letters).astype(np.int64)


def _cells(
    group: tuple[str, ...], levels: Sequence[tuple[str, ...]], found: Estimate
) -> Iterator[Cell]:
    for r, level in enumerate(levels):
        is_known = found.is_known(r)
        low, high = (found.intervals if is_known else found.bounds)[r].tolist()
        share = float(found.frequencies[r]) if is_known else None
        error = float(found.standard_errors[r]) if is_known else None
        yield Cell(group, level, found.n, share, error, low, high)


def _odds_ratios(
    columns: Sequence[NoisyColumn],
    groups: Sequence[tuple[str, ...]],
    counts: NDArray[np.int64],
    confidence: float,
) -> Iterator[OddsRatio]:
    """Level against level, in group against group; of two columns, in each group."""
    tables: list[tuple[tuple[str, ...], Sequence[str], Array, NDArray[np.int64]]] = []
    if len(columns) == 1:
        # Two groups are a hidden variable as well, seen through a channel without noise.
        labels = [", ".join(group) for group in groups]
        tables = [
            ((), (labels[0], labels[g]), np.eye(2), counts[[0, g]].ravel())
            for g in range(1, len(groups))
        ]
    elif len(columns) == 2:
        levels, channel = columns[0].levels, columns[0].p_rhat_given_r
        tables = [
            (within, levels, channel, one) for within, one in zip(groups, counts, strict=True)
        ]
    last, quantile = columns[-1], -ndtri((1 - confidence) / 2)
    n = len(last.levels)
    for within, rows, channel, letters in tables:
        both = np.asarray(np.kron(channel, last.p_rhat_given_r), dtype=float)
        for row, k in product(range(1, len(rows)), range(1, n)):
            cells = row * n + k, row * n, k, 0
            found = log_odds_ratio(letters, both, cells, quantile)
            low, high = found.interval
            error = found.standard_error
            yield OddsRatio(
                *(within, last.levels[k], last.levels[0], rows[row], rows[0]),
                value=math.exp(found.value) if math.isfinite(found.value) else None,
                log_standard_error=error if math.isfinite(error) else None,
                low=math.exp(low),
                high=math.exp(high) if math.isfinite(high) else None,
            )
