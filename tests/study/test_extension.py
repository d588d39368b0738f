"""Records that join later: answered once each, within every limit in every cohort."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from tacit.errors import (
    InfeasibleError,
    InvalidInputError,
    LedgerError,
    RolledBackError,
)
from tacit.remark import Remark
from tacit.study import Study, verify_study
from tacit.study.backup import back_up, restore
from tacit.words.commands import tail_of
from tests.study.clinic import (
    PRIVATE,
    copy_clinic,
    entries_of,
    intents_of,
    make_clinic,
    read_patients,
    read_release,
    write_patients,
    write_rows,
)
from tests.words import in_words

UNCHANGED = [Remark("unchanged")]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a study is that is copied and never used itself."""
    place = tmp_path_factory.mktemp("kept")
    write_patients(place / "new.csv", 120, seed=1, first=200)
    with make_clinic(place, everyone=0.9, external=["outcome"]) as made:
        for party in ("lab-a", "lab-b"):
            made.set_limit(party, 0.5)
    return place


@pytest.fixture
def study(tmp_path: Path, kept: Path) -> Iterator[Study]:
    """A clinic of 200, with ``new.csv`` of 120 more, and one answer about the first ones."""
    with Study.open(copy_clinic(kept, tmp_path)) as opened:
        opened.release("lab-a", "age", out=tmp_path / "age.csv", bits=0.1)
        yield opened


def kinds_of(place: Path) -> list[str]:
    return [entry.kind for entry in entries_of(place / "clinic")]


# -- answers ------------------------------------------------------------------------------------


def test_a_repeated_request_is_answered_for_the_new_cohort_only(
    study: Study, tmp_path: Path
) -> None:
    first = (tmp_path / "age.csv").read_bytes()
    study.extend(str(tmp_path / "new.csv"))
    receipt = study.release("lab-a", "age", out=tmp_path / "age.csv", bits=0.1)
    assert kinds_of(tmp_path)[-4:] == ["delivered", "cohort", "intent", "delivered"]
    assert (tmp_path / "age.csv").read_bytes() == first
    [beside] = study.receipts_beside(receipt.entry)
    assert (receipt.records, receipt.cohort) == (200, None)
    assert (beside.records, beside.cohort, beside.table) == (120, 2, "new.csv")
    assert len(read_release(tmp_path / "age.cohort-2.csv")[1]) == 120
    study.release("lab-a", "age", out=tmp_path / "age.csv", bits=0.1)
    assert kinds_of(tmp_path).count("intent") == 2
    found = verify_study(tmp_path / "clinic", tmp_path / "age.cohort-2.csv.certificate.json")
    assert (found.problems, found.releases) == ((), 2)


@pytest.mark.parametrize("asked", ["diagnosis", "outcome"])
def test_a_new_request_is_answered_for_every_cohort_at_once(
    study: Study, tmp_path: Path, asked: str
) -> None:
    study.extend(str(tmp_path / "new.csv"))
    receipt = study.release("lab-b", asked, out=tmp_path / "new.parquet", bits=0.1)
    assert kinds_of(tmp_path)[-4:] == ["intent", "intent", "delivered", "delivered"]
    [beside] = study.receipts_beside(receipt.entry)
    assert (receipt.cohort, beside.cohort) == (1, 2)
    assert study.receipt(receipt.entry).blind != beside.blind  # each has its own law
    assert verify_study(tmp_path / "clinic").problems == ()


def test_if_a_cohort_refuses_it_is_named_and_nothing_is_spent(study: Study, tmp_path: Path) -> None:
    study.extend(str(tmp_path / "new.csv"))
    study.release("lab-b", "smoker", out=tmp_path / "b.csv", bits=0.45, cohort=2)
    n_entries = len(entries_of(tmp_path / "clinic"))
    with pytest.raises(InfeasibleError, match=r"cohort 2 \(120 records\).*: lab-b asks for 0.2"):
        study.release("lab-b", "age", out=tmp_path / "c.csv", bits=0.2)
    assert len(entries_of(tmp_path / "clinic")) == n_entries
    assert not (tmp_path / "c.csv").exists()
    with pytest.raises(InfeasibleError, match="cohort 2"):
        study.quote("lab-b", "age", bits=0.2)
    assert study.quote("lab-b", "age", bits=0.2, cohort=1).cohort == 1


