"""Which pseudonym each of a recipient's ids has in the files of its party.

Ids are compared as the study stores them: the 7 of a text is the 7 of a number. An id that is not
in the study has no pseudonym, so whoever gets the links knows who is in the study.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv
from pyarrow import parquet as pq

from tacit.sampling import pseudonyms
from tacit.storage import atomic_file
from tacit.tables.connection import quote_name
from tacit.tables.delivery.release_file import Words, check_target, hexadecimal
from tacit.tables.encoding.codes import ids_as_stored_sql
from tacit.tables.encoding.snapshot import Snapshot
from tacit.tables.sources.source import AnyTable
from tacit.tables.sources.staging_table import stage


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The ids of a table that are in the study, each with its pseudonym.

    Attributes:
        table: the id columns, named as in the study, and ``record``; in the order of the ids. Of
            several cohorts, one after another, and ``cohort``.
        n_unknown: how many other ids the table has.
    """

    table: pa.Table
    n_unknown: int

    @staticmethod
    def join(cohorts: Sequence[Links]) -> Links:
        """What was found of one table in each cohort."""
        first, *later = cohorts
        if not later:
            return first
        n_later = sum(each.table.num_rows for each in later)
        tables = [
            each.table.append_column("cohort", pa.array([number] * each.table.num_rows, pa.int64()))
            for number, each in enumerate(cohorts, 1)
        ]
        return Links(pa.concat_tables(tables), first.n_unknown - n_later)

    def write(self, target: Path) -> None:
        """Write a .csv or .parquet file, whole or not at all."""
        check_target(target)
        with atomic_file(target) as file:
            if target.suffix.lower() == ".csv":
                csv.write_csv(self.table, file)
            else:
                pq.write_table(self.table, file)


def link(snapshot: Snapshot, ids: AnyTable, pseudonym_key: Callable[[int], bytes]) -> Links:
    """Look the ids of a table up.

    Args:
        snapshot: of the study.
        ids: a table with the study's id columns; other columns are not read.
        pseudonym_key: attempt -> key of the party's pseudonyms, as releases take it.

    Raises:
        InvalidInputError: there is no such table, or a column of ids is missing.
    """
    names = [column.name for column in snapshot.encoding.ids]
    with stage(ids, names, snapshot.folder.parent, ids=names) as table:
        asked = ids_as_stored_sql(snapshot.encoding)
        is_same = " AND ".join(f"asked.id_{k} = held.id_{k}" for k in range(len(names)))
        shown = ", ".join(f"held.id_{k} AS {quote_name(name)}" for k, name in enumerate(names))
        found: pa.Table = table.connection.sql(
            f"SELECT {shown}, row FROM {snapshot.ids_sql} AS held "
            f"JOIN (SELECT DISTINCT {asked} FROM staged) AS asked ON {is_same} ORDER BY row"
        ).to_arrow_table()
        listed = ", ".join(map(quote_name, names))
        distinct = f"SELECT count(*) FROM (SELECT DISTINCT {listed} FROM staged)"
        [(n_ids,)] = table.connection.execute(distinct).fetchall()
    rows = found.column("row").to_numpy()
    words = party_words(snapshot.n_records, pseudonym_key)[rows]
    linked = found.drop_columns("row").append_column("record", hexadecimal(words))
    return Links(linked, n_ids - found.num_rows)


def party_words(n_records: int, pseudonym_key: Callable[[int], bytes]) -> Words:
    """The pseudonyms of all records: the first of the party's keys under which all differ."""
    attempt = 0
    while True:
        words = pseudonyms(pseudonym_key(attempt), 0, n_records)
        if len(np.unique(words)) == n_records:
            return words
        attempt += 1
