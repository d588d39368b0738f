"""``--worst-level``, ``--ceiling`` and ``--analysable``, typed by a custodian and a recipient."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.clinic import done, refused, tacit, write_rows

SURE = ("--confidence", 1 - 1e-9)  # the key, and so the noise, is another one every time


@pytest.fixture
def coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """20,000 coins with public ids: one in twenty is of gold; the owner knows their mints."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (k, "heads" if k % 10 < 3 else "tails", "gold" if k % 20 == 0 else ("lead", "iron")[k % 2])
        for k in range(20_000)
    ]
    write_rows(Path("coins.csv"), rows, ("coin", "side", "metal"))
    mints = [(k, "York" if k % 40 else "Bonn") for k in range(20_000)]
    write_rows(Path("mine.csv"), mints, ("coin", "mint"))
    private = ["--private", "side", "--private", "metal"]
    done("init", "study", "--table", "coins.csv", "--id", "coin", "--public-id", *private)
    for party in ("lab-a", "lab-b", "lab-c"):
        done("limit", "study", party, "--bits", 0.3)
    return tmp_path


def test_a_quote_shows_every_level_and_both_forms(coins: Path) -> None:
    said = done("quote", "study", "lab-a", "metal").out
    assert "gold would never be the answer; with --worst-level every level would be: " in said
    lines = [line.split() for line in said.splitlines()]
    assert ["gold", "1,000", "1.0000", "never", "the", "answer"] in lines
    assert [words[0] for words in lines if words[:1] in (["adaptive"], ["analysable"])] == [
        "adaptive",
        "analysable",
    ]
    quoted = done("quote", "study", "lab-a", "metal", "--json").json
    [remark] = quoted["remarks"]
    assert remark["code"] == "level_never_released"
    worst = done("quote", "study", "lab-a", "metal", "--worst-level", "--json").json
    assert worst["value"] == pytest.approx(remark["worst_level"], abs=1e-9)
    assert worst["in_words"].startswith("at the worst level, about ")
    assert worst["variants"][0]["half_width"] > 0


def test_an_analysable_file_ends_in_a_cross_table(coins: Path) -> None:
    wish = ["metal", "--analysable", "--worst-level"]
    done("release", "study", "lab-b", "side", "--bits", 0.2, "--out", "side.csv")
    done("release", "study", "lab-a", *wish, "--out", "a.csv")
    done("release", "study", "lab-c", *wish, "--out", "c.csv")
    assert Path("a.csv").read_bytes() == Path("c.csv").read_bytes()
    own = ("--with", "mine.csv", "--id", "coin", "--by", "mint")
    found = done("crosstab", "c.csv", *own, *SURE, "--json").json
    cells = {(*cell["group"], *cell["levels"]): cell for cell in found["cells"]}
    # Bonn has every second gold coin and nothing else.
    assert cells["Bonn", "gold"]["low"] <= 1 <= cells["Bonn", "gold"]["high"] + 1e-9
    assert cells["Bonn", "gold"]["low"] > 0.5
    assert cells["York", "gold"]["low"] < 500 / 19_500 < cells["York", "gold"]["high"]
    assert done("verify", "study", "--json").json["analysable"] == [7, 9]
    said = done("verify", "study").out
    assert "of analysable releases (7, 9), the best that is analysable" in said
    assert "  analysable: answers depend on" in done("receipt", "study", 7).out


def test_a_ceiling_is_shown_and_kept(coins: Path) -> None:
    wish = ["study", "lab-a", "metal", "--ceiling", "gold=0.5"]
    assert "ceiling" in done("quote", *wish).out
    receipt = done("release", *wish, "--out", "a.csv", "--json").json
    assert receipt["level_errors"]["gold"] == pytest.approx(0.5, abs=1e-6)
    assert (
        "at gold: 0.5000 of the values wrong (ceiling 0.5)"
        in done("receipt", "study", receipt["entry"]).out
    )


def test_a_ceiling_that_cannot_be_kept_names_a_command_that_works(coins: Path) -> None:
    ceilings = ["--ceiling", "gold=0.1", "--ceiling", "iron=0.1", "--ceiling", "lead=0.1"]
    words = ["release", "study", "lab-a", "metal", *ceilings, "--out", "a.csv"]
    answer = tacit(*words, "--json")
    assert answer.json["error"]["limit_bits"] is None
    fits = answer.json["error"]["fits"]
    assert "--ceiling gold=0." in fits
    kept = re.findall(r"--ceiling (\S+)", fits)
    assert all(re.fullmatch(r"[a-z]+=0\.\d{1,4}", each) for each in kept)
    message = answer.json["error"]["message"]
    assert f"and meets the other ceilings: raise them to {', '.join(kept)}, or leave" in message
    asked = refused(3, "quote", *words[1:-2])
    assert asked.partition("; what fits: ")[2].startswith("tacit quote study lab-a metal --ceiling")
    done(*shlex.split(fits)[1:])


def test_a_ceiling_that_is_mistyped_is_refused(coins: Path) -> None:
    quote = ["quote", "study", "lab-a", "metal", "--ceiling"]
    assert "'silver' is of no level of metal" in refused(4, *quote, "silver=0.5")
    assert "is no LEVEL=ERROR" in refused(4, *quote, "gold")
    assert "is given twice" in refused(4, *quote, "gold=0.5", "--ceiling", "gold=0.4")