def test_a_limit_that_protects_nothing_in_a_cohort_names_it(study: Study, tmp_path: Path) -> None:
    alike = [row for row in read_patients(tmp_path / "new.csv") if row[2:4] == ("asthma", "yes")]
    write_rows(tmp_path / "alike.csv", [(name, "70", *others) for name, _, *others in alike])
    assert len(alike) >= 10
    study.extend(str(tmp_path / "alike.csv"), min_cohort=10)
    [remark] = [each for each in study.status().remarks if each.values.get("limited_by") == "lab-a"]
    assert (remark.code, remark.values["cohort"]) == ("limit_too_high", 2)
    assert "protects nothing in cohort 2: a record has only 0.0000 bits" in in_words([remark])[0]


def test_limits_hold_in_every_cohort(study: Study, tmp_path: Path) -> None:
    study.extend(str(tmp_path / "new.csv"))
    study.release("lab-b", "smoker", out=tmp_path / "b.csv", bits=0.3, cohort=2)
    with pytest.raises(InfeasibleError, match=r"lab-b.*below what it holds already"):
        study.set_limit("lab-b", 0.2)
    with pytest.raises(InfeasibleError, match="below what"):
        study.set_limit("everyone", 0.2)
    with pytest.raises(InvalidInputError, match="received something"):
        study.set_limit("lab-b", inf)
    status = study.status()
    [lab_b] = [each for each in status.parties if each.name == "lab-b"]
    assert (lab_b.cohort, round(lab_b.held, 3)) == (2, 0.3)
    assert [each.parties[1].held > 0 for each in status.cohorts] == [False, True]
    [own] = [each for each in study.limits() if each.limited_by == "lab-b"]
    assert (own.cohort, own.held, own.held_by_cohort) == (2, lab_b.held, (0.0, lab_b.held))
    assert study.statement("lab-b").held == lab_b.held


def test_no_two_cohorts_share_letters_or_pseudonyms(tmp_path: Path) -> None:
    """The same values in the same order of ids, so that all tables and places are the same."""
    rows = read_patients(write_patients(tmp_path / "patients.csv"))
    write_rows(tmp_path / "new.csv", [(f"q{row[0]}", *row[1:]) for row in rows])
    with make_clinic(tmp_path) as study:
        study.extend(str(tmp_path / "new.csv"))
        study.set_limit("lab-a", 0.5)
        entry = study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.1).entry
        first, [second] = study.receipt(entry), study.receipts_beside(entry)
    assert first.channel == second.channel
    answers = [dict(read_release(tmp_path / name)[1]) for name in ("a.csv", "a.cohort-2.csv")]
    assert not answers[0].keys() & answers[1].keys()
    draws = {each.body["draw"] for each in intents_of(tmp_path / "clinic")}
    assert len(draws) == 2  # the random numbers are others


def test_the_audit_the_risk_and_the_cells_are_of_a_cohort(study: Study, tmp_path: Path) -> None:
    study.extend(str(tmp_path / "new.csv"))
    study.release("lab-b", "smoker", out=tmp_path / "b.csv", bits=0.3, cohort=2)
    audits = [study.audit(records=200, cohort=cohort) for cohort in (1, 2)]
    assert [each.everyone.parties for each in audits] == [("lab-a",), ("lab-b",)]
    assert study.risk(["lab-a", "lab-b"]).records == 120
    assert {cell.cohort for cell in study.small_cells(30)} == {1, 2}
    with pytest.raises(InvalidInputError, match="there is no cohort 3"):
        study.audit(cohort=3)


# -- who may join -------------------------------------------------------------------------------


def test_the_same_file_changes_nothing_the_second_time(study: Study, tmp_path: Path) -> None:
    assert study.extend(str(tmp_path / "new.csv")) != UNCHANGED
    n_entries = len(entries_of(tmp_path / "clinic"))
    assert study.extend(str(tmp_path / "new.csv")) == UNCHANGED
    assert study.extend(str(tmp_path / "patients.csv")) == UNCHANGED
    assert len(entries_of(tmp_path / "clinic")) == n_entries
    assert [each.name for each in (tmp_path / "clinic" / "cohorts").iterdir()] == ["2"]


