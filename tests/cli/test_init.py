"""Tables and declarations that no study can be made of: one line, and nothing is left behind."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from tests.cli.clinic import HEADER, PRIVATE, done, found_in, refused, tacit, unchanged, write_rows
from tests.tables.samples import write_excel

ROWS = [("p1", 20, "flu", "low"), ("p2", 40, "none", "low"), ("p3", 70, "flu", "high")]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def init(*private: str, table: str = "t.csv", options: tuple[object, ...] = ()) -> list[object]:
    declared = [word for name in private for word in ("--private", name)]
    words = ["init", "clinic", "--table", table, "--id", "patient_id", *declared]
    return [*words, "--min-records", 1, *options]


def refused_init(code: int, arguments: list[object]) -> str:
    """What a refused init says; the folder is as it was before."""
    before = found_in(Path())
    message = refused(code, *arguments)
    assert found_in(Path()) == before
    assert sorted(path.name for path in Path().iterdir()) == sorted(before)
    return message


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*ROWS, ROWS[0]], "one row per person is needed"),
        ([*ROWS, (None, 50, "flu", "low")], "patient_id is missing in 1 of 4 records"),
        ([], "t.csv has no rows"),
    ],
    ids=["duplicate ids", "missing id", "empty table"],
)
def test_rows(rows: list[tuple[object, ...]], said: str) -> None:
    write_rows(Path("t.csv"), rows)
    assert said in refused_init(4, init("diagnosis"))


def test_two_columns_of_one_name() -> None:
    twice = (*HEADER[:3], "diagnosis")
    said = "t.csv has two columns 'diagnosis': give each its own name"
    write_rows(Path("t.csv"), ROWS, twice)
    assert said == refused_init(4, init("diagnosis"))
    write_rows(Path("t.csv"), ROWS)
    done(*init("diagnosis"))
    write_rows(Path("t.csv"), [("p4", 20, "flu", "none")], twice)
    assert said == unchanged(4, "extend", "clinic", "--table", "t.csv", "--min-cohort", 1)


@pytest.mark.parametrize(
    ("private", "said"),
    [
        ("diagnose", "there is no column 'diagnose' in t.csv: it has 'diagnosis'"),
        ("ward", "ward has the same level for every record, which says nothing: leave it out"),
        ("age:cut=45,30,60", "age: cuts 45, 30, 60 are out of order: give them in rising order"),
        ("age:cut=30,30", "age: cuts 30, 30 are out of order"),
        (
            "age:cut=30,x",
            "age: cut=30,x is not a list of numbers, or of ISO dates or times: give it as",
        ),
        ("age:cut=nan", "age: cuts [nan] are not all"),
        ("age:cut=200", "age has the same level for every record"),
        (
            "diagnosis:cut=1,2",
            "diagnosis has type VARCHAR and only numbers, dates and times can be cut",
        ),
        ("age:quantiles=1", "age: quantiles=1: give from 2 to 1,000"),
        ("diagnosis:map=none.json", "the mapping none.json cannot be read"),
        ("diagnosis:bins=3", "'bins' in 'diagnosis:bins=3' is not known: give name"),
        ("patient_id", "column 'patient_id' is named 2 times"),
    ],
)
def test_attributes(private: str, said: str) -> None:
    write_rows(Path("t.csv"), [(*row, "north") for row in ROWS], (*HEADER, "ward"))
    assert said in refused_init(4, init(private))


def test_an_attribute_with_100_000_levels() -> None:
    rows = ((f"p{n}", n, "flu", f"street {n}") for n in range(100_000))
    write_rows(Path("t.csv"), rows)
    said = refused_init(4, init("income"))
    assert "income has 100,000 levels and 1,000 is the most: use income:map=groups.json" in said
    said = refused_init(4, init("age"))
    assert "age:cut=24999,49999,74999 or age:quantiles=..." in said


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("none.csv", "there is no file none.csv"),
        ("t.ods", "t.ods is no table that tacit reads: give a .csv"),
        ("t.xlsx", "t.xlsx cannot be read"),
        ("empty.csv", "empty.csv is empty"),
        ("noise.parquet", "noise.parquet cannot be read"),
    ],
)
def test_sources(table: str, said: str) -> None:
    for name in ("t.ods", "t.xlsx"):
        Path(name).write_text("?")
    Path("empty.csv").write_text("")
    Path("noise.parquet").write_bytes(b"PAR1 not really")
    assert said in refused_init(4, init("diagnosis", table=table))


@pytest.mark.parametrize("limit", ["-1", "0", "nan", "inf"])
def test_a_limit_on_everyone_that_is_none(limit: str) -> None:
    write_rows(Path("t.csv"), ROWS)
    said = refused_init(4, init("diagnosis", options=("--everyone", limit)))
    assert "everyone is" in said
    assert "give a number of bits above 0" in said


def test_a_limit_that_is_no_number() -> None:
    write_rows(Path("t.csv"), ROWS)
    assert "'--everyone'" in refused_init(2, init("diagnosis", options=("--everyone", "abc")))


def test_a_limit_on_everyone_above_all_there_is_to_learn() -> None:
    write_rows(Path("t.csv"), ROWS)
    said = done(*init("diagnosis", options=("--everyone", 9))).out
    assert "note: the limit on everyone, 9 bits, protects nothing" in said
    assert "a record has only 0.9183 bits to learn" in said
    assert "protects nothing" in done("status", "clinic").out
    assert len(done("status", "clinic", "--json").json["remarks"]) == 1


@pytest.mark.parametrize(
    ("option", "number", "least"),
    [("--min-cell", -5, 0), ("--min-records", 0, 1), ("--min-records", -5, 1)],
)
def test_numbers_that_make_no_sense(option: str, number: int, least: int) -> None:
    write_rows(Path("t.csv"), ROWS)
    said = refused_init(2, init("diagnosis", options=(option, number)))
    assert f"'{option}': Input should be greater than or equal to {least}" in said


def test_a_table_of_few_records() -> None:
    write_rows(Path("t.csv"), ROWS)
    words = init("diagnosis", options=("--min-records", 50))
    said = refused_init(4, words)
    assert "t.csv has 3 records and 50 is the fewest" in said
    assert said.endswith("accept that with --min-records 3")
    done(*init("diagnosis", options=("--min-records", 3)))


def test_small_counts_with_an_external_column_are_listed() -> None:
    rows = [(f"p{k}", 40, ("flu", "none")[k % 2], "high" if k < 3 else "low") for k in range(60)]
    write_rows(Path("t.csv"), rows)
    words = [*init("diagnosis"), "--external", "income", "--min-cell", 4, "--ledger", "folder"]
    said = done(*words).out
    assert "2 combinations with income have fewer than 4 records:" in said
    assert "note: income is predicted from the private attributes" in said
    assert "note: 60 records are few" in said
    shutil.rmtree("clinic")
    found = done(*words, "--json").json
    assert found["small_cells"] == [
        {"levels": ["none"], "records": 1, "external": ["income", "high"], "cohort": 1},
        {"levels": ["flu"], "records": 2, "external": ["income", "high"], "cohort": 1},
    ]
    assert len(found["remarks"]) == 2
    shutil.rmtree("clinic")
    assert "fewer than" not in done(*words, "--min-cell", 0).out


def test_a_folder_that_is_taken() -> None:
    write_rows(Path("t.csv"), ROWS)
    Path("clinic").mkdir()
    Path("clinic/notes.txt").write_text("mine")
    before = found_in(Path())
    assert "clinic exists already" in refused(4, *init("diagnosis"))
    assert found_in(Path()) == before


def test_a_folder_in_no_folder() -> None:
    write_rows(Path("t.csv"), ROWS)
    said = refused(4, "init", "none/clinic", *init("diagnosis")[2:])
    assert said == "there is no folder none: make it first"
    assert not Path("none").exists()


def test_a_folder_where_nothing_can_be_written() -> None:
    write_rows(Path("t.csv"), ROWS)
    words = init("diagnosis")
    assert "cannot" in refused(4, "init", "/proc/clinic", *words[2:])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ledger", "mysql://host/db"), "a ledger cannot be in 'mysql'"),
        (("--memory", 0), "memory is 0: remember at least one state"),
        (("--id", "age,income", "--public-id"), "ids of 2 columns cannot be public"),
    ],
)
def test_options(options: tuple[object, ...], said: str) -> None:
    write_rows(Path("t.csv"), ROWS)
    assert said in refused_init(4, init("diagnosis", options=options))


def test_a_mapping_that_leaves_values_out() -> None:
    write_rows(Path("t.csv"), ROWS)
    Path("groups.json").write_text(json.dumps({"flu": "ill"}))
    said = refused_init(4, init("diagnosis:map=groups.json"))
    assert "diagnosis has values without a group (1), such as 'none'" in said


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_second_study_of_the_same_people_is_noticed_by_default(
    patients: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACIT_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    place = f"sqlite:///{tmp_path}/data/tacit/ledger.sqlite"
    said = done("init", "first", "--table", patients, "--id", "patient_id", *PRIVATE).out
    assert f"Ledger: {place}\nIt notices another study with any of these records" in said
    again = patients
    if ending == "xlsx":
        with Path(patients).open() as file:
            header, *rows = csv.reader(file)
        columns = dict(zip(header, zip(*rows, strict=True), strict=True))
        again = write_excel(tmp_path / "again.xlsx", columns)
    words = ["--table", again, "--id", "patient_id", "--private", "diagnosis"]
    assert "overlap" in refused(5, "init", "second", *words)
    assert not Path("second").exists()


def test_records_that_a_ledger_knows_are_taken_again_only_on_purpose(patients: str) -> None:
    ledger = f"sqlite:///{Path('ledger.sqlite').absolute()}"
    words = ["--table", patients, "--id", "patient_id", *PRIVATE, "--ledger", ledger]
    done("init", "first", *words)
    before = sorted(path.name for path in Path().iterdir())
    said = refused(5, "init", "second", *words)
    assert "of which nothing was released: about 100% of the smaller" in said
    assert said.endswith("accept that; that is --again, or --accept-reset")
    done("limit", "first", "lab", "--bits", 0.5)
    done("release", "first", "lab", "diagnosis", "--bits", 0.1, "--out", "a.csv")
    before = sorted(path.name for path in Path().iterdir())
    said = refused(5, "init", "second", *words, "--again")
    assert "overlap" in said
    name = Path(patients).name
    assert re.search(rf"that study \(made of {name} on \d{{4}}-\d\d-\d\d; its folder", said)
    assert said.endswith("may be counted from 0 again, accept that with --accept-reset")
    assert sorted(path.name for path in Path().iterdir()) == before
    accepted = "another study of this ledger has some of the same ids, which was accepted: that of"
    accepted = f"{accepted} {name}, made 2"
    assert accepted in done("init", "second", *words, "--accept-reset").out
    for command in ("status", "report"):
        assert accepted in done(command, "second").out
        assert "same ids" not in done(command, "first").out
    done("report", "second", "--html", "report.html")
    assert "<dt>Same ids elsewhere</dt>" in Path("report.html").read_text()
    flat = " ".join(tacit("init", "--help").out.split())
    assert "whoever holds releases of both studies may hold the sum" in flat


def test_the_variable_may_say_that_the_ledger_is_in_the_folder(
    patients: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_LEDGER", "folder")
    done("init", "clinic", "--table", patients, "--id", "patient_id", *PRIVATE)
    assert Path("clinic/ledger.sqlite").exists()


def test_hundreds_of_numbers_are_refused_with_the_cuts_that_would_do() -> None:
    write_rows(Path("t.csv"), [(f"p{k}", 10 + k % 200, "flu", "low") for k in range(400)])
    said = refused_init(4, init("age"))
    advice = "age has 200 different numbers, too many for a level each: use age:cut=59,109,159 or "
    assert advice in said
    done(*init("age:cut=59,109,159", options=("--ledger", "folder")))


def test_a_plain_file_that_is_called_a_packed_one() -> None:
    write_rows(Path("t.csv.gz"), ROWS)
    said = refused_init(4, init("diagnosis", table="t.csv.gz"))
    assert said == (
        "t.csv.gz is not packed with gzip, as its name says: if it is a plain CSV file, call it "
        "t.csv"
    )


# -- a person has one row -------------------------------------------------------------------------

EVENTS = ("patient", "sex", "event", "year")


def write_events() -> list[object]:
    """Two events of each patient, as in survival::colon, and what ``init`` makes of them."""
    rows = [
        (f"p{k:02d}", "fm"[k % 2], event, 2000 + k % 3 + (event == "death"))
        for k in range(60)
        for event in ("relapse", "death")
    ]
    write_rows(Path("events.csv"), rows, EVENTS)
    return ["init", "clinic", "--table", "events.csv", "--private", "sex", "--ledger", "folder"]


def test_rows_of_a_person_are_put_side_by_side_by_the_query_that_is_named() -> None:
    words = write_events()
    said = refused_init(4, [*words, "--id", "patient"])
    assert "120 of 120 rows share their patient with others, up to 2 the same one" in said
    assert "more id columns" not in said
    query = said[said.index("SELECT") :]
    with duckdb.connect() as connection:
        connection.sql(query).write_csv("persons.csv")
    made = ["--private", "year_relapse", "--private", "year_death", "--table", "persons.csv"]
    done("init", "persons", "--id", "patient", "--private", "sex", *made, "--ledger", "folder")
    header, *persons = Path("persons.csv").read_text().splitlines()
    assert header == "patient,sex,year_death,year_relapse"
    assert sorted(persons)[:2] == ["p00,f,2001,2000", "p01,m,2002,2001"]


def test_rows_that_are_apart_only_together_have_to_be_accepted() -> None:
    words = [*write_events(), "--id", "patient,event"]
    error = tacit(*words, "--json")
    assert error.code == 3
    assert error.json["error"]["code"] == "rows"
    assert error.json["error"]["figures"] == {"column": "patient", "rows": 2}
    assert "to at most 2 times every limit; this query makes it: SELECT" in error.err
    assert error.err.endswith("; to go on all the same, add --accept rows\n")
    said = done(*words, "--accept", "rows").out
    assert "up to 2 rows of one are answered apart and their bits add up" in said


def test_a_column_that_is_unique_by_itself_needs_no_acceptance() -> None:
    rows = [(f"p{k:02d}", k % 2, "x", k % 3) for k in range(60)]
    write_rows(Path("events.csv"), rows, EVENTS)
    words = ["--table", "events.csv", "--id", "patient,sex", "--private", "year"]
    assert "rows of one" not in done("init", "clinic", *words, "--ledger", "folder").out


def test_ids_that_differ_only_by_case_have_to_be_accepted() -> None:
    rows = [(f"p{k}", 20, ("flu", "none")[k % 2], "low") for k in range(60)]
    write_rows(Path("t.csv"), [*rows, ("P7", 70, "flu", "low"), (" p8", 70, "flu", "low")])
    words = init("diagnosis", options=("--ledger", "folder"))
    assert "2 of 62 rows share their patient_id" in refused_init(4, words)  # blanks do not count
    write_rows(Path("t.csv"), [*rows, ("P7", 70, "flu", "low")])
    said = refused_init(3, words)
    assert "2 of 61 ids differ from another one only by the case of letters" in said
    assert "such as 'P7' and 'p7'" in said
    assert "61 records" in done(*words, "--accept", "ids").out
    write_rows(Path("leavers.csv"), [("P7", 70, "flu", "low")])
    erased = done("erase", "clinic", "--ids", "leavers.csv", "--yes", "--json").json
    assert (erased["records"], erased["left"]) == (1, 60)


# -- making a study anew --------------------------------------------------------------------------


def test_a_study_without_a_release_is_made_anew_without_a_note(patients: str) -> None:
    ledger = f"sqlite:///{Path('ledger.sqlite').absolute()}"
    words = ["--table", patients, "--id", "patient_id", "--ledger", ledger]
    done("init", "clinic", *words, "--private", "income")
    done("limit", "clinic", "lab", "--bits", 0.5)
    shutil.copytree("clinic", "copy")
    wrong = unchanged(4, "init", "clinic", *words, "--private", "no such column", "--again")
    assert "no column" in wrong
    done("init", "clinic", *words, *PRIVATE, "--again")
    assert done("status", "clinic", "--json").json["parties"] == []
    shutil.rmtree("clinic")  # the folder is gone, and the ledger knows a study of these people
    said = done("init", "clinic", *words, *PRIVATE, "--again").out
    assert "same ids" not in said
    assert "same ids" not in done("report", "clinic").out
    assert "was made anew as study" in refused(4, "limit", "copy", "lab-b", "--bits", 0.5)
    done("limit", "clinic", "lab", "--bits", 0.5)
    done("release", "clinic", "lab", "diagnosis", "--bits", 0.1, "--out", "a.csv")
    assert "everything is as recorded" in done("verify", "clinic").out
    said = refused(4, "init", "clinic", *words, *PRIVATE, "--again")
    assert "releases of it are counted (1 in its ledger)" in said


def test_making_anew_ends_the_study_in_its_own_ledger(patients: str) -> None:
    ledger = f"sqlite:///{Path('ledger.sqlite').absolute()}"
    words = ["--table", patients, "--id", "patient_id", *PRIVATE]
    done("init", "clinic", *words, "--ledger", ledger)
    done("init", "clinic", *words, "--ledger", "folder", "--again")
    done("init", "clinic", *words, "--ledger", "folder", "--again")
    assert "same ids" not in done("init", "other", *words, "--ledger", ledger).out
