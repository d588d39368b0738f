"""Papers: receipts as text, page and JSON; certificates; and what a recipient reads from them."""

from __future__ import annotations

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from time import monotonic

import pytest
from pyarrow import parquet

from tests.cli.clinic import done, refused, write_rows

ENDINGS = ("csv", "parquet")


class Page(HTMLParser):
    """Elements of a page, with what could make a browser fetch something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.data: dict[str, object] = {}
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside = tag
        self.links += [f"{tag} {name}" for name, _ in attributes if name in ("src", "href", "data")]

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.data |= json.loads(data or "{}") if data.strip() else {}
        else:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


def page_of(study: Path, entry: int) -> tuple[Page, str]:
    done("receipt", study, entry, "--html", "receipt.html")
    text = Path("receipt.html").read_text(encoding="utf-8")
    return Page(text), text


@pytest.mark.parametrize("entry", range(1, 9))
def test_a_page_opens_offline(used: Path, entry: int) -> None:
    page, text = page_of(used, entry)
    assert page.links == []
    for outside in ("http:", "https:", "//", "@import", "url(", "<link", "<img"):
        assert outside not in text
    assert page.tags.count("h1") == 1
    assert page.data == done("receipt", used, entry, "--json").json
    done("verify", used, "--receipt", "receipt.html")


def test_the_page_of_a_release_says_who_holds_what(used: Path) -> None:
    page, _ = page_of(used, 7)
    words = " ".join(" ".join(page.text).split())
    assert "Release 7: age for lab-b" in words
    assert "lab-a + lab-b" in words
    receipt = done("receipt", used, 7, "--json").json
    shown = [float(text) for text in page.text if text.replace(".", "").isdigit() and "." in text]
    for holding in receipt["holdings"]:  # rounded up
        assert any(holding["bits"] <= number < holding["bits"] + 2e-6 for number in shown)


def test_a_receipt_shows_limits_units_and_times_for_people(used: Path) -> None:
    """lab-b may hold 0.3 as set, and was asked for 0.1; coalitions of two may hold 0.35."""
    receipt = done("receipt", used, 7, "--json").json
    text = done("receipt", used, 7).out
    page, html = page_of(used, 7)
    for shown in (text, " ".join(" ".join(page.text).split())):
        assert "imit of lab-b, as set: 0.3 bits in all" in shown
        assert f"{receipt['entropy_bits']:.4f} bits to learn about a record, H(X)" in shown
        assert f"{receipt['value']:.4f} of the values wrong" in shown
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", shown)
        assert not re.search(r"\d:\d\d\.\d{6}", shown)
    assert (receipt["party_limit"], receipt["around_limit"]) == (0.3, None)
    assert 'class="bar"' in html
    assert 'class="bar full"' not in html


def test_a_lower_limit_around_a_party_and_a_full_bar_are_shown(used: Path) -> None:
    done("party", "add", used, "lab-c", "--limit", 0.8)
    done("collusion", "set", used, "--group", "lab-c,lab-d=0.2")
    done("release", used, "lab-c", "income", "--out", "c.csv")
    entry = 11
    said = "as set: 0.8 bits in all; a coalition around it may hold only 0.2, and so may lab-c"
    assert said in done("receipt", used, entry).out
    page, html = page_of(used, entry)
    assert said in " ".join(page.text)
    assert 'class="bar full" role="img" aria-label="100 % of the limit"' in html
    done("party", "add", used, "lab-c", "--limit", 0.9)  # a receipt shows what was set then
    done("verify", used, "--receipt", "receipt.html")


def test_entries_that_are_no_release_have_receipts_too(used: Path) -> None:
    said = {entry: done("receipt", used, entry).out for entry in (1, 2, 4, 6)}
    assert "a study of 600 records begins, private are age, diagnosis, income" in said[1]
    assert "; everyone may learn 0.9 bits" in said[1]
    assert "lab-a may learn 0.3 bits about a record" in said[2]
    assert "any 2 parties: 0.35 bits" in said[4]
    assert "the file of release 5 was written" in said[6]
    assert all("sealed by  " in text for text in said.values())
    done("close", used, "--yes")
    assert "the key was destroyed after 2 releases" in done("receipt", used, 9).out


def test_a_receipt_names_its_file(used: Path) -> None:
    done("release", used, "lab-a", "income", "--out", "a.csv")
    said = done("receipt", used, 9).out
    assert said.startswith("Release 9: income for lab-a, ")
    assert f"file       {Path('a.csv').resolve()}" in said


# -- for recipients -----------------------------------------------------------------------------


def shares(answer: dict[str, object]) -> dict[str, dict[str, float]]:
    levels = answer["levels"]
    assert isinstance(levels, list)
    return {level["level"]: level for level in levels}


@pytest.fixture
def coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of 20,000 coins, 30 % of them heads."""
    monkeypatch.chdir(tmp_path)
    sides = ["heads"] * 6_000 + ["tails"] * 14_000
    write_rows(Path("coins.csv"), enumerate(sides), ("coin", "side"))
    done("init", "study", "--table", "coins.csv", "--id", "coin", "--private", "side")
    done("party", "add", "study", "lab", "--limit", 0.2)
    return Path("study")


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_estimates_find_the_truth(coins: Path, name: str) -> None:
    done("release", coins, "lab", "side", "--out", name)
    sure = ["--confidence", 1 - 1e-9]  # the key, and so the noise, is another one every time
    heads = shares(done("estimate", name, *sure, "--json").json)["heads"]
    assert heads["low"] < 0.3 < heads["high"]
    assert heads["high"] - heads["low"] < 0.2
    said = done("estimate", name, "--confidence", 0.5).out.splitlines()
    assert said[0] == "side: 20,000 records, 50 % intervals"
    assert said[-1].startswith("note: for all rows together")