def test_known_records_are_refused_by_their_rows_or_left_out(study: Study, tmp_path: Path) -> None:
    known, new = read_patients(tmp_path / "patients.csv"), read_patients(tmp_path / "new.csv")
    moved = (known[1][0], "20" if int(known[1][1]) > 65 else "90", *known[1][2:])
    write_rows(tmp_path / "both.csv", [known[0], *new, moved])
    with pytest.raises(InvalidInputError) as refused:
        study.extend(str(tmp_path / "both.csv"))
    assert "2 of 122 records are in the study already (rows 1, 122)" in str(refused.value)
    assert "1 of them with other private values than then (row 122): leave" in str(refused.value)
    choices = "; that is --skip-known, or --accept-corrections --skip-known"
    assert tail_of(refused.value.suggestions, {}) == choices
    assert [each.arguments for each in refused.value.suggestions] == [
        {"skip_known": True},
        {"accept_corrections": True, "skip_known": True},
    ]
    assert known[0][0] not in str(refused.value)
    remarks = study.extend(str(tmp_path / "both.csv"), skip_known=True)
    assert Remark("known_skipped", {"records": 2}) in remarks
    assert Remark("values_changed", {"records": 1}) in remarks
    assert [each.records for each in study.status().cohorts] == [200, 120]


def test_a_corrected_record_is_erased_and_joins_again(study: Study, tmp_path: Path) -> None:
    known, new = read_patients(tmp_path / "patients.csv"), read_patients(tmp_path / "new.csv")
    moved = (known[1][0], "20" if int(known[1][1]) > 65 else "90", *known[1][2:])
    write_rows(tmp_path / "new.csv", [known[0], *new, moved])
    with pytest.raises(InvalidInputError, match=r"1 of 122 .* \(row 1\): leave them out"):
        study.extend(str(tmp_path / "new.csv"), accept_corrections=True)
    remarks = study.extend(str(tmp_path / "new.csv"), accept_corrections=True, skip_known=True)
    assert Remark("corrected", {"records": 1, "times": 2}) in remarks
    assert kinds_of(tmp_path)[-3:] == ["erasure", "erased", "cohort"]
    status = study.status()
    assert (status.records, status.erased, status.corrected) == (321, 1, 1)
    assert [(each.records, each.erased) for each in status.cohorts] == [(200, 1), (121, 0)]
    study.release("lab-a", "age", out=tmp_path / "age.csv", bits=0.1)
    files = [read_release(tmp_path / name)[1] for name in ("age.csv", "age.cohort-2.csv")]
    assert list(map(len, files)) == [199, 121]
    assert verify_study(tmp_path / "clinic").problems == ()
    ids = tmp_path / "ids.csv"
    ids.write_text(f"patient\n{moved[0]}\n")
    assert study.erase(str(ids)).records == 1  # who joined again can be erased again
    assert [each.erased for each in study.status().cohorts] == [1, 1]
    assert verify_study(tmp_path / "clinic").problems == ()


def test_an_erased_record_joins_again_only_if_it_is_named(study: Study, tmp_path: Path) -> None:
    known, new = read_patients(tmp_path / "patients.csv"), read_patients(tmp_path / "new.csv")
    (tmp_path / "ids.csv").write_text(f"patient\n{known[0][0]}\n")
    study.erase(str(tmp_path / "ids.csv"))
    respelt = (known[0][0].swapcase(), *known[0][1:])
    assert respelt != known[0]
    for row in (known[0], respelt):
        write_rows(tmp_path / "new.csv", [*new, row])
        for accepted in ({}, {"accept_corrections": True}):
            with pytest.raises(InvalidInputError, match=r"1 of 121 .* erased .* \(row 121\)"):
                study.extend(str(tmp_path / "new.csv"), **accepted)
    assert len(study.status().cohorts) == 1
    with pytest.raises(InvalidInputError, match=r"'p9999' .* was not erased"):
        study.extend(str(tmp_path / "new.csv"), readmit="p9999")
    remarks = study.extend(str(tmp_path / "new.csv"), readmit=known[0][0])
    assert Remark("corrected", {"records": 1, "times": 2}) in remarks
    status = study.status()
    assert (status.corrected, [each.records for each in status.cohorts]) == (1, [200, 121])
    assert study.extend(str(tmp_path / "new.csv")) == UNCHANGED
    study.close()
    # A backup that brings nobody back leaves who joined again where they are.
    back_up(tmp_path / "clinic", tmp_path / "backup.tar")
    shutil.rmtree(tmp_path / "clinic")
    restored = restore(tmp_path / "backup.tar", tmp_path / "clinic")
    assert restored.remarks == (Remark("known_from_backup_alone"),)
    assert verify_study(tmp_path / "clinic").problems == ()


