"""``tacit link``: a party learns which pseudonyms its ids have, and links rows of its own."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.cli.clinic import done, refused, write_rows

SIDES = ("heads", "tails")


def read_csv(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """500 coins; "lab" and "mint" got their sides exactly."""
    monkeypatch.chdir(tmp_path)
    rows = [(k, SIDES[k % 7 >= 3]) for k in range(500)]
    write_rows(Path("coins.csv"), rows, ("coin", "side"))
    done("init", "study", "--table", "coins.csv", "--id", "coin", "--private", "side")
    for party in ("lab", "mint"):
        done("limit", "study", party, "--bits", 2)
        done("release", "study", party, "side", "--out", f"{party}.csv", "--accept", "disclosure")
    return tmp_path


def test_linked_ids_find_their_own_answers(coins: Path) -> None:
    write_rows(Path("ids.csv"), [(f"{k:04d}", "x") for k in range(100, 700, 3)], ("coin", "mine"))
    before = done("status", "study", "--json").json
    made = done("link", "study", "lab", "ids.csv", "--out", "links.csv", "--json").json
    assert made == {"party": "lab", "out": "links.csv", "linked": 134, "unknown": 66, "remarks": []}
    answers = {row["record"]: row["rhat"] for row in read_csv("lab.csv")}
    links = read_csv("links.csv")
    assert [int(row["coin"]) for row in links] == list(range(100, 500, 3))
    assert [answers[row["record"]] for row in links] == [
        SIDES[k % 7 >= 3] for k in range(100, 500, 3)
    ]
    # Another party knows the same records by other names.
    assert not {row["record"] for row in read_csv("mint.csv")} & {row["record"] for row in links}
    assert done("status", "study", "--json").json == before


def test_the_same_id_twice_is_linked_once(coins: Path) -> None:
    write_rows(Path("ids.csv"), [("7",), ("7",), ("07",)], ("coin",))
    done("link", "study", "lab", "ids.csv", "--out", "links.parquet")
    done("link", "study", "lab", "ids.csv", "--out", "links.csv")
    assert [row["coin"] for row in read_csv("links.csv")] == ["7"]


def test_bad_input_is_refused_and_nothing_written(coins: Path) -> None:
    write_rows(Path("ids.csv"), [("7",)], ("number",))
    assert "coin" in refused(4, "link", "study", "lab", "ids.csv", "--out", "links.csv")
    write_rows(Path("ids.csv"), [("7",)], ("coin",))
    assert "bank" in refused(4, "link", "study", "bank", "ids.csv", "--out", "links.csv")
    assert "links.txt" in refused(4, "link", "study", "lab", "ids.csv", "--out", "links.txt")
    assert not Path("links.csv").exists()


def test_public_ids_need_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(Path("coins.csv"), [(k, SIDES[k % 7 >= 3]) for k in range(99)], ("coin", "side"))
    private = ["--private", "side", "--public-id"]
    done("init", "study", "--table", "coins.csv", "--id", "coin", *private)
    done("limit", "study", "lab", "--bits", 1)
    said = refused(4, "link", "study", "lab", "coins.csv", "--out", "links.csv")
    assert "ids are public" in said
