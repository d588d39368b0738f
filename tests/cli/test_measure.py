"""``tacit measure``: from files to a headline, JSON and a page; nothing else is written."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.cli.clinic import done, unchanged

TABLE = ["measure", "people.csv", "--id", "person", "--secret", "income", "--known", "age"]
FILES = ["--held", "lab-a=2019.csv", "--held", "lab-b=arx.csv", "--same", "lab-b:last=age"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hundred people, and two files of which neither shows anybody's age."""
    monkeypatch.chdir(tmp_path)
    everybody = [(f"P{age}", age, "high" if age % 3 else "low") for age in range(100)]
    for name, head, rows in (
        ("people.csv", ("person", "age", "income"), everybody),
        ("2019.csv", ("person", "age"), [(person, age // 10) for person, age, _ in everybody]),
        ("arx.csv", ("person", "last"), [(person, age % 10) for person, age, _ in everybody]),
    ):
        with Path(name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *rows])
    return tmp_path


def test_the_headline_says_what_the_pool_adds(files: Path) -> None:
    before = sorted(files.iterdir())
    first, *_ = done(*TABLE, *FILES, "--no-learner").out.splitlines()
    assert first == "each party by itself: nobody alone; together: 100 people alone"
    assert sorted(files.iterdir()) == before


def test_json_has_the_fields_by_their_names() -> None:
    found = done(*TABLE, *FILES, "--no-learner", "--json").json
    assert [(each["whom"], each["alone"]) for each in found["coalitions"]] == [
        *(("lab-a", 0), ("lab-b", 0), ("lab-a+lab-b", 100))
    ]
    assert found["known"] == ["age"]
    assert found["remarks"] == []


def test_a_page_has_the_picture() -> None:
    done(*TABLE, *FILES, "--html", "measured.html")
    page = Path("measured.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "100 people alone" in page


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--held", "lab-a"], "two names with = between them"),
        (["--held", "lab-a=2019.csv", "--html", "page.pdf"], "ends in .html"),
        (["--held", "lab-a=2019.csv", "--same", "age=age"], "party:column=known"),
        (["--held", "lab-a=gone.csv"], "gone.csv"),
    ],
)
def test_bad_words_are_refused(words: list[str], says: str) -> None:
    assert says in unchanged(4, *TABLE, *words)
