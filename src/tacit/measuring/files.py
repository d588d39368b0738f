"""The custodian's table and the files that are out, as whole numbers: one row for each person.

A *label* is a rank among the values of a column, from 1; 0 stands for a missing value, and in a
held file -1 for people who are not in it. Nothing here depends on how a value is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.errors import InvalidInputError
from tacit.similar_names import nearest_first
from tacit.tables import Column, Encoding, IdColumn
from tacit.tables.connection import connect_file, quote_name
from tacit.tables.encoding.codes import levels_sql
from tacit.tables.encoding.levels import freeze
from tacit.tables.sources.source import find_source
from tacit.tables.sources.staging_table import stage, stored_columns

if TYPE_CHECKING:
    from tacit.tables.sources.source import AnyTable, Source

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]

ABSENT = -1


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """The custodian's table.

    Attributes:
        id: name of the column that tells people apart.
        ids: of each person, as a text.
        secret: name of what must not be found out.
        levels: labels of its levels.
        level: number of each person's level.
        known: column that others may know -> each person's label.
        ordered: those of them whose labels are in the order of numbers, dates or times.
    """

    id: str
    ids: pa.Array
    secret: str
    levels: tuple[str, ...]
    level: Labels
    known: Mapping[str, Labels]
    ordered: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class HeldFile:
    """A file that a party has.

    Attributes:
        whom: the party.
        shown: its name for messages.
        columns: what it says -> each person's label, or ``ABSENT``.
        ordered: those of them whose labels are in the order of numbers, dates or times.
        stands_for: column of it -> the known column that it is a function of.
        strangers: rows of people whom the table lacks.
        disagreeing: column of ``stands_for`` -> rows whose value is not that function's.
    """

    whom: str
    shown: str
    columns: Mapping[str, Labels]
    ordered: frozenset[str]
    stands_for: Mapping[str, str]
    strangers: int
    disagreeing: Mapping[str, int]

    @property
    def has(self) -> Mask:
        """Who is in it."""
        return np.asarray(next(iter(self.columns.values())) != ABSENT)

    @property
    def row(self) -> Labels:
        """One label for people of whom it says the same in every column; 0 for who is not in it."""
        return np.where(self.has, fold([*self.columns.values()]) + 1, 0)


def fold(labels: Sequence[Labels]) -> Labels:
    """One label for rows that are alike in all of several, from 0 without gaps."""
    folded, size = np.zeros(len(labels[0]), dtype=np.int64), 1
    for each in labels:
        low, n = int(each.min()), int(each.max() - each.min()) + 1
        if size * n > 2**62:
            folded = np.unique(folded, return_inverse=True)[1]
            size = int(folded.max()) + 1
        folded, size = folded * n + (each - low), size * n
    return np.asarray(np.unique(folded, return_inverse=True)[1], dtype=np.int64)


def read_people(table: AnyTable, id: str, secret: str | Column, known: Sequence[str]) -> People:  # noqa: A002
    """The table of everybody, a row for each person."""
    column = Column.of(secret)
    names = [id, column.name, *known]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(
                f"column {name!r} is named twice: the id, the secret and what is known are "
                "different columns"
            )
    source = find_source(table)
    with TemporaryDirectory() as folder, stage(source, names, Path(folder), ids=[id]) as staged:
        attribute = freeze(staged, column, [id])
        encoding = Encoding(
            ids=(IdColumn(name=id, sql_type=staged.types[id]),),
            attributes=(attribute,),
            externals=(),
        )
        shown = source.shown
        [(n_named, n_different)] = staged.connection.execute(
            f"SELECT count({quote_name(id)}), count(DISTINCT {quote_name(id)}) FROM staged"
        ).fetchall()
        if n_named < staged.n_records:
            raise InvalidInputError(
                f"{staged.n_records - n_named:,} rows of {shown} have no {id}: "
                "give every person one"
            )
        if n_different < n_named:
            raise InvalidInputError(
                f"{n_named:,} rows of {shown} have {n_different:,} different values of {id}: one "
                "row per person is needed"
            )
        chosen = ", ".join(f"staged.{quote_name(name)}" for name in known)
        rows = staged.connection.sql(
            f"SELECT CAST(id_0 AS VARCHAR) AS id, level_0 AS level{', ' * bool(known)}{chosen} "
            f"FROM ({levels_sql(staged.connection, encoding)}) "
            f"JOIN staged ON staged.{quote_name(id)} = id_0 ORDER BY id"
        ).to_arrow_table()
    labels = {name: _ranks(rows[2 + k]) for k, name in enumerate(known)}
    ordered = frozenset(name for k, name in enumerate(known) if not _is_text(rows[2 + k]))
    level = rows["level"].to_numpy().astype(np.int64)
    ids = rows["id"].combine_chunks()
    return People(id, ids, column.name, attribute.labels, level, labels, ordered)


def read_held(
    people: People,
    whom: str,
    table: AnyTable,
    link: AnyTable | None,
    same: Mapping[str, str],
) -> HeldFile:
    """A file that a party has, by the people of the table.

    Args:
        people: of the table.
        whom: the party.
        table: the file.
        link: a table of keys: the people's id, and the column that the file calls its rows by.
        same: column of the file -> the known column that it stands for, where the name differs.
    """
    source = find_source(table)
    rows, shown = _read_all(source), source.shown
    if link is None:
        if people.id not in rows.column_names:
            raise InvalidInputError(
                f"{shown}, held by {whom}, has no column {people.id!r}: give a table of keys with "
                f"--link {whom}=keys.csv, which has {people.id} and one column of the file's"
            )
        key, persons = people.id, _texts(rows[people.id])
    else:
        key, persons = _linked(rows, _read_all(find_source(link)), people.id, shown)
    position = pc.index_in(persons, value_set=people.ids)
    is_known = np.asarray(position.is_valid())
    where = position.drop_null().to_numpy().astype(np.int64)
    if not len(where):
        raise InvalidInputError(
            f"no {people.id} of {shown}, held by {whom}, is in the table: it is about other "
            "people, or its ids are others; link it with a table of keys (--link)"
        )
    if len(np.unique(where)) < len(where):
        raise InvalidInputError(
            f"{shown}, held by {whom}, has {len(where) - len(np.unique(where)):,} rows more than "
            f"people: one row per {people.id} is needed"
        )
    columns, ordered = {}, set()
    for name in rows.column_names:
        if name == key:
            continue
        _refuse_copy_of_ids(rows[name], persons, name, shown, people.id)
        column = np.full(len(people.ids), ABSENT, dtype=np.int64)
        column[where] = _ranks(rows[name])[is_known]
        columns[name] = column
        if not _is_text(rows[name]):
            ordered.add(name)
    if not columns:
        raise InvalidInputError(f"{shown}, held by {whom}, has no column beside {key}")
    stands_for = {name: name for name in columns if name in people.known}
    for name, known in same.items():
        if name not in columns or known not in people.known:
            missing, among = (name, columns) if name not in columns else (known, people.known)
            raise InvalidInputError(
                f"--same {whom}:{name}={known}: there is no column {missing!r}, of "
                f"{nearest_first(missing, among)}: give a column of the file, and a known one"
            )
        stands_for[name] = known
    disagreeing = {
        name: int(
            np.count_nonzero(columns[name][where] != shown_as(people, columns[name], k)[where])
        )
        for name, k in stands_for.items()
    }
    strangers = int(np.count_nonzero(~is_known))
    return HeldFile(whom, shown, columns, frozenset(ordered), stands_for, strangers, disagreeing)


def shown_as(people: People, column: Labels, known: str) -> Labels:
    """How a file shows a person's true known value: what it says of most who have that value.

    ``ABSENT`` for a value of which the file has nobody.
    """
    has, n_shown = column != ABSENT, int(column.max()) + 1
    truly = people.known[known]
    pairs, times = np.unique(truly[has] * n_shown + column[has], return_counts=True)
    value, shown = np.divmod(pairs, n_shown)
    # Of the most frequent pairs of each value the last stays.
    order = np.lexsort((times, value))
    usual = np.full(int(truly.max()) + 1, ABSENT, dtype=np.int64)
    usual[value[order]] = shown[order]
    return usual[truly]


def _linked(rows: pa.Table, keys: pa.Table, id_column: str, shown: str) -> tuple[str, pa.Array]:
    """The column that the file calls its rows by, and the id of each row's person."""
    both = [name for name in keys.column_names if name in rows.column_names and name != id_column]
    if id_column not in keys.column_names or len(both) != 1:
        raise InvalidInputError(
            f"the table of keys of {shown} has the columns {', '.join(keys.column_names)}: it "
            f"needs {id_column} and one column of the file's ({', '.join(rows.column_names)})"
        )
    [key] = both
    called = _texts(keys[key])
    if len(pc.unique(called)) < len(called):
        raise InvalidInputError(f"the table of keys of {shown} has the same {key} twice")
    return key, pc.take(_texts(keys[id_column]), pc.index_in(_texts(rows[key]), value_set=called))