def test_a_table_that_grows_in_place_leaves_the_erased_out(study: Study, tmp_path: Path) -> None:
    known, new = read_patients(tmp_path / "patients.csv"), read_patients(tmp_path / "new.csv")
    erased, moved = known[:3], (known[5][0], "20" if int(known[5][1]) > 65 else "90", *known[5][2:])
    (tmp_path / "ids.csv").write_text("\n".join(["patient", *(row[0] for row in erased)]))
    study.erase(str(tmp_path / "ids.csv"))
    # The table still has them, and is no change.
    told = Remark("erased_skipped", {"records": 3})
    assert study.extend(str(tmp_path / "patients.csv")) == [told, *UNCHANGED]
    write_rows(tmp_path / "all.csv", [*known[:5], moved, *known[6:], *new])
    remarks = study.extend(str(tmp_path / "all.csv"), skip_known=True, accept_corrections=True)
    assert told in remarks
    assert Remark("corrected", {"records": 1, "times": 2}) in remarks
    assert [each.records - each.erased for each in study.status().cohorts] == [196, 121]


def test_who_was_erased_let_in_and_corrected_may_be_corrected_again(
    study: Study, tmp_path: Path
) -> None:
    known = read_patients(tmp_path / "patients.csv")[0]
    young, old = (known[0], "20", *known[2:]), (known[0], "90", *known[2:])
    (tmp_path / "ids.csv").write_text(f"patient\n{known[0]}\n")
    study.erase(str(tmp_path / "ids.csv"))
    table = str(tmp_path / "one.csv")
    write_rows(tmp_path / "one.csv", [young])
    study.extend(table, readmit=known[0], min_cohort=1)
    for times, row in ((3, old), (4, young)):
        write_rows(tmp_path / "one.csv", [row])
        remarks = study.extend(table, accept_corrections=True, min_cohort=1)
        assert Remark("corrected", {"records": 1, "times": times}) in remarks
    study.erase(str(tmp_path / "ids.csv"))  # after corrections, too, this is for good
    with pytest.raises(InvalidInputError, match="1 of 1 records were erased"):
        study.extend(table, accept_corrections=True, min_cohort=1)


def test_each_time_that_a_record_joins_again_its_limits_count_once_more(
    study: Study, tmp_path: Path
) -> None:
    known = read_patients(tmp_path / "patients.csv")[0]
    ages = ["20", "90"] if int(known[1]) > 65 else ["90", "20"]
    for times, age in enumerate(ages, 2):
        write_rows(tmp_path / "one.csv", [(known[0], age, *known[2:])])
        remarks = study.extend(str(tmp_path / "one.csv"), accept_corrections=True, min_cohort=1)
        assert Remark("corrected", {"records": 1, "times": times}) in remarks
    (tmp_path / "ids.csv").write_text(f"patient\n{known[0]}\n")
    study.erase(str(tmp_path / "ids.csv"))
    remarks = study.extend(str(tmp_path / "one.csv"), readmit=known[0], min_cohort=1)
    assert Remark("corrected", {"records": 1, "times": 4}) in remarks


def test_changed_values_are_told_where_all_records_are_left_out(
    study: Study, tmp_path: Path
) -> None:
    known = read_patients(tmp_path / "patients.csv")
    moved = (known[1][0], "20" if int(known[1][1]) > 65 else "90", *known[1][2:])
    write_rows(tmp_path / "again.csv", [known[0], moved])
    assert study.extend(str(tmp_path / "again.csv"), skip_known=True) == [
        Remark("known_skipped", {"records": 2}),
        Remark("values_changed", {"records": 1}),
        *UNCHANGED,
    ]


