"""For recipients: what release files say, with their certificates beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInputError, Suggestion
from tacit.estimation import Cell, Contrast, CrossTable, Estimate, NoisyColumn, crosstab
from tacit.estimation.bounds import subgroup_bounds
from tacit.estimation.column import without_rare_letters
from tacit.estimation.crosstab import (
    count_by_group,
    remark_few_rows,
    remark_outside_shares,
    remark_wide_bounds,
)
from tacit.estimation.own_columns import as_columns, group_rows
from tacit.estimation.recipient import check_confidence, estimate_counts
from tacit.remark import Remark
from tacit.study.reports.receipts import Certificate
from tacit.tables.delivery.release_reader import (
    count_letters,
    digest_of,
    read_letters,
    read_texts,
)

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 5
_MANY = 250
_MOST_WORK = _MANY**3
"""Levels twice, times letters: the bounds on all levels take about a minute then."""


@dataclass(frozen=True, slots=True)
class LevelEstimate:
    """How frequent a level is among the records of the file.

    Attributes:
        level: what was asked.
        share: unbiased estimate, which may fall below 0 or above 1; ``None`` where the release
            hardly determines it.
        low: end of its interval, or of what is possible at all.
        high: the other end.
    """

    level: str
    share: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LevelContrast:
    """A sum or difference of shares that the release determines.

    Attributes:
        weights: level -> how often its share counts; levels that do not count are left out.
        value: unbiased estimate.
        low: end of its interval.
        high: the other end.
    """

    weights: dict[str, float]
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RecipientEstimate:
    """What a release file says about frequencies.

    Attributes:
        request: what was asked.
        n: how many records the file has.
        confidence: of each interval.
        levels: every level of what was asked.
        contrasts: sums and differences of shares that the release determines, where it does not
            determine every level.
        remarks: for the reader.
    """

    request: str
    n: int
    confidence: float
    levels: tuple[LevelEstimate, ...]
    contrasts: tuple[LevelContrast, ...]
    remarks: tuple[Remark, ...]

    def __repr__(self) -> str:
        """The first few levels, with their shares."""
        shown = (
            f"{each.level} {'unknown' if each.share is None else format(each.share, '.4f')}"
            for each in self.levels[:_SHOWN]
        )
        more = ", ..." if len(self.levels) > _SHOWN else ""
        return f"RecipientEstimate({self.request}, {self.n:,} records: {', '.join(shown)}{more})"

    def to_arrow(self) -> pa.Table:
        """A row for each level, with its share and its interval."""
        import pyarrow as pa

        return pa.Table.from_pylist([asdict(each) for each in self.levels])

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"remarks": [each.as_dict() for each in self.remarks]}


def estimate_file(path: str | Path, *, confidence: float = 0.95) -> RecipientEstimate:
    """Frequencies of what was asked, from a release file and the certificate beside it."""
    file, certificate = _certified(path)
    counts = count_letters(file, certificate.letters)
    _refuse_altered(file, certificate)
    _refuse_empty(file, int(counts.sum()))
    check_confidence(confidence)
    counts, channel = without_rare_letters(counts, np.array(certificate.p_rhat_given_r))
    found = estimate_counts(counts, channel, confidence, "rows")
    levels = tuple(_levels(certificate, found))
    is_told = all(level.share is not None for level in levels)
    return RecipientEstimate(
        certificate.request,
        found.n,
        confidence,
        levels,
        () if is_told else tuple(_contrast(certificate, each) for each in found.contrasts),
        tuple(_remarks(certificate, found, levels)),
    )


def read_column(path: str | Path) -> NoisyColumn:
    """The letters of an analysable release, with the record ids of its file.

    Raises:
        InvalidInputError: the release is not analysable, or its certificate does not say so. There
            is no column then that other functions could use; ``crosstab_files`` with ``insist``
            has bounds.
    """
    file, certificate = _certified(path)
    if not certificate.is_analysable:
        raise _not_analysable(file, certificate, "tacit.crosstab_files(file, insist=True)")
    return _read(file, certificate)


def crosstab_files(
    paths: Sequence[str | Path] | str | Path,
    own: str | Path | Any = None,
    by: Sequence[str] | str = (),
    *,
    own_id: str = "record",
    confidence: float = 0.95,
    insist: bool = False,
) -> CrossTable:
    """Shares of what was asked in groups of your own rows, from release files and certificates.

    Args:
        paths: release files of the same records, one question each; several are taken jointly, and
            one may be given alone.
        own: your own table, .csv or .parquet, or a pandas, polars or pyarrow table, with the
            record ids of the files.
        by: columns of it that make the groups; rows without a value are the group ``missing``.
        own_id: column of it that holds the record ids.
        confidence: of each interval.
        insist: of one file that is not analysable, give bounds that hold in any subgroup.

    Raises:
        InvalidInputError: a file is not analysable, or no record is in all of them.
    """
    check_confidence(confidence)
    certified = [_certified(path) for path in _one_or_more(paths)]
    if not certified:
        raise InvalidInputError("there is no release file: give at least one")
    names = [certificate.request for _, certificate in certified]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"two files answer {names[0]}: give one file for each question")
    unfit = [each for each in certified if not each[1].is_analysable]
    if unfit and (not insist or len(certified) > 1 or unfit[0][1].least_given_r is None):
        raise _not_analysable(*unfit[0])
    columns = [_read(*each) for each in certified]
    records, groups, left_out = _linked(columns, own, [*map(str, _one_or_more(by))], own_id)
    linked = {name: column.at(records) for name, column in zip(names, columns, strict=True)}
    found = (
        _subgroup_bounds(certified[0][1], linked[names[0]], groups, confidence)
        if unfit
        else crosstab(linked, groups, confidence=confidence)
    )
    said = [Remark("rows_left_out", {"rows": left_out})] if left_out else []
    said += [remark for _, certificate in certified for remark in certificate.remarks]
    return replace(found, remarks=(*found.remarks, *said))


def _one_or_more(given: Sequence[str | Path] | str | Path) -> Sequence[str | Path]:
    return [given] if isinstance(given, str | Path) else given


def _certified(path: str | Path) -> tuple[Path, Certificate]:
    """A release file and its certificate, which is not too large to estimate from."""
    file = Path(path)
    if not file.is_file():
        raise InvalidInputError(f"there is no file {file}: give a release file, .parquet or .csv")
    certificate = Certificate.beside(file)
    _refuse_too_many(file, certificate)
    return file, certificate


def _read(file: Path, certificate: Certificate) -> NoisyColumn:
    """Every record's letter, of a file that is what its certificate was made for."""
    records, letters = read_letters(file, certificate.letters)
    _refuse_altered(file, certificate)
    _refuse_empty(file, len(letters))
    return NoisyColumn(letters, np.array(certificate.p_rhat_given_r), certificate.labels, records)