def test_levels_that_are_told_only_together(used: Path) -> None:
    """A release of few bits leaves letters out: then there are bounds, and sums that are told."""
    done("release", used, "lab-a", "diagnosis", "--bits", 0.01, "--out", "a.csv")
    found = done("estimate", "a.csv", "--json").json
    unknown = [level for level in found["levels"] if level["share"] is None]
    assert unknown
    assert found["contrasts"]
    said = done("estimate", "a.csv").out
    assert "told together, as sums of shares:" in said
    assert "note: some levels are told only together with others" in said
    for level in found["levels"]:
        assert 0 <= level["low"] <= level["high"] <= 1


def test_files_that_cannot_be_estimated_from(coins: Path) -> None:
    done("release", coins, "lab", "side", "--out", "r.csv")
    assert "there is no file none.csv" in refused(4, "estimate", "none.csv")
    Path("lonely.csv").write_bytes(Path("r.csv").read_bytes())
    assert "lonely.csv.certificate.json is not beside lonely.csv" in refused(
        4, "estimate", "lonely.csv"
    )
    for confidence in (0, 1, -1, "nan"):
        assert "confidence" in refused(4, "estimate", "r.csv", "--confidence", confidence)
    certificate = Path("r.csv.certificate.json")
    stored = json.loads(certificate.read_text())
    for damage in (
        "{",
        "\0\xff",
        json.dumps(stored | {"digest_key": "xyz"}),
        json.dumps(stored | {"p_rhat_given_r": [[1.0]]}),
    ):
        certificate.write_text(damage)
        assert "is no certificate of this version of tacit" in refused(4, "estimate", "r.csv")
    certificate.write_text(json.dumps(stored))
    Path("r.csv").write_text("record,rhat\n1,edge\n")
    assert "r.csv has the entry 'edge'" in refused(4, "estimate", "r.csv")
    Path("r.csv").write_text("a,b\n1,2\n")
    assert "r.csv has the columns a, b" in refused(4, "estimate", "r.csv")


def test_a_file_that_was_changed_is_not_estimated_from(coins: Path) -> None:
    done("release", coins, "lab", "side", "--out", "r.csv")
    text = Path("r.csv").read_text()
    Path("r.csv").write_text(text.replace("heads", "tails", 1))
    said = refused(4, "estimate", "r.csv")
    assert "r.csv is not the file that the certificate was made for: do not rely on it" in said


def test_a_hostile_certificate_is_refused_at_once(coins: Path) -> None:
    """20,000 labels never ended."""
    done("release", coins, "lab", "side", "--out", "r.csv")
    certificate = Path("r.csv.certificate.json")
    stored = json.loads(certificate.read_text())
    labels = [str(n) for n in range(20_000)]
    law = stored["p_rhat_given_r"][0]
    start = monotonic()
    certificate.write_text(
        json.dumps(stored | {"labels": labels, "p_rhat_given_r": [law] * 20_000})
    )
    assert "has 20,000 levels and 2 letters, too many" in refused(4, "estimate", "r.csv")
    for change in (
        {"p_rhat_given_r": [[0.5, 0.6], [0.5, 0.5]]},
        {"p_rhat_given_r": [[1.5, -0.5], [0.5, 0.5]]},
        {"p_rhat_given_r": [["NaN", 1], [0.5, 0.5]]},
        {"p_rhat_given_r": [[1e308, 1e308], [0.5, 0.5]]},
        {"p_rhat_given_r": [], "labels": []},
        {"letters": [], "p_rhat_given_r": [[], []]},
        {"time_shares": 0, "p_rhat_given_r": [[], []]},
        {"time_shares": -1},
        {"time_shares": 10**9},
    ):
        certificate.write_text(json.dumps(stored | change))
        assert "is no certificate of this version of tacit" in refused(4, "estimate", "r.csv")
    certificate.write_text(json.dumps(stored | {"format": 3}))
    assert "newer than this one: update tacit" in refused(4, "estimate", "r.csv")
    assert monotonic() - start < 20