def test_ids_in_another_type_or_spelling_are_known(tmp_path: Path) -> None:
    rows = read_patients(write_patients(tmp_path / "patients.csv"))
    numbered = [(row[0].removeprefix("p00"), *row[1:]) for row in rows]
    write_rows(tmp_path / "patients.csv", [(str(int(row[0])), *row[1:]) for row in numbered])
    texts = [(f" {row[0]} ", *row[1:]) for row in numbered]
    write_rows(tmp_path / "texts.csv", [*texts, ("x", *rows[0][1:])])
    write_rows(tmp_path / "decimals.csv", [(f"{int(row[0])}.0", *row[1:]) for row in numbered])
    with make_clinic(tmp_path) as study:
        with pytest.raises(InvalidInputError, match="column 'patient' is BIGINT in the study"):
            study.extend(str(tmp_path / "texts.csv"))
        assert study.extend(str(tmp_path / "decimals.csv")) == UNCHANGED


def test_a_spelling_of_the_same_text_is_known(study: Study, tmp_path: Path) -> None:
    rows = read_patients(tmp_path / "patients.csv")
    write_rows(tmp_path / "upper.csv", [(f"{row[0].upper()} ", *row[1:]) for row in rows])
    assert study.extend(str(tmp_path / "upper.csv")) == UNCHANGED


@pytest.mark.parametrize("n_records", [1, 49])
def test_a_small_cohort_is_refused_with_how_many_are_missing(
    study: Study, tmp_path: Path, n_records: int
) -> None:
    write_patients(tmp_path / "few.csv", n_records, first=900)
    told = {
        1: "has 1 new record and 50 is the fewest for a cohort, 49 are missing",
        49: "has 49 new records and 50 is the fewest for a cohort, 1 is missing",
    }
    with pytest.raises(InvalidInputError, match=told[n_records]) as refused:
        study.extend(str(tmp_path / "few.csv"))
    assert dict(refused.value.suggestions[0].arguments) == {"min_cohort": n_records}
    assert list((tmp_path / "clinic" / "cohorts").iterdir()) == []
    study.extend(str(tmp_path / "few.csv"), min_cohort=n_records)
    assert study.status().cohorts[-1].records == n_records


def test_values_without_a_level_are_listed(study: Study, tmp_path: Path) -> None:
    new = read_patients(tmp_path / "new.csv")
    new[3] = (*new[3][:2], "cancer", *new[3][3:])
    new[7] = (*new[7][:2], "", *new[7][3:])
    new[9] = (*new[9][:2], "cancer", *new[9][3:])
    write_rows(tmp_path / "new.csv", new)
    with pytest.raises(InvalidInputError) as refused:
        study.extend(str(tmp_path / "new.csv"))
    assert "no level for diagnosis: 'cancer' (2, row 4), a missing value (1, row 8)" in str(
        refused.value
    )


def test_people_of_another_study_are_noticed_both_ways(tmp_path: Path) -> None:
    shared = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    write_patients(tmp_path / "new.csv", 120, seed=1, first=200)
    write_patients(tmp_path / "last.csv", 120, seed=2, first=400)
    other = tmp_path / "other"
    with make_clinic(tmp_path, shared) as study:
        Study.create(other, str(tmp_path / "new.csv"), id="patient", private=PRIVATE, ledger=shared)
        with pytest.raises(LedgerError, match="overlap") as refused:
            study.extend(str(tmp_path / "new.csv"))
        assert refused.value.suggestions[0].action == "extend"
        assert list((tmp_path / "clinic" / "cohorts").iterdir()) == []
        study.extend(str(tmp_path / "last.csv"))
        for table in ("patients.csv", "last.csv"):  # also those that joined later
            with pytest.raises(LedgerError, match="overlap"):
                Study.create(
                    tmp_path / "third",
                    str(tmp_path / table),
                    id="patient",
                    private=PRIVATE,
                    ledger=shared,
                )
        [said, *_] = study.extend(str(tmp_path / "new.csv"), accept_reset=True)
        assert said in study.status().remarks
        assert said.code == "reset_accepted"
        assert [each["table"] for each in said.values["studies"]] == ["new.csv"]
        assert len(study.status().cohorts) == 3
    assert verify_study(tmp_path / "clinic").problems == ()


# -- folders and ledgers ------------------------------------------------------------------------


def test_a_table_that_grows_in_place(study: Study, tmp_path: Path) -> None:
    table = tmp_path / "patients.csv"
    write_rows(table, [*read_patients(table), *read_patients(tmp_path / "new.csv")])
    study.extend(str(table), skip_known=True)
    assert study.extend(str(table), skip_known=True) == UNCHANGED
    study.release("lab-b", "age", out=tmp_path / "b.csv", bits=0.1)
    assert [each.records for each in study.status().cohorts] == [200, 120]


