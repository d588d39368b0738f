"""Bits that designs leave for merging letters: what verification makes of the bounds below them."""

from __future__ import annotations

from pathlib import Path

from pyarrow import csv, parquet

from tacit.cli.demo import write_people
from tacit.study import Study, verify_study

VISITS = (("lab", 0.1), ("other", 0.1), ("lab", 0.1), ("lab", 0.1), ("lab", 0.5))
"""The last one's limit is worth so much that the room left is more than a design may be loose."""

LOOSEST = 2e-3


def write_adults(place: Path) -> str:
    write_people(place)
    file = place / "few.parquet"
    parquet.write_table(csv.read_csv(place / "people.csv").slice(0, 3000), file)
    return str(file)


def test_a_bound_below_the_room_for_merging_is_no_fault(tmp_path: Path) -> None:
    table = write_adults(tmp_path)
    private = ["education", "income"]
    with Study.create(
        tmp_path / "s", table, id="person", private=private, ledger="folder"
    ) as study:
        for party in ("lab", "other"):
            study.set_party(party, 0.9)
        for number, (party, bits) in enumerate(VISITS):
            certificate = study.release(
                party, "education", bits=bits, again=True, out=tmp_path / f"{number}.parquet"
            )
        last = study.receipt(certificate.entry)
    assert last.bound is not None
    assert last.value - last.bound > LOOSEST
    verified = verify_study(tmp_path / "s")
    assert verified.is_whole, verified.problems