def _refuse_empty(file: Path, n_rows: int) -> None:
    if not n_rows:
        raise InvalidInputError(
            f"{file} has no rows: all records of this cohort were erased, so there is nothing to "
            "estimate"
        )


def _not_analysable(
    file: Path, certificate: Certificate, bounds: str | None = None
) -> InvalidInputError:
    """Why a file cannot be used, and what gives bounds, where that is not the same command."""
    said = (
        f"{file} is not analysable: its answers depend on more than {certificate.request}, so they "
        "err differently in a subgroup; ask the custodian for an analysable release, or for one "
        "file alone take bounds"
    )
    if bounds is not None:
        return InvalidInputError(f"{said}: {bounds}")
    return InvalidInputError(said, suggestions=[Suggestion("crosstab", {"insist": True})])


def _linked(
    columns: Sequence[NoisyColumn], own: str | Path | Any, by: Sequence[str], own_id: str
) -> tuple[NDArray[np.str_], dict[str, NDArray[Any]], int]:
    """Records that are everywhere, your columns for them, and how many of your rows are left out.

    Without a table of your own, all records that every file has.
    """
    common = reduce(np.intersect1d, [one.records for one in columns if one.records is not None])
    if own is None:
        if by:
            raise InvalidInputError(f"there is no table with {by[0]}: give your own table")
        mine: dict[str, Any] = {own_id: common}
    else:
        mine = _own_columns(own, [*dict.fromkeys([own_id, *by])])
    ids = np.asarray(mine[own_id]).astype(str)
    is_kept = np.isin(ids, common)
    if not is_kept.any():
        raise InvalidInputError(
            "no record is in all of the files: give files of one party, and your own table with "
            f"the ids of their column record in {own_id}"
        )
    groups = {name: np.asarray(mine[name])[is_kept] for name in by}
    return ids[is_kept], groups, int((~is_kept).sum())