def test_tables_and_folders_of_cohorts_are_not_written_over(study: Study, tmp_path: Path) -> None:
    study.extend(str(tmp_path / "new.csv"))
    with pytest.raises(InvalidInputError, match="belongs to the study"):
        study.release("lab-b", "age", out=tmp_path / "new.csv", bits=0.1)


def test_links_name_the_cohort(study: Study, tmp_path: Path) -> None:
    study.extend(str(tmp_path / "new.csv"))
    study.release("lab-a", "age", out=tmp_path / "age.csv", bits=0.1)
    ids = tmp_path / "ids.csv"
    ids.write_text("patient\np000001\np000250\np999999\n")
    links = study.link("lab-a", str(ids), out=tmp_path / "links.csv")
    assert links.n_unknown == 1
    rows = links.table.to_pylist()
    assert [(row["patient"], row["cohort"]) for row in rows] == [("p000001", 1), ("p000250", 2)]
    for row, file in zip(rows, ("age.csv", "age.cohort-2.csv"), strict=True):
        assert row["record"] in dict(read_release(tmp_path / file)[1])


def test_a_changed_snapshot_of_a_cohort_is_noticed(study: Study, tmp_path: Path) -> None:
    study.extend(str(tmp_path / "new.csv"))
    codes = tmp_path / "clinic" / "cohorts" / "2" / "snapshot" / "x.npy"
    content = bytearray(codes.read_bytes())
    content[-1] ^= 1
    codes.write_bytes(content)
    with pytest.raises(InvalidInputError, match="not what it was"):
        study.release("lab-b", "age", out=tmp_path / "b.csv", bits=0.1)
    [problem] = verify_study(tmp_path / "clinic").problems
    assert problem.code == "snapshot_changed"


def test_a_backup_holds_every_cohort(study: Study, tmp_path: Path) -> None:
    study.extend(str(tmp_path / "new.csv"))
    study.release("lab-b", "age", out=tmp_path / "b.csv", bits=0.1)
    study.close()
    back_up(tmp_path / "clinic", tmp_path / "backup.tar")
    shutil.rmtree(tmp_path / "clinic")
    restore(tmp_path / "backup.tar", tmp_path / "clinic")
    with Study.open(tmp_path / "clinic") as restored:
        again = [tmp_path / "again.csv", tmp_path / "again.cohort-2.csv"]
        restored.release("lab-b", "age", out=again[0], bits=0.1)
    files = [tmp_path / "b.csv", tmp_path / "b.cohort-2.csv"]
    assert [each.read_bytes() for each in again] == [each.read_bytes() for each in files]
    assert verify_study(tmp_path / "clinic").problems == ()


def test_a_ledger_from_before_the_extension_is_refused(study: Study, tmp_path: Path) -> None:
    ledger = tmp_path / "clinic" / "ledger.sqlite"
    kept = ledger.read_bytes()
    study.extend(str(tmp_path / "new.csv"))
    study.release("lab-a", "age", out=tmp_path / "age.csv", bits=0.1)
    letters = (tmp_path / "age.cohort-2.csv").read_bytes()
    study.close()
    ledger.write_bytes(kept)
    with (
        Study.open(tmp_path / "clinic") as rolled_back,
        pytest.raises(RolledBackError, match="lost entries"),
    ):
        rolled_back.extend(str(tmp_path / "new.csv"))
    with Study.open(tmp_path / "clinic", accept_rollback=True) as accepted:
        accepted.extend(str(tmp_path / "new.csv"))
        accepted.release("lab-a", "age", out=tmp_path / "age.csv", overwrite=True, bits=0.1)
    # The same records that join again get the same letters: nobody has a second draw.
    assert (tmp_path / "age.cohort-2.csv").read_bytes() == letters


def test_a_person_under_another_id_is_not_noticed(study: Study, tmp_path: Path) -> None:
    """Nobody can tell: docs/explanation/threats.md says so."""
    rows = read_patients(tmp_path / "patients.csv")
    write_rows(tmp_path / "again.csv", [(f"again-{row[0]}", *row[1:]) for row in rows])
    study.extend(str(tmp_path / "again.csv"))
    assert [each.records for each in study.status().cohorts] == [200, 200]