# -- places -------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["clinic", "other/snapshot"])
def test_nothing_is_written_into_the_folder_of_any_study(used: Path, place: str) -> None:
    shutil.copytree(used, "other")
    out = f"{place}/late.csv"
    said = refused(4, "release", used, "lab-a", "income", "--out", out)
    assert f"{out} belongs to the study" in said
    said = refused(4, "receipt", used, 5, "--html", f"{place}/key")
    assert "belongs to the study" in said
    assert not Path(out).exists()
    done("verify", used)


def test_a_page_holds_its_data_without_markup(coins: Path) -> None:
    """A party's name, or a level's, cannot end the script that holds the data."""
    done("party", "add", coins, "</script><b>&", "--limit", 0.1)
    done("receipt", coins, 3, "--html", "receipt.html")
    text = Path("receipt.html").read_text(encoding="utf-8")
    data = text.partition('id="receipt">')[2].partition("</script>")[0]
    assert not set(data) & set("<>&")
    assert "</script><b>& may learn" in json.loads(data)["in_words"]
    done("verify", coins, "--receipt", "receipt.html")


# -- formulas -----------------------------------------------------------------------------------


@pytest.fixture
def formulas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of texts that a spreadsheet would run, with ids that it would run as well."""
    monkeypatch.chdir(tmp_path)
    levels = ["=1+1", "'=1+1", "-1", "@sum", "+x", "plain", "'quoted"]
    rows = [(f"{'=-+@'[n % 4]}{n}{'x' * (n % 2)}", levels[n % 7]) for n in range(700)]
    write_rows(Path("sheet.csv"), rows, ("id", "level"))
    done("init", "study", "--table", "sheet.csv", "--id", "id", "--private", "level", "--public-id")
    done("party", "add", "study", "lab", "--limit", 2.5)
    return Path("study")


def test_no_field_of_a_csv_begins_a_formula(formulas: Path) -> None:
    for more in ((), ("--json",)):
        said = done("release", formulas, "lab", "level", "--out", "r.csv", *more).err
        assert "in r.csv, an apostrophe stands before labels that a spreadsheet would run" in said
    done("release", formulas, "lab", "level", "--out", "r.parquet")
    with Path("r.csv").open(newline="") as file:
        shown = list(csv.reader(file))[1:]
    for text in {field for row in shown for field in row}:
        assert text[0] not in "=@"
        assert text[0] not in "+-" or not text.endswith("x")
    stored = parquet.read_table("r.parquet").to_pydict()
    assert {"=1+1", "'=1+1", "-1"} <= set(stored["rhat"])
    bare = {"'=1+1": "=1+1", "''=1+1": "'=1+1", "'@sum": "@sum", "'+x": "+x"}
    assert [bare.get(rhat, rhat) for _, rhat in shown] == stored["rhat"]
    certificates = [json.loads(Path(f"r.{end}.certificate.json").read_text()) for end in ENDINGS]
    assert certificates[0] == certificates[1]
    letters = zip(certificates[0]["csv_letters"], certificates[0]["letters"], strict=True)
    assert {shown: letter for shown, letter in letters if shown != letter} == bare
    estimates = [done("estimate", f"r.{end}", "--json").json for end in ENDINGS]
    assert estimates[0] == estimates[1]
    done("verify", formulas, "--receipt", "r.csv.certificate.json")


def test_a_csv_of_0_1_is_still_known(formulas: Path) -> None:
    """It has its texts as they are: '=1+1 is a text of its own there."""
    done("release", formulas, "lab", "level", "--out", "r.csv")
    done("release", formulas, "lab", "level", "--out", "r.parquet")
    stored = parquet.read_table("r.parquet").to_pydict()
    rows = zip(stored["record"], stored["rhat"], strict=True)
    write_rows(Path("r.csv"), rows, ("record", "rhat"))
    done("verify", formulas)
    certificate = Path("r.csv.certificate.json")
    new = json.loads(certificate.read_text())
    old = {name: value for name, value in new.items() if name not in ("seal", "csv_letters")}
    certificate.write_text(json.dumps(old | {"format": 1}))
    assert done("estimate", "r.csv", "--json").json == done("estimate", "r.parquet", "--json").json
