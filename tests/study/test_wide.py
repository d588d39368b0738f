"""A table with many combinations, most of them empty, and limits on every two of six parties."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tacit.study import Study, verify_study
from tests.study.clinic import channel_of, counts_of, intents_of, next_state_of
from tests.study.exact import exact_bits

LEVELS = {"a": 4, "b": 4, "c": 3, "d": 3}
REQUESTS: tuple[tuple[str, str | tuple[str, ...]], ...] = (
    ("p", "a"),
    ("q", "b"),
    ("r", "c"),
    ("s", ("a", "d")),
    ("t", "d"),
    ("u", "b"),
)
ANY_TWO = 0.3
ROUNDING = 1e-9
"""Bounds are computed in floats and rounded up."""


@pytest.fixture(scope="module", autouse=True)
def small_budgets() -> Iterator[None]:
    """The table counts as wide from the second release on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.accounting._REMEMBERED_ENTRIES", 200)
        patch.setattr("tacit.accounting._MANY_TERMS", 16)
        patch.setattr("tacit.scheme.scheme._UNKNOWNS", 200)
        patch.setattr("tacit.scheme.scheme._WIDE", 8)
        yield


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wide")
    write_people(place / "people.csv")
    table = str(place / "people.csv")
    with Study.create(
        place / "study", table, id="person", private=[*LEVELS], everyone=3.0, ledger="folder"
    ) as study:
        for party, _ in REQUESTS:
            study.set_limit(party, 0.3)
        study.set_limit("everyone", 3.0)
        study.set_limit("any 2", ANY_TWO)
        for party, asked in REQUESTS:
            study.release(party, asked, bits=0.2, out=place / f"{party}.csv")
    return place / "study"


def write_people(table: Path) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, size=120)
    columns = [
        np.where(rng.random(120) < 0.5, kind, rng.integers(0, n, 120)) for n in LEVELS.values()
    ]
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", *LEVELS])
        writer.writerows([n, *row] for n, row in enumerate(np.stack(columns, axis=1).tolist()))


def test_cells_without_records_are_one_class(wide: Path) -> None:
    occupied = int((counts_of(wide) > 0).sum())
    assert occupied < 0.6 * len(counts_of(wide))
    assert channel_of(intents_of(wide)[-1]).weights.shape[1] <= occupied + 1


def test_where_classes_are_many_states_are_few(wide: Path) -> None:
    states = [int(next_state_of(intent).max()) + 1 for intent in intents_of(wide)]
    assert max(states[:2]) > 4
    assert states[-1] == 1


def test_every_two_parties_are_counted_apart_and_near_the_truth(wide: Path) -> None:
    with Study.open(wide) as study:
        status = study.status()
    pairs = [each for each in status.coalitions if len(each.parties) == 2]
    assert len(pairs) == 15
    for pair in pairs:
        truth = float(exact_bits(wide, pair.parties).mid())
        assert not pair.is_covered
        assert truth <= pair.held <= truth + pair.slack + ROUNDING
        assert pair.held <= ANY_TWO
    assert max(pair.held for pair in pairs) > ANY_TWO - 1e-5  # the limit was felt


def test_the_study_verifies(wide: Path) -> None:
    assert verify_study(wide).problems == ()


def test_status_needs_no_laws(wide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What every release proved stands in the ledger."""
    with Study.open(wide) as study:
        proved = study._journal.books.proved_account
        held = {each.parties: each.held for each in study.status().coalitions}
    for parties, bits in held.items():
        assert bits == pytest.approx(proved.upper_bits(frozenset(parties)), abs=ROUNDING)
    monkeypatch.delattr("tacit.accounting.Account.after")
    with Study.open(wide) as study:
        assert {each.parties: each.held for each in study.status().coalitions} == held
