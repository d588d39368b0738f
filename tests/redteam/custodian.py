"""What a custodian does to a study, in today's words: the one place to change when these change."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from tacit.cli.failure import failure_of
from tacit.datasets import adult
from tacit.errors import InfeasibleError, TacitError
from tacit.study import Study, back_up, restore, verify_study
from tacit.tables import Column
from tacit.words.commands import command_of
from tests.cli.clinic import tacit
from tests.redteam.raw_ledger import cohort_of, read_ledger
from tests.redteam.studies import ledger_file, make_study, write_table

PLENTY = 20.0
"""Bits: more than there is to learn from any of the tables."""

RELEASED = ("value", "blind", "everyone_bits")
"""What is compared of a release's entry, by the names of its fields."""

Rows = Mapping[str, tuple[object, ...]]
"""Id -> the values of a record."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table to begin with.

    Attributes:
        columns: private ones first.
        private: how many are.
        rows: values without an id; more records have some of these again.
        cuts: of a column of numbers.
    """

    columns: tuple[str, ...]
    private: int
    rows: Sequence[tuple[object, ...]]
    cuts: Mapping[str, tuple[int, ...]]

    @property
    def declared(self) -> list[Column]:
        return [Column(name, cuts=self.cuts.get(name)) for name in self.columns]


