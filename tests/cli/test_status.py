"""``tacit status``: what is held, of which limit."""

from __future__ import annotations

from pathlib import Path

from tests.cli.clinic import done


def test_nothing_shown_promises_too_much(used: Path) -> None:
    """What is held is shown rounded up, what is left rounded down."""
    status = done("status", used, "--json").json
    lines = done("status", used).out.splitlines()[2:]
    for each, line in zip(status["parties"] + status["coalitions"], lines, strict=True):
        shown = line.removeprefix(each["name"]).split()
        assert float(shown[1]) >= each["held"] > float(shown[1]) - 1.001e-4
        assert float(shown[2]) == each["limit"]
        assert float(shown[3]) <= each["left"] < float(shown[3]) + 1.001e-4


def test_status_flags_an_answer_that_settles_a_fact(coins: Path) -> None:
    done("party", "add", coins, "lab", "--limit", 1)
    done("release", coins, "lab", "side", "--bits", 0.1, "--out", "a.csv")
    assert done("status", coins, "--json").json["settled"] == []
    assert "with certainty" not in done("status", coins).out
    done("release", coins, "lab", "side", "--out", "b.csv", "--again")
    said = (
        "! an answer of release 6 tells lab with certainty that side is heads: 6,000 records; with "
        "certainty that side is tails: 14,000 records"
    )
    assert said in " ".join(done("status", coins).out.split())
    [settled] = done("status", coins, "--json").json["settled"]
    assert (settled["release"], settled["party"], settled["request"]) == (6, "lab", "side")
    assert settled["certain"] == {"side": {"heads": 0.3, "tails": 0.7}}
    assert settled["in_words"] == said.removeprefix("! ")
    receipt = done("receipt", coins, 6).out  # the worst answer, rounded as in the status
    assert "3.34 times as likely" in " ".join(receipt.split())
    assert "3.34x" in done("status", coins).out


def test_status_and_party_say_which_limit_holds(fresh: Path) -> None:
    done("collusion", "set", fresh, "--any", "2=0.25", "--group", "lab-a,lab-b=0.2")
    remark = (
        "the limit on lab-a + lab-b, 0.2 bits, is below the own limit of {} and holds for {}, too"
    )
    said = done("party", "add", fresh, "lab-a", "--limit", "0.5").out
    assert said.splitlines()[1] == f"note: {remark.format('lab-a', 'lab-a')}"
    said = done("status", fresh).out
    assert f"note: {remark.format('lab-a, lab-b', 'each of them')}" in said.splitlines()
    parties = done("status", fresh, "--json").json["parties"]
    assert [(each["limit"], each["limited_by"]) for each in parties] == [(0.2, "lab-a + lab-b")] * 2
