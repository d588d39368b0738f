"""What has changed in a source since its snapshot was made, in words and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit.errors import InvalidInputError
from tacit.tables.connection import quote_name
from tacit.tables.encoding.codes import Encoding, codes_sql, levels_sql
from tacit.tables.encoding.snapshot import Counts, Snapshot
from tacit.tables.encoding.strays import read_as
from tacit.tables.sources.staging_table import StagingTable, stage


def compare(snapshot: Snapshot, source: str, others: Sequence[Snapshot] = ()) -> list[str]:
    """Every kind of change, one line each; empty if the source still is the snapshot.

    Records of ``others`` that are not in the snapshot may be in the source, or not.
    """
    encoding = snapshot.encoding
    try:
        names, folder = list(encoding.types), snapshot.folder.parent
        with stage(source, names, folder, is_known=True) as table:
            _read_texts(encoding, table)
            _leave_out(table, encoding, others)
            table = replace(table, n_records=table.count())
            return _changed_types(encoding, table) or _changed_records(snapshot, table)
    except InvalidInputError as error:
        return [str(error)]


def _read_texts(encoding: Encoding, table: StagingTable) -> None:
    """Read as numbers, dates or times what was read so for the snapshot."""
    for column in (*encoding.attributes, *encoding.externals):
        if column.is_from_texts and table.types[column.name] == "VARCHAR":
            read_as(table, column.name, column.sql_type)


def _leave_out(table: StagingTable, encoding: Encoding, others: Sequence[Snapshot]) -> None:
    """Remove records of other cohorts."""
    ids = ", ".join(f"staged.{quote_name(one.name)}" for one in encoding.ids)
    held = ", ".join(f"id_{k}" for k in range(len(encoding.ids)))
    for other in others:
        table.connection.execute(
            f"DELETE FROM staged WHERE ({ids}) IN "
            f"(SELECT ({held}) FROM {other.ids_sql} WHERE id_0 IS NOT NULL)"
        )


def _changed_types(encoding: Encoding, table: StagingTable) -> list[str]:
    local = {each.name for each in (*encoding.attributes, *encoding.externals) if each.is_local}
    now = table.types | dict.fromkeys(local & table.zoned, "TIMESTAMP WITH TIME ZONE")
    return [
        f"column {name!r} was {sql_type} and is {now[name]} now"
        for name, sql_type in encoding.types.items()
        if now[name] != sql_type
    ]


def _changed_records(snapshot: Snapshot, table: StagingTable) -> list[str]:
    encoding = snapshot.encoding
    table.connection.execute(f"CREATE TABLE levels AS {levels_sql(table.connection, encoding)}")
    found = [*_new_values(encoding, table), *_moved_records(snapshot, table)]
    return found or _moved_externals(snapshot, table)


def _new_values(encoding: Encoding, table: StagingTable) -> list[str]:
    columns = (*encoding.attributes, *encoding.externals)
    counts = ", ".join(f"count(*) - count(level_{k})" for k in range(len(columns)))
    [row] = table.connection.execute(f"SELECT {counts} FROM levels").fetchall()
    return [
        f"records with a value of {column.name!r} that was not there: {number:,}"
        for column, number in zip(columns, row, strict=True)
        if number
    ]


def _moved_records(snapshot: Snapshot, table: StagingTable) -> list[str]:
    """Records added, removed, repeated, or in another cell."""
    ids = [f"id_{k}" for k in range(len(snapshot.encoding.ids))]
    is_same = " AND ".join(f"before.{name} = now.{name}" for name in ids)
    now = f"SELECT *, true AS is_there FROM ({codes_sql('levels', snapshot.encoding)})"
    table.connection.register("before", snapshot.records())
    [(n_added, n_removed, n_moved)] = table.connection.execute(
        "SELECT count(*) FILTER (before.x IS NULL), count(*) FILTER (now.is_there IS NULL), "
        "count(*) FILTER (before.x <> now.x) "
        "FROM (SELECT * FROM before WHERE id_0 IS NOT NULL) AS before "
        f"FULL JOIN ({now}) AS now ON {is_same}"
    ).fetchall()
    [(n_different,)] = table.connection.execute(
        f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(ids)} FROM levels)"
    ).fetchall()
    added = "records added, or erased from the study" if snapshot.n_erased else "records added"
    found = {
        added: n_added,
        "records removed": n_removed,
        "records whose private attributes changed": n_moved,
        "records that repeat the id of another": table.n_records - n_different,
    }
    return [f"{what}: {number:,}" for what, number in found.items() if number]


def _moved_externals(snapshot: Snapshot, table: StagingTable) -> list[str]:
    """External columns whose counts differ; told apart only while the records are the same."""
    found = []
    for k, external in enumerate(snapshot.encoding.externals):
        before = snapshot.external_counts(external.name)
        n_fewer = int(np.maximum(before - _count(snapshot, table, k), 0).sum())
        n_moved = n_fewer - snapshot.n_erased  # who are counted only before
        if n_moved > 0:
            found.append(f"records whose {external.name!r} changed: at least {n_moved:,}")
    return found


def _count(snapshot: Snapshot, table: StagingTable, k: int) -> Counts:
    """How many records of each cell have each level of external column ``k`` now, [x, r]."""
    encoding = snapshot.encoding
    rows = table.connection.execute(
        f"SELECT x, r_{k}, count(*) FROM ({codes_sql('levels', encoding)}) GROUP BY ALL"
    ).fetchnumpy()
    counts = np.zeros((encoding.n_cells, encoding.externals[k].n_levels), dtype=np.int64)
    counts[rows["x"], rows[f"r_{k}"]] = rows["count_star()"]
    return counts
