"""``tacit receipt``: receipts as text, page and JSON."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.clinic import done, tacit, unchanged


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


def test_a_receipt_shows_caps_beside_limits(fresh: Path) -> None:
    done("limit", fresh, "lab-a", "--bits", 0.3, "--times", 4)
    done("limit", fresh, "everyone", "--times", 8)
    done("release", fresh, "lab-a", "income", "--bits", 0.2, "--out", "a.csv")
    text = done("receipt", fresh, 6).out
    assert "in all; after any answer, no combination of levels is more than 4 times" in text
    assert re.search(r"\nlab-a .* 0\.3 +[\d.]+x of 4x\n", text)
    assert re.search(r"\neveryone .* 0\.9 +of 8x\n", text)
    assert "times as likely, limited to 4 " in " ".join(text.split())
    receipt = done("receipt", fresh, 6, "--json").json
    assert (receipt["everyone_limit"], receipt["everyone_times"]) == (0.9, 8)
    assert [each["times"] for each in receipt["risks"]] == [4]
    page, _ = page_of(fresh, 6)
    words = " ".join(" ".join(page.text).split())
    assert "Limited: no answer may make anything more than 4 times as likely." in words
    assert "0.9 8 times" in words
    done("limit", fresh, "everyone", "--times", "none")  # which changes no receipt
    done("verify", fresh, "--receipt", "receipt.html")


def test_the_page_of_a_release_is_for_an_ethics_board(fresh: Path) -> None:
    why = "vote 2026-114 <b>"
    done("release", fresh, "lab-a", "income", "--bits", 0.28, "--out", "a.csv", "--reason", why)
    page, html = page_of(fresh, 4)
    words = " ".join(" ".join(page.text).split())
    for said in ("patients.csv", "age, diagnosis, income", why, "Budgets before and after"):
        assert said in words
    assert 'class="bar nearly" role="img" aria-label="93 % of the limit"' in html
    assert html.startswith('<!doctype html>\n<html lang="en">')
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert re.findall("<th(?! scope=)[ >]", html) == []
    receipt = done("receipt", fresh, 4, "--json").json
    drawn = html[html.index("<svg") : html.index("</svg>")]
    assert drawn.count("<rect") == 9
    for share in (share for row in receipt["channel"] for share in row if share):
        assert f">{100 * share:.1f}</text>" in drawn
    done("verify", fresh, "--receipt", "receipt.html")


def test_a_receipt_tells_what_was_held_before_and_what_can_be_told(used: Path) -> None:
    receipt = done("receipt", used, 7, "--json").json
    coalitions = [tuple(each["parties"]) for each in receipt["holdings"]]
    before = dict(zip(coalitions, receipt["held_before"], strict=True))
    [held] = {each["bits"] for each in done("receipt", used, 5, "--json").json["holdings"]}
    assert before["lab-b",] == 0.0
    assert before["lab-a", "lab-b"] == pytest.approx(held, abs=1e-9)
    assert [risk["parties"] for risk in receipt["risks"]] == [["lab-b"], ["lab-a", "lab-b"]]
    about = ["age", "diagnosis", "income", "all levels together"]
    assert [told["about"] for told in receipt["risks"][0]["told"]] == about
    audited = done("audit", used, "--json").json["findings"]
    found = {tuple(each["parties"]): each["inferences"] for each in audited}
    for risk in receipt["risks"]:
        for told, known in zip(risk["told"], found[tuple(risk["parties"])], strict=True):
            after = known["chance_of_right_guess"]["after"]
            assert told["guess_after"] == pytest.approx(after, abs=1e-9)
    assert "lab-a + lab-b: chance to guess diagnosis right: " in done("receipt", used, 7).out


@pytest.mark.parametrize(
    ("place", "field"),
    [
        (("risks", 0, "told", 0, "guess_after"), "risks[0].told[0].guess_after"),
        (("risks", 1, "told", 3, "times_as_likely"), "risks[1].told[3].times_as_likely"),
        (("held_before", 1), "held_before[1]"),
        (("channel", 0, 0), "channel[0][0]"),
        (("reason",), "reason"),
        (("organisation",), "organisation"),
    ],
)
def test_what_a_changed_receipt_says_is_named(used: Path, place: tuple, field: str) -> None:
    receipt = done("receipt", used, 7, "--json").json
    *outer, last = place
    inside = receipt
    for key in outer:
        inside = inside[key]
    inside[last] = inside[last] + 1e-6 if isinstance(inside[last], float) else "changed"
    Path("r.json").write_text(json.dumps(receipt))
    problems = tacit("verify", used, "--receipt", "r.json", "--json").json["problems"]
    assert field in [each["field"] for each in problems if each["code"] == "paper_differs"]


def test_a_release_prints_the_receipt_that_is_made_later(fresh: Path) -> None:
    words = ["release", fresh, "lab-a", "income", "--out", "a.csv", "--reason", "why"]
    receipt = done(*words, "--accept", "disclosure", "--json").json
    assert receipt["reason"] == "why"
    assert receipt["risks"]
    assert receipt == done("receipt", fresh, receipt["entry"], "--json").json
    Path("r.json").write_text(json.dumps(receipt))
    done("verify", fresh, "--receipt", "r.json")


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 1001])
def test_a_reason_is_a_line_of_text(fresh: Path, reason: str) -> None:
    words = ["release", fresh, "lab-a", "income", "--out", "a.csv", "--reason", reason]
    assert "without line breaks" in unchanged(4, *words)


def test_a_lower_limit_around_a_party_and_a_full_bar_are_shown(used: Path) -> None:
    done("limit", used, "lab-c", "--bits", 0.8)
    done("limit", used, "lab-d", "--bits", 0.3)
    done("limit", used, "lab-c+lab-d", "--bits", 0.2)
    done("release", used, "lab-c", "income", "--out", "c.csv")
    entry = 12
    said = "as set: 0.8 bits in all; a coalition around it may hold only 0.2, and so may lab-c"
    assert said in done("receipt", used, entry).out
    page, html = page_of(used, entry)
    assert said in " ".join(page.text)
    assert 'class="bar full" role="img" aria-label="100 % of the limit"' in html
    done("limit", used, "lab-c", "--bits", 0.9)  # a receipt shows what was set then
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


def test_a_page_holds_its_data_without_markup(coins: Path) -> None:
    """A party's name, or a level's, cannot end the script that holds the data."""
    done("limit", coins, "new", "--bits", 0.1, "--title", "</script><b>&")
    done("receipt", coins, 3, "--html", "receipt.html")
    text = Path("receipt.html").read_text(encoding="utf-8")
    data = text.partition('id="receipt">')[2].partition("</script>")[0]
    assert not set(data) & set("<>&")
    assert "</script><b>& (new) may learn" in json.loads(data)["in_words"]
    done("verify", coins, "--receipt", "receipt.html")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX permissions")
def test_a_receipt_that_cannot_be_written(used: Path) -> None:
    said = unchanged(6, "receipt", used, 5, "--html", "none/receipt.html")
    assert said.startswith("cannot use none/")
    assert "(No such file or directory): check the place" in said


def test_receipts_of_what_is_not_there(used: Path) -> None:
    said = unchanged(4, "receipt", used, 99)
    assert said == "there is no entry 99: the ledger ends at 8, its releases are 5, 7"
    assert "there is no entry 0" in unchanged(4, "receipt", used, 0)
    assert "'ENTRY'" in unchanged(2, "receipt", used, "three")


@pytest.mark.parametrize("command", [("receipt", 2), ("report",)])
def test_a_page_is_not_written_into_a_file_of_another_kind(
    used: Path, command: tuple[str, ...]
) -> None:
    name, *more = command
    said = unchanged(4, name, used, *more, "--html", "paper.pdf")
    assert "paper.pdf would be a page in HTML: give a name that ends in .html" in said
