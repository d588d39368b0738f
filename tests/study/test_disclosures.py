"""What releases disclose: named before they are recorded, and from then on."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import AcceptanceError
from tacit.study import Receipt, Study, verify_study
from tests.study.exact import exact_law
from tests.study.filled_clinic import assert_found
from tests.study.forging import forge_last

PATIENTS, MGUS = 7_874, 115
"""As in ``survival::flchain``: those with the diagnosis are 1.5 % of the patients."""

ACCEPT = ["disclosure"]


@pytest.fixture
def patients(tmp_path: Path) -> Iterator[Study]:
    """Who has the diagnosis has a code for it in the chapter of diseases, and some others do."""
    rng = np.random.default_rng(0)
    mgus = rng.permutation(PATIENTS) < MGUS
    chapter = np.where(mgus | (rng.random(PATIENTS) < 0.0005), "blood", "other")
    sex = np.where(rng.random(PATIENTS) < 0.45, "m", "f")
    with (tmp_path / "flchain.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "sex", "mgus", "chapter"))
        writer.writerows(zip(range(PATIENTS), sex, mgus.astype(int), chapter, strict=True))
    with Study.create(
        tmp_path / "study",
        str(tmp_path / "flchain.csv"),
        id="id",
        private=["sex", "mgus", "chapter"],
        ledger="folder",
    ) as study:
        yield study


def test_an_insurer_gets_no_diagnoses_without_a_word(patients: Study, tmp_path: Path) -> None:
    patients.set_limit("insurer", 0.1)
    quoted = patients.quote("insurer", "mgus").disclosures
    before = patients.status()
    with pytest.raises(AcceptanceError, match=r"^insurer would name 10") as refused:
        patients.release("insurer", "mgus", out=tmp_path / "mgus.csv")
    assert refused.value.code == "disclosure"
    assert refused.value.figures["disclosures"] == [each.as_dict() for each in quoted]
    assert patients.status() == before
    assert not (tmp_path / "mgus.csv").exists()
    made = patients.release("insurer", "mgus", out=tmp_path / "mgus.csv", accept=ACCEPT)
    receipt = patients.receipt(made.entry)
    assert isinstance(receipt, Receipt)
    assert receipt.disclosures == quoted == patients.status().disclosures
    assert f"nsurer can name {quoted[0].people:.0f} of the {quoted[0].of}" in receipt.as_html()
    assert patients.risk(["insurer"]).disclosures == quoted == patients.audit().disclosures
    [mgus] = [each for each in quoted if each.column == "mgus"]
    assert (mgus.level, mgus.of, mgus.whom) == ("1", MGUS, ("insurer",))
    with (tmp_path / "mgus.csv").open() as file:
        answers = [row["rhat"] for row in csv.DictReader(file)]
    assert mgus.people / mgus.sure == pytest.approx(answers.count("1"), abs=12)  # 4 deviations
    told, has = Fraction(0), [code == 1 for code in np.indices((2, 2, 2))[1].reshape(-1)]
    for row in exact_law(tmp_path / "study", ["insurer"]):  # whole numbers, from the ledger alone
        ill = sum(mass for mass, is_ill in zip(row, has, strict=True) if is_ill)
        told += ill if 10 * ill >= 9 * sum(row) else 0
    total = sum(map(sum, exact_law(tmp_path / "study", ["insurer"])))
    assert mgus.people == pytest.approx(float(PATIENTS * told / total), rel=1e-12)
    [chapter] = [each for each in quoted if each.column == "chapter"]
    assert chapter.level == "blood"
    assert chapter.people == pytest.approx(mgus.people, rel=0.01)


def test_what_is_disclosed_already_is_not_said_again(patients: Study, tmp_path: Path) -> None:
    patients.set_limit("insurer", 0.3)
    patients.release("insurer", "mgus", bits=0.1, out=tmp_path / "mgus.csv", accept=ACCEPT)
    assert patients.quote("insurer", "sex", bits=0.1).disclosures == ()
    patients.release("insurer", "sex", bits=0.1, out=tmp_path / "sex.csv")
    again = patients.release("insurer", "mgus", bits=0.1, out=tmp_path / "again.csv")
    assert again.request == "mgus"
    patients.set_limit("lab", 0.3)
    with pytest.raises(AcceptanceError, match=r"^lab would name"):  # it is news to another party
        patients.release("lab", "mgus", bits=0.1, out=tmp_path / "lab.csv")


def test_a_coalition_that_can_tell_what_no_party_can_is_named(
    tmp_path: Path, patients: Study
) -> None:
    """Two noisy answers about the same: together they are sure where each alone is not."""
    patients.set_limit("any 2", 1.0)
    costs = {"utility": "hamming", "objective": "worst-level", "analysable": True}
    for party in ("a", "b"):
        patients.set_limit(party, 0.5)
    patients.release("a", "sex", bits=0.3, out=tmp_path / "a.csv", **costs)  # type: ignore[arg-type]
    quoted = patients.quote("b", "sex", bits=0.4, **costs)  # type: ignore[arg-type]
    [found] = quoted.disclosures
    assert (found.column, found.level, found.whom) == ("sex", "m", ("a", "b"))
    assert "b" not in [name for each in patients.status().disclosures for name in each.whom]
    patients.release("b", "sex", bits=0.4, out=tmp_path / "b.csv", accept=ACCEPT, **costs)  # type: ignore[arg-type]
    [now] = patients.status().disclosures
    assert (now.whom, now.people) == (("a", "b"), pytest.approx(found.people))


@pytest.mark.parametrize("is_hidden", [True, False])
def test_a_forged_ledger_that_hides_or_understates_a_disclosure_is_found(
    patients: Study, tmp_path: Path, is_hidden: bool
) -> None:
    patients.set_limit("insurer", 0.1)
    patients.release("insurer", "mgus", out=tmp_path / "mgus.csv", accept=ACCEPT)
    assert verify_study(tmp_path / "study").problems == ()

    def edit(body: dict[str, Any]) -> None:
        if is_hidden:
            body["disclosures"] = []
        else:
            body["disclosures"][0]["people"] -= 1

    forge_last(tmp_path / "study", "intent", edit)
    assert_found(verify_study(tmp_path / "study"), "it does not record that insurer can name 10")
