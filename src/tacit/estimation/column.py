"""A released column with the law of its noise, one letter for each row.

All that is computed from it needs rhat to be independent of everything else given r: the release
has to be analysable, its channel read only r. Then its matrix can be undone on average.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.estimation.functionals import RANK_TOL
from tacit.information.laws import as_channel, as_joint

if TYPE_CHECKING:
    import pyarrow as pa

_FEW_RECORDS = 10
"""A letter that fewer records are expected to have, whatever is true of them, tells nothing."""

Letters = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class NoisyColumn:
    """Released letters of an analysable release, in the order of your rows.

    Attributes:
        letters: the released letters rhat, whole numbers from 0, one for each row.
        p_rhat_given_r: ``[r, rhat]``, rows sum to 1.
        levels: names of the letters r; numbers from 0 by default.
        records: ids of the rows, as texts; ``None`` where they are not known.
        numbers: where each level lies on a scale; ``None`` for levels that are only names.
    """

    letters: Letters
    p_rhat_given_r: Array
    levels: tuple[str, ...] = ()
    records: NDArray[np.str_] | None = None
    numbers: Array | None = None

    def __post_init__(self) -> None:
        channel = checked_channel(self.p_rhat_given_r)
        letters = checked_letters(self.letters, channel)
        levels = _checked_names(self.levels) or tuple(map(str, range(len(channel))))
        if len(levels) != len(channel):
            raise InvalidInputError(
                f"levels has {len(levels)} names and p_rhat_given_r {len(channel)} rows: name each"
            )
        if len(set(levels)) < len(levels):
            raise InvalidInputError(f"levels has a name twice ({', '.join(levels)}): give each one")
        records = None if self.records is None else _as_ids(self.records)
        if records is not None and len(records) != len(letters):
            raise InvalidInputError(
                f"records has {len(records):,} ids and letters {len(letters):,} rows: give one id "
                "for each row"
            )
        numbers = None if self.numbers is None else _checked_numbers(self.numbers, levels)
        checked = (letters, channel, levels, records, numbers)
        for field, value in zip(fields(self), checked, strict=True):
            object.__setattr__(self, field.name, value)

    def __len__(self) -> int:
        return len(self.letters)

    def __repr__(self) -> str:
        """How many rows there are, and the levels."""
        return f"NoisyColumn({len(self):,} rows, levels {', '.join(self.levels)})"

    def to_arrow(self) -> pa.Table:
        """A row for each record: its id, where ids are known, and its letter."""
        import pyarrow as pa

        ids = {} if self.records is None else {"record": self.records}
        return pa.table(ids | {"letter": self.letters})

    def scored(self, numbers: Sequence[float]) -> Self:
        """The same column with a number for each level, in the order of ``levels``."""
        return replace(self, numbers=_checked_numbers(numbers, self.levels))

    def at(self, records: ArrayLike) -> Self:
        """The column in the order of your own rows, by their record ids.

        Raises:
            InvalidInputError: an id occurs twice, or the release has no such record.
        """
        if self.records is None:
            raise InvalidInputError("the column has no record ids: give `records`")
        wanted = _as_ids(records)
        if len(wanted) == 0:
            raise InvalidInputError("records is empty: give the id of at least one record")
        _refuse_twice(np.sort(wanted), "records", "give every record once")
        order = np.argsort(self.records)
        _refuse_twice(self.records[order], "the column", "its rows cannot be told apart")
        place = np.minimum(np.searchsorted(self.records, wanted, sorter=order), len(self) - 1)
        rows = order[place]
        missing = wanted[self.records[rows] != wanted]
        if missing.size > 0:
            raise InvalidInputError(
                f"the release has no record {str(missing[0])!r} ({missing.size:,} are missing): "
                "leave these rows out"
            )
        return replace(self, letters=self.letters[rows], records=wanted)

    @property
    def inverse(self) -> Array:
        """w[rhat, r] with mean 1{r = r'} for rows of r'; refused where the release tells less."""
        return inverse_of(self.p_rhat_given_r, self.levels)

    @property
    def weights(self) -> Array:
        """``[row, r]``: a weight for each level, whose mean over rows of r' is 1{r = r'}.

        Weights of a row sum to 1, and some are below 0. Then Σ w y / Σ w is consistent for the mean
        of y among the rows of level r, and the mean of w unbiased for the share of r.
        """
        return np.asarray(self.inverse[self.letters])


def _checked_names(levels: Iterable[str]) -> tuple[str, ...]:
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise InvalidInputError(f"levels is {levels!r}: give a name for each row of p_rhat_given_r")
    return tuple(map(str, levels))


def refuse_other_columns(column: NoisyColumn) -> None:
    """What is no noisy column."""
    if not isinstance(column, NoisyColumn):
        raise InvalidInputError(
            f"column is a {type(column).__name__}: give a NoisyColumn, as read_column does"
        )


def _as_ids(records: ArrayLike) -> NDArray[np.str_]:
    """Ids as texts, one for each row."""
    try:
        ids = np.asarray(records)
        texts = ids.astype(str)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"records is no column ({error}): give one id a row") from error
    if texts.ndim != 1:
        raise InvalidInputError(
            f"records is {texts.ndim}-D (shape {texts.shape}): give one id for each row"
        )
    return texts


def _refuse_twice(ordered: NDArray[np.str_], whose: str, what: str) -> None:
    """An id that occurs again."""
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if again.size > 0:
        raise InvalidInputError(f"{whose} holds an id twice, {str(again[0])!r}: {what}")


def _checked_numbers(numbers: ArrayLike, levels: Sequence[str]) -> Array:
    try:
        array = np.asarray(numbers, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (len(levels),) or not np.isfinite(array).all():
        raise InvalidInputError(
            f"numbers is {numbers!r}: give one finite number for each of {', '.join(levels)}"
        )
    return array


def join(columns: Sequence[NoisyColumn]) -> NoisyColumn:
    """Several columns of the same rows as one, whose levels are all combinations in C order.

    Given the true values, the letters of different analysable releases are independent. Letters of
    one draw, handed out twice, are not: they are refused.
    """
    if not columns:
        raise InvalidInputError("there is no noisy column: give at least one")
    for one, other in combinations(columns, 2):
        _refuse_copies(one, other)
    joined = columns[0]
    for column in columns[1:]:
        joined = NoisyColumn(
            joined.letters * column.p_rhat_given_r.shape[1] + column.letters,
            np.asarray(np.kron(joined.p_rhat_given_r, column.p_rhat_given_r), dtype=float),
            tuple(f"{a}, {b}" for a in joined.levels for b in column.levels),
            joined.records,
        )
    return joined


def _refuse_copies(one: NoisyColumn, other: NoisyColumn) -> None:
    """Columns whose letters follow from each other, though both are noisy."""
    if len(one) != len(other):
        raise InvalidInputError(
            f"columns have {len(one):,} and {len(other):,} rows: give the same rows"
        )
    pairs = np.unique(np.stack([one.letters, other.letters]), axis=1).shape[1]
    both = one, other
    is_noisy = all(each.p_rhat_given_r.max(axis=1).min() < 1 for each in both)
    if is_noisy and pairs == min(len(np.unique(each.letters)) for each in both) > 1:
        raise InvalidInputError("two columns hold the same draw, handed out twice: use one of them")


def add_weights(frame: Any, column: NoisyColumn, name: str) -> Any:
    """A pandas, polars or pyarrow table with a column of weights ``name=level`` for each level.

    Args:
        frame: your own rows.
        column: in the same order, see ``NoisyColumn.at``.
        name: of what was released.
    """
    refuse_other_columns(column)
    is_pandas, is_polars = hasattr(frame, "assign"), hasattr(frame, "hstack")
    if not (is_pandas or is_polars or hasattr(frame, "append_column")):
        raise InvalidInputError(
            f"frame is a {type(frame).__name__}: give a pandas, polars or pyarrow table"
        )
    if len(frame) != len(column):
        raise InvalidInputError(
            f"frame has {len(frame):,} rows and the column {len(column):,}: give the same rows"
        )
    labels = [f"{name}={level}" for level in column.levels]
    names = frame.columns if is_pandas or is_polars else frame.column_names
    taken = [label for label in labels if label in names]
    if taken:
        raise InvalidInputError(f"frame has a column {taken[0]!r} already: give another name")
    added = dict(zip(labels, np.ascontiguousarray(column.weights.T), strict=True))
    if is_pandas:
        return frame.assign(**added)
    if is_polars:
        return frame.hstack(type(frame)(added))
    is_batch = not hasattr(frame, "combine_chunks")  # whose columns are in one piece
    for label, weights in added.items():
        frame = frame.append_column(label, weights if is_batch else [weights])
    return frame


def inverse_of(channel: Array, levels: Sequence[str]) -> Array:
    """w[rhat, r] with A w = 1, of least variance for equally likely r."""
    used = channel.max(axis=0) > 0
    scale = np.sqrt(len(channel) * channel[:, used].mean(axis=0))
    left, singular, right = np.linalg.svd(channel[:, used] / scale, full_matrices=False)
    if len(singular) < len(channel) or singular.min() <= RANK_TOL:
        raise InvalidInputError(
            f"the release does not tell all of {', '.join(levels)} apart: only sums of shares can "
            "be estimated (tacit estimate); ask the custodian for a release that uses every level"
        )
    inverse = np.zeros(channel.shape[::-1])
    inverse[used] = (left / singular @ right / scale).T
    return inverse


def without_rare_letters(
    counts: NDArray[np.int64], channel: Array
) -> tuple[NDArray[np.int64], Array]:
    """Letters that hardly occur, counted as the most frequent one.

    What a handful of records says about frequencies is noise, and would count as if it determined
    them. Not telling letters apart is always allowed: the answers stay unbiased.
    """
    is_rare = counts.sum() * channel.max(axis=0) < _FEW_RECORDS
    often = channel.sum(axis=0).argmax()
    kept = np.where(is_rare, often, np.arange(len(counts)))
    merged = np.zeros_like(channel)
    np.add.at(merged.T, kept, channel.T)
    return np.bincount(kept, counts, len(counts)).astype(np.int64), merged


def checked_channel(p_rhat_given_r: ArrayLike) -> Array:
    """A law of letters for each r, [r, rhat]."""
    name = "p_rhat_given_r"
    n_r = len(as_joint(p_rhat_given_r, ndim=2, name=name))
    return as_channel(p_rhat_given_r, np.ones(n_r), name=name)


def checked_letters(letters: ArrayLike, channel: Array) -> Letters:
    """Letters that the channel can release, one for each row."""
    try:
        array = np.asarray(letters)
    except ValueError as error:
        raise InvalidInputError(f"letters is not an array ({error}): give letters rhat") from error
    if array.ndim != 1:
        raise InvalidInputError(
            f"letters is {array.ndim}-D (shape {array.shape}): give one letter rhat for each row"
        )
    if array.size == 0:
        raise InvalidInputError("letters is empty: an estimate needs at least one released letter")
    if array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"letters holds {array.dtype} values: give whole numbers, the columns of p_rhat_given_r"
        )
    used = channel.max(axis=0) > 0
    wrong = array[(array < 0) | (array >= used.size)]
    if wrong.size > 0:
        raise InvalidInputError(
            f"letters holds {wrong[0]}, but p_rhat_given_r has columns 0 to {used.size - 1}: "
            "give the channel that these letters went through"
        )
    places = array.astype(np.intp, copy=False)
    impossible = places[~used[places]]
    if impossible.size > 0:
        first = impossible.min()
        raise InvalidInputError(
            f"letters holds {first} {(impossible == first).sum()} times, but p_rhat_given_r "
            "never releases it: give the channel that these letters went through"
        )
    return places
