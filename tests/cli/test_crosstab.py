"""``tacit crosstab``: what a recipient reads from files beside its own table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import done, refused, write_rows


@pytest.fixture
def coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """20,000 coins with public ids and two private columns; the owner knows their mints."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (k, ("heads", "tails")[k % 10 >= 3], ("gold", "iron")[k % 7 >= 2]) for k in range(20_000)
    ]
    write_rows(Path("coins.csv"), rows, ("coin", "side", "metal"))
    mints = [(k, ("York", "Bonn")[k % 10 < 2]) for k in range(15_000)]
    write_rows(Path("mine.csv"), [*mints, (10**6, "Bonn")], ("coin", "mint"))
    private = ["--private", "side", "--private", "metal"]
    done("init", "study", "--table", "coins.csv", "--id", "coin", "--public-id", *private)
    done("limit", "study", "lab", "--bits", 0.6)
    done("release", "study", "lab", "side", "--bits", 0.3, "--out", "side.csv")
    return tmp_path


OWN = ("--with", "mine.csv", "--id", "coin")
SURE = ("--confidence", 1 - 1e-9)  # the key, and so the noise, is another one every time


def test_shares_by_group(coins: Path) -> None:
    found = done("crosstab", "side.csv", *OWN, "--by", "mint", *SURE, "--json").json
    cells = {(*cell["group"], *cell["levels"]): cell for cell in found["cells"]}
    # Heads are k % 10 < 3: all of Bonn's, and 1 of 8 of York's.
    assert cells["Bonn", "heads"]["low"] <= 1 <= cells["Bonn", "heads"]["high"] + 1e-9
    assert cells["York", "heads"]["low"] < 1 / 8 < cells["York", "heads"]["high"]
    assert (cells["Bonn", "heads"]["n"], cells["York", "heads"]["n"]) == (3_000, 12_000)
    [ratio] = found["odds_ratios"]
    assert (ratio["level"], ratio["against"]) == ("tails", "heads")
    assert ratio["high"] is None  # no coin of Bonn shows tails
    codes = [each["code"] for each in found["remarks"]]
    noise = cells["Bonn", "heads"]["share"]  # of a true share of 1: may be above it
    outside = ["outside_shares"] if round(noise, 4) > 1 else []
    assert codes == [*outside, "unbounded_intervals", "rows_left_out"]


def test_two_columns_of_one_name(coins: Path) -> None:
    write_rows(Path("mine.csv"), [(1, "York", "Bonn")], ("coin", "mint", "mint"))
    said = refused(4, "crosstab", "side.csv", *OWN, "--by", "mint")
    assert said == "mine.csv has two columns 'mint': give each its own name"


def test_rows_without_a_value_are_named_and_no_reference(coins: Path) -> None:
    text = Path("mine.csv").read_text().replace("York", "")
    Path("mine.csv").write_text(text)
    said = done("crosstab", "side.csv", *OWN, "--by", "mint").out.splitlines()
    assert [line.split()[0] for line in said[2:6]] == ["Bonn", "Bonn", "missing", "missing"]
    assert said[8].split()[:4] == ["tails", "heads", "missing", "Bonn"]


def test_what_is_printed(coins: Path) -> None:
    said = done("crosstab", "side.csv", *OWN, "--by", "mint").out.splitlines()
    assert said[0] == "side by mint: 15,000 records, 95 % intervals"
    assert said[1].split() == ["mint", "side", "records", "share", "error", "from", "to"]
    assert said[2].startswith("Bonn  heads    3,000  ")
    assert said[6] == "odds ratios:"
    assert said[7].split() == ["odds", "of", "against", "in", "against", "ratio", "from", "to"]
    assert said[-1] == "note: 1 row of your table has no record in the release: left out"


def test_two_files_of_one_party(coins: Path) -> None:
    """Different studies here, since later releases of a study are designed to read the past."""
    private = ["--private", "side", "--private", "metal"]
    done(
        "init",
        "other",
        "--table",
        "coins.csv",
        "--id",
        "coin",
        "--public-id",
        *private,
        "--ledger",
        "folder",
    )
    done("limit", "other", "lab", "--bits", 0.6)
    done("release", "other", "lab", "metal", "--bits", 0.3, "--out", "metal.csv")
    found = done("crosstab", "side.csv", "metal.csv", *SURE, "--json").json
    assert found["columns"] == ["side", "metal"]
    shares = {tuple(cell["levels"]): cell for cell in found["cells"]}
    assert shares["heads", "gold"]["low"] < 0.3 * 2 / 7 < shares["heads", "gold"]["high"]
    [ratio] = found["odds_ratios"]
    assert ratio["low"] < 1 < ratio["high"]


def test_a_file_that_is_not_analysable(coins: Path) -> None:
    done("release", "study", "lab", "--sql", "side = 'heads' or metal = 'gold'", "--out", "or.csv")
    said = refused(4, "crosstab", "or.csv", *OWN, "--by", "mint")
    assert said.startswith("or.csv is not analysable: its answers depend on more than ")
    assert said.endswith("or for one file alone take bounds with --insist")
    insisted = done("crosstab", "or.csv", *OWN, "--by", "mint", "--insist").out
    assert insisted.count("bounds\n") == 4
    assert "note: bounds that hold whatever the subgroup is" in insisted
    assert "subgroup of your choice" in done("estimate", "or.csv").out
    assert "note: analysable: " in done("estimate", "side.csv").out