def adults(people: int, at_least: int = 0) -> Table:
    """Adult with one record for so many people; income and age are private, education is not."""
    counted = adult(age_cuts=(30, 60))
    rows = []
    for (education, income, age), count in np.ndenumerate(counted.counts):
        values = counted.levels[1][income], (25, 45, 70)[age], counted.levels[0][education]
        rows += [values] * (int(count) // people + at_least)
    return Table(("income", "age", "education"), 2, rows, {"age": (30, 60)})


@dataclass(frozen=True, slots=True)
class Request:
    """What a party asks for."""

    party: str
    asked: tuple[str, ...] | None = None
    sql: str | None = None
    bits: float | None = None
    utility: str = "hamming"
    objective: str = "mean"
    analysable: bool = False


class Custodian:
    """Keeps one study below a folder."""

    def __init__(
        self, place: Path, table: Table, rows: Rows, *, memory: int, is_id_public: bool
    ) -> None:
        self.place, self.table, self.is_id_public = place, table, is_id_public
        self.folder = place / "study"
        self._study = make_study(
            self.folder,
            self._write(rows),
            id="id",
            private=table.declared[: table.private],
            external=table.declared[table.private :],
            memory=memory,
            public_id=is_id_public,
            min_records=1,
        )

    def _write(self, rows: Rows) -> Path:
        records = [(name, *values) for name, values in rows.items()]
        return write_table(self.place / "table.csv", ("id", *self.table.columns), records)

    # -- limits -----------------------------------------------------------------------------

    def limit(self, whom: str, bits: float, times: float) -> None:
        """Limit a party, which lets it in, or a coalition; infinite for no limit."""
        self._study.set_limit(whom, bits, times)

    # -- requests ---------------------------------------------------------------------------

    def release(self, request: Request) -> dict[int, bytes]:
        """The files of a request, by the numbers of cohorts."""
        out = self.place / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        self._study.release(**asdict(request), out=out / "a.csv", accept=["disclosure"])
        suffix = re.compile(r"a(?:\.cohort-(\d+))?\.csv")
        named = ((suffix.fullmatch(path.name), path) for path in out.iterdir())
        return {int(name[1] or 1): path.read_bytes() for name, path in named if name}

    def quote(self, request: Request) -> tuple[float, float]:
        """What it would be worth, and what it would be without an answer; spends nothing."""
        quoted = self._study.quote(**asdict(request))
        return quoted.value, quoted.blind

    # -- records ----------------------------------------------------------------------------

    def extend(self, rows: Rows, *, corrects: bool = False, readmit: Sequence[str] = ()) -> None:
        """Let records join: also known ones with other values, or those named that were erased."""
        table = str(self._write(rows))
        how = {"accept_corrections": corrects, "skip_known": corrects, "readmit": readmit}
        self._study.extend(table, min_cohort=1, **how)

    def erase(self, names: Collection[str]) -> None:
        self._study.erase(str(self._write_names(names)))

    def pseudonyms(self, party: str, names: Collection[str]) -> dict[str, str]:
        """The name in a party's files of each id that is in the study."""
        file = self.place / "links.csv"
        self._study.link(party, str(self._write_names(names)), out=file)
        with file.open(newline="") as opened:
            return {row["id"]: row["record"] for row in csv.DictReader(opened)}

    def _write_names(self, names: Iterable[str]) -> Path:
        return write_table(self.place / "ids.csv", ("id",), [(name,) for name in names])

    # -- the folder -------------------------------------------------------------------------

    def close(self) -> None:
        self._study.close()

    def back_up(self, name: str) -> Path:
        file = self.place / f"{name}.tar"
        back_up(self.folder, file)
        return file

    def lose_and_restore(self, backup: Path, *, keeps_ledger: bool) -> None:
        """Lose the folder, or all but its ledger and what names it, and put the backup back."""
        self.close()
        kept = ("study.json", ledger_file(self.folder).name) if keeps_ledger else ()
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in kept:
                path.unlink()
        if not keeps_ledger:
            self.folder.rmdir()
        restore(backup, self.folder)
        self._study = Study.open(self.folder)

    def destroy_key(self) -> None:
        self._study.destroy_key()

    # -- what others may look at ------------------------------------------------------------

    def n_entries(self) -> int:
        return len(read_ledger(self.folder).rows)

    def figures(self, after: int) -> list[dict[str, Any]]:
        """What the ledger's entries after one say: of each its kind, of a release what it is worth
        and what every coalition that a limit concerns holds then.
        """
        return [
            {"kind": row.kind}
            | ({"cohort": cohort_of(row)} if "holdings" in row.body else {})
            | {name: row.body[name] for name in RELEASED if name in row.body}
            | {"+".join(each["parties"]): each["bits"] for each in row.body.get("holdings", ())}
            for row in read_ledger(self.folder).rows[after:]
        ]

    def problems(self) -> list[str]:
        """What ``verify`` does not find as recorded."""
        return [str(each) for each in verify_study(self.folder).problems]

    def why_no_help(self, request: Request, error: InfeasibleError) -> str | None:
        """Type what refusals suggest, in a copy of the study: why it is of no help, if it is not.

        Where a number is left to the custodian, there is plenty. Another refusal may follow, of
        another limit.
        """
        elsewhere = self.place / "elsewhere"
        shutil.rmtree(elsewhere, ignore_errors=True)
        twin = Path(shutil.copytree(self.folder, elsewhere / "study"))
        given, refusals = {"folder": str(twin), "out": str(elsewhere / "a.csv")}, [error]
        while suggestions := refusals[-1].suggestions:
            for each in suggestions:
                command = command_of(each, given)
                if command is None:
                    return f"no command for {each}: {refusals[-1]}"
                answer = tacit(
                    *shlex.split(
                        command.replace("BITS", str(PLENTY)).replace("TIMES", str(2**PLENTY))
                    )[1:]
                )
                if answer.code:
                    return f"{command}: {answer.err}: {refusals[-1]}"
            if any(each.is_answered for each in suggestions):
                return None
            with Study.open(twin) as study:
                try:
                    study.release(**asdict(request), out=given["out"], accept=["disclosure"])
                    return None
                except InfeasibleError as still:
                    refusals.append(still)
                    if str(still) in map(str, refusals[:-1]):
                        is_of_limits = _is_answered_without_limits(study, request)
                        return f"said again: {still}" if is_of_limits else None
        return None


def exit_code(error: TacitError) -> int:
    """Of a command that ends so."""
    return failure_of(error).exit_code


def _is_answered_without_limits(study: Study, request: Request) -> bool:
    """Whether a limit was in the way at all: some answers would be worthless without any."""
    for each in study.limits():
        if each.title is None:
            study.set_limit(each.whom, inf, inf)
    study.set_limit(request.party, PLENTY, inf)
    try:
        study.quote(**asdict(request))
    except InfeasibleError:
        return False
    return True
