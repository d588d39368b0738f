"""Records that join a study later: a table encoded as the study's first one was.

Types are those of the study, where the values are the same in them. A value without a level is
refused, and so is a record that is known, by its normalised id: see ``ids``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa

from tacit.errors import InvalidInputError, Suggestion
from tacit.remark import Remark
from tacit.tables.connection import quote_name
from tacit.tables.encoding.builder import new_snapshot, write_snapshot
from tacit.tables.encoding.codes import Encoding, cell_sql, levels_sql
from tacit.tables.encoding.ids import keyed_person_sql, normalised_id_sql
from tacit.tables.encoding.persons import check_ids
from tacit.tables.encoding.snapshot import Snapshot
from tacit.tables.encoding.strays import count_strays, read_as
from tacit.tables.sources.source import AnyTable
from tacit.tables.sources.staging_table import StagingTable, stage

_MOST_SHOWN = 10
"""As many rows, or values, are listed."""


_WRITTEN = {
    "BOOLEAN": ", written true or false",
    "DATE": ", written as in 2020-12-31",
    "TIME": ", written as in 12:30:00",
    "TIMESTAMP": ", written as in 2020-12-31 12:30:00",
}
"""Stored type -> how texts are written that are converted to it."""


class NothingNewError(InvalidInputError):
    """No record of a table is new: it joined before, or what is known is to be left out."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Who of a table may join.

    Attributes:
        skip_known: leave out records that are known or were erased, instead of refusing them.
        accept_corrections: take known records whose private values changed for new ones.
        erased: keyed hashes of the normalised ids of those who were erased for good.
        key: of these hashes.
        accept: codes of what the custodian accepts about ids.
    """

    skip_known: bool
    accept_corrections: bool
    erased: frozenset[str]
    key: bytes
    accept: Collection[str] = ()


def build_cohort(
    source: AnyTable,
    cohorts: Sequence[Snapshot],
    folder: Path,
    admission: Admission,
    *,
    remark: Callable[[Remark], None],
) -> Snapshot:
    """Read the records of a source that are in no cohort yet, and freeze them in a new folder.

    Args:
        source: the table.
        cohorts: all records that are known.
        folder: where the snapshot will be; it must not exist.
        admission: who may join.
        remark: called with what the custodian should know about the table.

    Raises:
        NothingNewError: every record is known or was erased, and that is no mistake.
        InvalidInputError: a column has other values than the study can read, or records are known
            or were erased.
    """
    encoding = cohorts[0].encoding
    with new_snapshot(folder) as partial:
        names = [each.name for each in encoding.ids]
        with stage(source, list(encoding.types), partial, ids=names) as table:
            _read_alike(table, encoding)
            check_ids(table, names, admission.accept, source, partial)
            levels = levels_sql(table.connection, encoding, "staged.rowid + 1 AS row")
            # A column of the table may be called rowid: only place is sure to tell records apart.
            table.connection.execute(
                f"CREATE TABLE levels AS SELECT *, row_number() OVER () AS place FROM ({levels})"
            )
            _find_known(table, cohorts)
            _find_erased(table, encoding, admission)
            if admission.accept_corrections:
                _let_changed_in(table)
            _refuse_nothing_new(table, cohorts, skip_known=admission.skip_known, remark=remark)
            _leave_known_out(table, skip_known=admission.skip_known)
            _leave_erased_out(table, skip_known=admission.skip_known)
            n_fresh = table.count("levels")
            _refuse_new_values(table, encoding)
            write_snapshot(replace(table, n_records=n_fresh), encoding, "levels", partial)
        for each in table.remarks:
            remark(each)
    return Snapshot(folder, n_fresh, encoding)


# -- columns of the same types ------------------------------------------------------------------


def _read_alike(table: StagingTable, encoding: Encoding) -> None:
    """Turn every column into the type that it has in the study."""
    texts = {
        each.name for each in (*encoding.attributes, *encoding.externals) if each.is_from_texts
    }
    for column in (*encoding.attributes, *encoding.externals):
        if column.is_local and column.name in table.zoned:
            raise InvalidInputError(
                f"column {column.name!r} is TIMESTAMP in the study, without a time zone, and "
                "TIMESTAMP WITH TIME ZONE here: write it without one, on the clock that the study "
                "has it on"
            )
    for name, sql_type in encoding.types.items():
        if table.types[name] == sql_type:
            continue
        if name in texts and table.types[name] == "VARCHAR":
            n_strays, example = count_strays(table, name, sql_type)
            if n_strays:
                values = {"column": name, "records": n_strays, "example": example}
                table.remarks.append(Remark("strays_missing", values))
            read_as(table, name, sql_type)
        else:
            _convert(table, name, sql_type)


def _convert(table: StagingTable, name: str, sql_type: str) -> None:
    """Change the type of a column whose values all stay what they are."""
    column, found = f"staged.{quote_name(name)}", table.types[name]
    try:
        rows = table.connection.execute(
            f"SELECT rowid + 1, CAST({column} AS VARCHAR) FROM staged WHERE {column} IS NOT NULL "
            f"AND CAST(TRY_CAST({column} AS {sql_type}) AS {found}) IS DISTINCT FROM {column} "
            f"ORDER BY rowid LIMIT {_MOST_SHOWN}"
        ).fetchall()
    except duckdb.Error:  # there is no such conversion
        rows = [(1, "any")]
    if rows:
        number, example = rows[0]
        raise InvalidInputError(
            f"column {name!r} is {sql_type} in the study and {found} here, and not every value is "
            f"the same there ({example!r} in row {number}): give it the study's type"
            f"{_WRITTEN.get(sql_type, '') if found == 'VARCHAR' else ''}"
        )
    table.connection.execute(
        f"ALTER TABLE staged ALTER COLUMN {quote_name(name)} TYPE {sql_type} "
        f"USING CAST({quote_name(name)} AS {sql_type})"
    )
    table.types[name] = sql_type


# -- records that are known ---------------------------------------------------------------------


def _find_known(table: StagingTable, cohorts: Sequence[Snapshot]) -> None:
    """Make the table ``known``: row, cohort, and whether id and private values are others."""
    encoding, connection = cohorts[0].encoding, table.connection
    ids = [f"id_{k}" for k in range(len(encoding.ids))]
    name = normalised_id_sql(len(ids))
    for number, snapshot in enumerate(cohorts, 1):
        into = "INSERT INTO held" if number > 1 else "CREATE TABLE held AS"
        connection.register("cohort_records", snapshot.records())
        connection.execute(
            f"{into} SELECT {name} AS name, {number} AS cohort, CAST(x AS UINTEGER) AS x, "
            f"{', '.join(f'{each} AS held_{each}' for each in ids)} FROM cohort_records"
        )
        connection.unregister("cohort_records")
    x = cell_sql(encoding.shape, [f"level_{k}" for k in range(len(encoding.shape))])
    is_same_id = " AND ".join(f"held_{each} = {each}" for each in ids)
    connection.execute(
        "CREATE TABLE known AS SELECT place, any_value(row) AS row, max(cohort) AS cohort, "
        "NOT bool_or(mine.x IS NOT DISTINCT FROM held.x) AS is_changed, "
        f"bool_or({is_same_id}) AS is_same_id "
        f"FROM (SELECT *, {x} AS x, {name} AS name FROM levels) AS mine "
        "JOIN held USING (name) GROUP BY place"
    )


def _find_erased(table: StagingTable, encoding: Encoding, admission: Admission) -> None:
    """Make the table ``erased``: rows of those who were erased and have not come back."""
    hashed = keyed_person_sql(len(encoding.ids), admission.key)
    refused = pa.table({"hash": pa.array(admission.erased, pa.string())})
    table.connection.register("refused", refused)
    table.connection.execute(
        "CREATE TABLE erased AS SELECT place, row FROM levels ANTI JOIN known USING (place) "
        f"WHERE {hashed} IN (SELECT hash FROM refused)"
    )
    table.connection.unregister("refused")


def _let_changed_in(table: StagingTable) -> None:
    """Take records whose private values changed for new ones; refuse an id in another spelling."""
    other = "known WHERE is_changed AND NOT is_same_id"
    if table.count(other):
        raise InvalidInputError(
            f"the ids of changed records are spelt otherwise in the study ({_rows(table, other)}): "
            "spell them as there"
        )
    table.connection.execute("DELETE FROM known WHERE is_changed")


def _refuse_nothing_new(
    table: StagingTable,
    cohorts: Sequence[Snapshot],
    *,
    skip_known: bool,
    remark: Callable[[Remark], None],
) -> None:
    """Refuse a table of which all records are to be left out, or that is one of the cohorts."""
    rows = table.connection.execute(
        "SELECT cohort, count(*), count(*) FILTER (is_changed) FROM known GROUP BY cohort"
    ).fetchall()
    n_erased = table.count("erased")
    if sum(n_known for _, n_known, _ in rows) + n_erased < table.n_records:
        return
    n_changed = sum(changed for *_, changed in rows)
    # A table that still has the erased records is the same table.
    is_cohort = not n_changed and [n_known for _, n_known, _ in rows] == [
        cohorts[cohort - 1].n_records - cohorts[cohort - 1].n_erased for cohort, *_ in rows[:1]
    ]
    if skip_known or (is_cohort and rows):
        if n_erased:
            remark(Remark("erased_skipped", {"records": n_erased}))
        if n_changed:
            remark(Remark("known_skipped", {"records": table.n_records}))
            remark(Remark("values_changed", {"records": n_changed}))
        raise NothingNewError(f"all {table.n_records:,} records are in the study already")


def _leave_known_out(table: StagingTable, *, skip_known: bool) -> None:
    """Remove what is known from ``levels``, or refuse it."""
    n_known, n_changed = table.count("known"), table.count("known WHERE is_changed")
    if n_known and not skip_known:
        changes, choices = "", "leave them out"
        suggestions = [Suggestion("extend", {"skip_known": True})]
        if n_changed:
            rows, has_others = _rows(table, "known WHERE is_changed"), n_known > n_changed
            changes = f", {n_changed:,} of them with other private values than then ({rows})"
            choices = (
                "leave all of them out, and answers stay about the values that they joined with; "
                "or erase those with other values, so that they join again with these"
                f"{', and leave the rest out' if has_others else ''}"
            )
            rest = {"skip_known": True} if has_others else {}
            suggestions.append(Suggestion("extend", {"accept_corrections": True} | rest))
        raise InvalidInputError(
            f"{n_known:,} of {table.n_records:,} records are in the study already "
            f"({_rows(table, 'known')}){changes}: {choices}",
            suggestions=suggestions,
        )
    if n_known:
        table.remarks.append(Remark("known_skipped", {"records": n_known}))
    if n_changed:
        table.remarks.append(Remark("values_changed", {"records": n_changed}))
    table.connection.execute("DELETE FROM levels WHERE place IN (SELECT place FROM known)")


def _leave_erased_out(table: StagingTable, *, skip_known: bool) -> None:
    """Remove from ``levels`` who was erased, or refuse them."""
    n_erased = table.count("erased")
    if n_erased and not skip_known:
        raise InvalidInputError(
            f"{n_erased:,} of {table.n_records:,} records were erased from the study "
            f"({_rows(table, 'erased')}): leave them out, or name each one that is to be let in "
            "again; answers about it are then drawn again, and who kept the earlier ones may hold "
            "up to twice the limits about it",
            suggestions=[
                Suggestion("extend", {"skip_known": True}),
                Suggestion("extend", {"readmit": "ID"}),
            ],
        )
    if n_erased:
        table.remarks.append(Remark("erased_skipped", {"records": n_erased}))
        table.connection.execute("DELETE FROM levels WHERE place IN (SELECT place FROM erased)")


def _rows(table: StagingTable, name: str) -> str:
    """Numbers of rows, from 1: ids are not for messages."""
    found = table.connection.execute(f"SELECT row FROM {name} ORDER BY row").fetchall()
    shown = ", ".join(str(row) for (row,) in found[:_MOST_SHOWN])
    more = f" and {len(found) - _MOST_SHOWN:,} more" if len(found) > _MOST_SHOWN else ""
    return f"row{'s' * (len(found) > 1)} {shown}{more}"


# -- values without a level ---------------------------------------------------------------------


def _refuse_new_values(table: StagingTable, encoding: Encoding) -> None:
    """Refuse values of new records that have no level; shows them with their rows."""
    wrong, has_present, has_missing = [], False, False
    is_row = " AND ".join(
        f"staged.{quote_name(one.name)} = levels.id_{k}" for k, one in enumerate(encoding.ids)
    )
    for k, column in enumerate((*encoding.attributes, *encoding.externals)):
        rows = table.connection.execute(
            f"SELECT CAST(staged.{quote_name(column.name)} AS VARCHAR), count(*), "
            f"min(levels.row) AS first FROM levels JOIN staged ON {is_row} "
            f"WHERE levels.level_{k} IS NULL GROUP BY ALL ORDER BY first"
        ).fetchall()
        if rows:
            shown = [
                f"{'a missing value' if text is None else repr(text)} ({number:,}, row {row})"
                for text, number, row in rows[:_MOST_SHOWN]
            ]
            more = f" and {len(rows) - _MOST_SHOWN:,} more" if len(rows) > _MOST_SHOWN else ""
            wrong.append(f"{column.name}: {', '.join(shown)}{more}")
            has_present |= any(text is not None for text, *_ in rows)
            has_missing |= any(text is None for text, *_ in rows)
    ways = []
    if has_present:
        ways.append(
            "correct them, leave these records out, or make a study whose columns have levels for "
            "all, such as top=20 or groups"
        )
    if has_missing:
        ways.append(
            "fill in what is missing, or leave these records out: a column has a level for missing "
            "values if some were missing when the study began, and gets none later"
        )
    if wrong:
        raise InvalidInputError(f"the study has no level for {'; '.join(wrong)}: {'; '.join(ways)}")