def _own_columns(own: str | Path | Any, names: Sequence[str]) -> dict[str, Any]:
    """Columns of a recipient's own table; of a file, as texts."""
    if not isinstance(own, str | Path):
        columns = as_columns(own, "own")
        lacking = [name for name in names if name not in columns]
        if lacking:
            raise InvalidInputError(
                f"own has no column {lacking[0]}, only {', '.join(columns)}: name one of these"
            )
        return {name: columns[name] for name in names}
    path = Path(own)
    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}: give your own table, .parquet or .csv")
    return read_texts(path, names)


def _subgroup_bounds(
    certificate: Certificate,
    column: NoisyColumn,
    groups: dict[str, NDArray[Any]],
    confidence: float,
) -> CrossTable:
    """Shares in groups as far as any law between the least and the greatest allows."""
    names, group_of_row = group_rows(groups, len(column))
    least, most = np.array(certificate.least_given_r), np.array(certificate.most_given_r)
    cells: list[Cell] = []
    is_consistent = True
    for group, counts in zip(names, count_by_group(column, group_of_row, len(names)), strict=True):
        bounds, fits = subgroup_bounds(least, most, counts, confidence)
        is_consistent &= fits
        cells += [
            Cell(group, (level,), int(counts.sum()), None, None, float(low), float(high))
            for level, (low, high) in zip(certificate.labels, bounds, strict=True)
        ]
    remarks = [Remark("not_analysable"), *([] if is_consistent else [Remark("unlikely_letters")])]
    remarks += remark_wide_bounds([(cell.low, cell.high) for cell in cells])
    return CrossTable(
        (certificate.request,),
        tuple(groups),
        len(column),
        confidence,
        tuple(cells),
        (),
        tuple(remarks),
    )


def _refuse_too_many(file: Path, certificate: Certificate) -> None:
    """Levels and letters whose bounds would take hours."""
    n_levels, n_letters = len(certificate.labels), len(certificate.p_rhat_given_r[0])
    if n_levels**2 * n_letters > _MOST_WORK:
        raise InvalidInputError(
            f"the certificate of {file} has {n_levels:,} levels and {n_letters:,} letters, too "
            f"many to estimate from: ask the custodian for fewer levels, about {_MANY} at most"
        )


def _refuse_altered(file: Path, certificate: Certificate) -> None:
    """A file whose content is not what the certificate was made for."""
    key = bytes.fromhex(certificate.digest_key)
    if digest_of(file, key) != certificate.digest:
        raise InvalidInputError(
            f"{file} is not the file that the certificate was made for: do not rely on it, and ask "
            "the custodian for both again"
        )


def _levels(certificate: Certificate, found: Estimate) -> Iterator[LevelEstimate]:
    for r, level in enumerate(certificate.labels):
        is_known = found.is_known(r)
        low, high = found.intervals[r] if is_known else found.bounds[r]
        share = float(found.frequencies[r]) if is_known else None
        yield LevelEstimate(level, share, float(low), float(high))


def _contrast(certificate: Certificate, contrast: Contrast) -> LevelContrast:
    pairs = zip(certificate.labels, contrast.weights.tolist(), strict=True)
    weights = {level: weight for level, weight in pairs if weight != 0}
    low, high = map(float, contrast.interval)
    return LevelContrast(weights, float(contrast.value), low, high)


def _remarks(
    certificate: Certificate, found: Estimate, levels: Sequence[LevelEstimate]
) -> Iterator[Remark]:
    if not found.is_consistent:
        yield Remark("unlikely_letters")
    if any(level.share is None for level in levels):
        yield Remark("some_levels_only_together")
    yield from remark_few_rows(found.n)
    yield from remark_outside_shares(level.share for level in levels)
    yield from certificate.remarks
    yield Remark("analysable") if certificate.is_analysable else Remark("subgroups_differ")
