"""The restore attack: put a study back to an earlier time, ask the same again, average the answers.

Nobody who runs it breaks anything: they copy a folder, or restore a ledger from a backup.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path

from tacit.errors import TacitError
from tacit.study import Study
from tests.redteam.raw_ledger import TOTAL, classes_of_cells, read_ledger, read_table_on_cells
from tests.redteam.studies import DIAGNOSES, ledger_file, make_hospital

ASKED, BITS = "diagnosis", 0.12


@dataclass(slots=True)
class Loot:
    """What the attacker has after all attempts.

    Attributes:
        files: contents of the files that came out, each content once.
        refusals: what was said instead.
    """

    files: list[dict[str, str]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def ask(self, folder: Path, target: Path, bits: float = BITS) -> None:
        """Ask for the same again, and keep what comes out if it is new."""
        try:
            with Study.open(folder) as study:
                study.release("lab-a", ASKED, bits=bits, out=target, accept=["disclosure"])
        except TacitError as error:
            self.refusals.append(str(error))
            return
        content = read_answers(target)
        if content not in self.files:
            self.files.append(content)


@dataclass(frozen=True, slots=True)
class Scene:
    """A study, the same as it was before anything was released, and its table.

    Ids are public here, so that guesses can be compared with the truth; pseudonyms would join
    the files as well, because they are the party's own and never change.
    """

    place: Path

    @property
    def folder(self) -> Path:
        return self.place / "clinic"

    @property
    def kept(self) -> Path:
        """The backup."""
        return self.place / "kept"

    @staticmethod
    def make(place: Path, n_releases: int = 0) -> Scene:
        """With so many releases to somebody else before the backup."""
        scene = Scene(place)
        with make_hospital(place, public_id=True, everyone=0.9) as study:
            study.set_limit("lab-a", 0.3)
            study.set_limit("lab-b", 0.3)
            for number in range(n_releases):
                study.release(
                    "lab-b",
                    "age",
                    bits=0.03 + number / 100,
                    out=place / "b.csv",
                    overwrite=True,
                    accept=["disclosure"],
                )
        shutil.copytree(scene.folder, scene.kept)
        return scene

    def restore_folder(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder)

    def restore_ledger(self) -> None:
        """The documented backup of a ledger: one file."""
        put_back_ledger(self.folder, ledger_file(self.kept))

    def truth(self) -> dict[str, str]:
        with (self.place / "patients.csv").open(newline="") as file:
            return {row["patient"]: row["diagnosis"] for row in csv.DictReader(file)}


def put_back_ledger(folder: Path, backup: Path) -> None:
    """Restore a ledger's file from a copy, as its owner would."""
    file = ledger_file(folder)
    for scratch in ("-wal", "-shm", "-journal"):
        file.with_name(file.name + scratch).unlink(missing_ok=True)
    shutil.copyfile(backup, file)


def read_answers(file: Path) -> dict[str, str]:
    with file.open(newline="") as opened:
        return {row["record"]: row["rhat"] for row in csv.DictReader(opened)}


def repeat(scene: Scene, restore: Callable[[Scene], None], times: int = 12) -> Loot:
    """Ask, restore, ask again, and so on."""
    loot = Loot()
    for number in range(times):
        loot.ask(scene.folder, scene.place / f"{number}.csv")
        restore(scene)
    return loot


def share_guessed(scene: Scene, files: Sequence[dict[str, str]]) -> float:
    """How often the best guess of a record's diagnosis is right, given its answers in all files.

    The guess takes the files for independent draws of the same table, as they are if the attack
    works.
    """
    chances = answer_chances(scene.folder)
    truth = scene.truth()
    n_right = 0
    for record, level in truth.items():
        guess = max(
            sorted(chances),
            key=lambda r: chances[r][""] + sum(chances[r][file[record]] for file in files),
        )
        n_right += guess == level
    return n_right / len(truth)


def answer_chances(folder: Path) -> dict[str, dict[str, float]]:
    """Level -> logarithms of p(answer | level) by answer, and of p(level) under the empty name."""
    rows = read_ledger(folder).rows
    created, intents = rows[0].body, [row for row in rows if row.kind == "intent"]
    classes = classes_of_cells(rows, rows[0].body)[intents[-1].number]
    [table] = read_table_on_cells(intents[-1].payload, classes)[:1]
    labels = intents[-1].body["letters"]
    letter_of_cell = intents[-1].body["question"]["letter_of_cell"]
    levels = sorted(DIAGNOSES)
    masses: dict[str, dict[str, float]] = {level: dict.fromkeys(labels, 1e-300) for level in levels}
    for cell, count in enumerate(created["counts"]):
        for label, weight in zip(labels, table[cell], strict=True):
            masses[levels[letter_of_cell[cell]]][label] += count * weight / TOTAL
    return {
        level: {label: log(mass / sum(by.values())) for label, mass in by.items()}
        | {"": log(sum(by.values()))}
        for level, by in masses.items()
    }
