"""Small tables: refused below a number of records, remarked on below another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.accounting import other_rows_upper_bits
from tacit.errors import InvalidInputError, Suggestion
from tests.study.clinic import counts_of, make_clinic, write_patients


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_table_of_few_records_is_refused_and_nothing_is_left(
    tmp_path: Path, is_shared: bool
) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.sqlite'}" if is_shared else None
    write_patients(tmp_path / "patients.csv", 49)
    with pytest.raises(InvalidInputError) as refusal:
        make_clinic(tmp_path, ledger)
    assert "patients.csv has 49 records and 50 is the fewest" in str(refusal.value)
    assert "everybody else's rows" in str(refusal.value)
    assert refusal.value.suggestions == (Suggestion("create", {"min_records": 49}),)
    left = {path.name for path in tmp_path.iterdir()}
    assert left - {"ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"} == {"patients.csv"}
    with make_clinic(tmp_path, ledger, min_records=49) as study:
        assert study.status().records == 49


@pytest.mark.parametrize(("n_records", "is_remarked"), [(50, True), (999, True), (1000, False)])
def test_a_table_below_a_thousand_records_is_remarked_on(
    tmp_path: Path, n_records: int, is_remarked: bool
) -> None:
    with make_clinic(tmp_path, n_records=n_records) as study:
        assert any(remark.code == "few_records" for remark in study.remarks) == is_remarked


def test_a_quote_says_what_everybody_elses_rows_add(tmp_path: Path) -> None:
    """More than nothing, no more than for whatever may be released, and more with each release."""
    with make_clinic(tmp_path, n_records=400) as study:
        study.set_limit("lab", 0.9)
        whatever = other_rows_upper_bits(counts_of(tmp_path / "clinic"), None)
        first = study.quote("lab", "smoker", bits=0.1)
        assert 0 < first.others_bits < whatever
        study.release("lab", "smoker", bits=0.1, out=tmp_path / "a.csv")
        assert study.quote("lab", "smoker", bits=0.1).others_bits == first.others_bits
        second = study.quote("lab", "diagnosis", bits=0.1)
        assert first.others_bits < second.others_bits <= whatever
        assert second.as_dict()["others_bits"] == second.others_bits