def _read_all(source: Source) -> pa.Table:
    """Every column of a table, with the types that tacit stores; texts of ids are trimmed later."""
    with (
        TemporaryDirectory() as folder,
        connect_file(Path(folder)) as connection,
        source.open(connection) as found,
    ):
        names = tuple(found.types)
        chosen, _ = stored_columns(found, names, (), source.shown)
        rows = connection.sql(f"SELECT {chosen} FROM {found.scan(names)}").to_arrow_table()
    if not len(rows):
        raise InvalidInputError(f"{source.shown} has no rows: nobody is in it")
    return rows


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """Ids as they are compared, see ``staging_table.id_text``."""
    text = pc.utf8_normalize(pc.cast(column, pa.string()), form="NFC")
    return pc.utf8_trim_whitespace(text).combine_chunks()


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _ranks(column: pa.ChunkedArray) -> Labels:
    """Of each value among those that occur, from 1; 0 where it is missing."""
    values = pc.unique(column).drop_null()
    values = values.take(pc.sort_indices(values))
    found = pc.index_in(column, value_set=values)
    return np.asarray(pc.add(pc.fill_null(found, -1), 1).to_numpy(), dtype=np.int64)


def _refuse_copy_of_ids(
    column: pa.ChunkedArray, persons: pa.Array, name: str, shown: str, id_column: str
) -> None:
    if len(column) > 1 and pc.all(pc.equal(_texts(column), persons)).as_py():
        raise InvalidInputError(
            f"column {name!r} of {shown} is {id_column} again: leave it out, and pass --ids shown "
            "if the party sees it"
        )
