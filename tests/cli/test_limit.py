"""``tacit limit``: who may learn how much, alone and together; set, shown, explained."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in, refused, unchanged


def limits(study: Path) -> dict[str, tuple[float | None, float | None]]:
    shown = done("limit", study, "--json").json["limits"]
    return {each["whom"]: (each["bits"], each["times"]) for each in shown}


# -- what is set ----------------------------------------------------------------------------------


def test_a_party_is_let_in_with_a_title(fresh: Path) -> None:
    words = ("--bits", 0.3, "--times", 4, "--title", "Institute <C>")
    said = done("limit", fresh, "lab-c", *words).out.splitlines()
    assert said[0] == (
        "Institute <C> (lab-c) may learn 0.3 bits about a record; after any answer, no combination "
        "of levels is more than 4 times as likely as before"
    )
    assert not any("no limit in times" in line for line in said)
    told = done("limit", fresh, "lab-c", "--bits", 0.4, "--json").json
    assert (told["whom"], told["bits"], told["times"]) == ("lab-c", 0.4, 4)
    assert told["title"] == "Institute <C>"
    done("limit", fresh, "lab-c", "--times", "none")
    assert limits(fresh)["lab-c"] == (0.4, None)
    assert re.search(r"^Institute <C> \(lab-c\) +0\.4 ", done("limit", fresh).out, re.MULTILINE)


def test_limits_on_coalitions_stand_together(fresh: Path) -> None:
    before = limits(fresh)
    assert before == {"lab-a": (0.3, None), "lab-b": (0.3, None), "everyone": (0.9, None)}
    for whom, options in (
        ("any 2", ("--bits", 0.5, "--times", 8)),
        ("any 3", ("--times", 11.5)),
        ("lab-b + lab-a", ("--bits", 0.4)),
        ("everyone", ("--times", 16)),
    ):
        done("limit", fresh, whom, *options)
    together = {"any 2": (0.5, 8), "any 3": (None, 11.5), "lab-a+lab-b": (0.4, None)}
    assert limits(fresh) == before | together | {"everyone": (0.9, 16)}
    said = done("limit", fresh, "any 2", "--bits", "none").out
    assert said.startswith("any 2 parties: after any answer, no combination of levels is more than")
    assert done("limit", fresh, "lab-a+lab-b", "--bits", "none").out == (
        "lab-a + lab-b: no limit any more\n"
    )
    assert "lab-a+lab-b" not in limits(fresh)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lab-c", "--bits", "-0.3"), "the limit on lab-c is -0.3: give a number of bits above 0"),
        (("everyone", "--bits", "0"), "the limit on everyone is 0: give a number of bits above 0"),
        (("any 2", "--bits", "nan"), "--bits nan: give a number, or none for no limit"),
        (("any 2", "--bits", "inf"), "--bits inf: give a number, or none for no limit"),
        (("lab-c", "--bits", "abc"), "--bits abc: give a number, or none for no limit"),
        (("lab-c", "--bits", "0.3", "--times", "x"), "--times x: give a number, or none"),
        (("lab-c", "--bits", "0.3", "--times", "0.5"), "the limit on lab-c is 0.5 times: give"),
        (("lab-c", "--times", "2"), "lab-c is new: give the bits that it may learn"),
        (("any 0", "--bits", "1"), "'any 0' is not a party: use a-z, 0-9 and -, as in lab-a"),
        (("Lab-A", "--bits", "1"), "'Lab-A' is not a party"),
        (("lab-a,lab-b", "--bits", "1"), "'lab-a,lab-b' is not a party"),
        (("lab\u2013a", "--bits", "1"), "is not a party"),
        (("lab-a+lab-a", "--bits", "1"), "'lab-a+lab-a' names a party twice"),
        (("any 2", "--title", "Two"), "a title is given for any 2 parties: only parties have one"),
        (("any 3",), "there is no limit on any 3: give --bits or --times"),
    ],
)
def test_limits_that_are_none(fresh: Path, words: tuple[str, ...], said: str) -> None:
    assert said in unchanged(4, "limit", fresh, *words)


def test_a_mistyped_party_in_a_coalition_is_refused_not_made(fresh: Path) -> None:
    said = unchanged(4, "limit", fresh, "lab-a+lab-bb", "--bits", 0.4)
    assert said.startswith("party 'lab-bb' is unknown (parties: 'lab-b', 'lab-a'): let it in with ")
    done(*shlex.split(said.partition(" with tacit ")[2].replace("BITS", "0.1")))
    done("limit", fresh, "lab-a+lab-bb", "--bits", 0.4)


def test_a_limit_below_what_is_held(used: Path) -> None:
    said = unchanged(3, "limit", used, "lab-a", "--bits", 0.1)
    enough = said.rpartition(" ")[2]
    assert said.startswith("a limit of 0.1 bits on lab-a is below what it holds already: give at")
    for whom, below in (
        ("everyone", "everyone is below what lab-a + lab-b together hold already"),
        ("any 1", "any single party is below what lab-a holds already"),
    ):
        said = unchanged(3, "limit", used, whom, "--bits", 0.1)
        assert said.startswith(f"a limit of 0.1 bits on {below}: give at least 0.")
    done("limit", used, "lab-a", "--bits", enough)


@pytest.mark.parametrize(
    "words", [("any 2", "--bits", 0.35), ("everyone", "--bits", 0.9), ("lab-a", "--bits", 0.3)]
)
def test_a_change_that_changes_nothing_is_no_entry(used: Path, words: tuple[str, ...]) -> None:
    before = done("status", used, "--json").json["head"]
    said = done("limit", used, *words).out
    assert "note: nothing was changed: it was so already" in said
    assert done("status", used, "--json").json["head"] == before


def test_a_party_leaves_only_if_it_holds_nothing(used: Path) -> None:
    said = unchanged(4, "limit", used, "lab-a", "--bits", "none")
    assert "that stays counted for ever, so it cannot be removed" in said
    [command] = re.findall(r"with tacit (limit .+)$", said)
    done(*shlex.split(command))  # what it suggests is allowed
    done("limit", used, "lab-c", "--bits", 0.2)
    done("limit", used, "lab-b+lab-c", "--bits", 0.3)
    said = unchanged(4, "limit", used, "lab-c", "--bits", "none")
    assert "is named by the limit on lab-b + lab-c" in said
    done("limit", used, "lab-b+lab-c", "--bits", "none")
    said = done("limit", used, "lab-c", "--bits", "none").out
    assert said == "lab-c is removed: it held nothing\n"
    assert "is unknown" in unchanged(4, "quote", used, "lab-c", "age")
    done("limit", used, "lab-c", "--bits", 0.1)  # it may come again
    done("verify", used)


# -- what is shown --------------------------------------------------------------------------------


def test_all_limits_are_shown_and_nothing_is_written(used: Path) -> None:
    for party in ("lab-c", "lab-d"):
        done("limit", used, party, "--bits", 0.3)
    done("limit", used, "lab-c+lab-d", "--bits", 0.2)
    before = found_in(Path())
    found = {each["whom"]: each for each in done("limit", used, "--json").json["limits"]}
    parties = ["lab-a", "lab-b", "lab-c", "lab-d"]
    assert list(found) == [*parties, "any 2", "lab-c+lab-d", "everyone"]
    assert (found["lab-c+lab-d"]["nearest"], found["lab-c+lab-d"]["left"]) == ([], 0.2)
    assert found["any 2"]["nearest"] == ["lab-a", "lab-b"]
    holdings = done("receipt", used, 7, "--json").json["holdings"]
    [pair] = {each["bits"] for each in holdings if len(each["parties"]) == 2}
    assert found["any 2"]["held"] == pytest.approx(pair, abs=1e-9)
    said = done("limit", used).out
    assert re.search(r"^lab-c \+ lab-d +0\.2 .* 0\.0000  0\.2000  nobody yet$", said, re.MULTILINE)
    assert len(done("limit", used, "any 2").out.splitlines()) == 2
    assert found_in(Path()) == before
    done("close", used, "--yes")
    assert done("limit", used).out == said


def test_one_bit_is_no_bits(fresh: Path) -> None:
    said = done("limit", fresh, "lab-c", "--bits", 1).out.splitlines()
    assert said[0] == "lab-c may learn 1 bit about a record"


# -- what it means --------------------------------------------------------------------------------


def test_a_limit_above_all_there_is_to_learn_is_said(fresh: Path) -> None:
    said = done("limit", fresh, "lab-c", "--bits", 8).out.splitlines()
    [first, second, *_] = [line for line in said if line.startswith("note: ")]
    assert "note: the limit on lab-c, 8 bits, protects nothing: a record has only" in first
    assert second == (
        "note: the limit on everyone, 0.9 bits, is below the own limit of lab-c and holds for "
        "lab-c, too"
    )
    said = done("limit", fresh, "any 2", "--bits", 7, "--json").json["remarks"]
    words = "the limit on any 2 parties, 7 bits, protects nothing"
    assert any(words in each["in_words"] for each in said)


def test_a_party_without_times_is_told_of_some_that_would_protect(fresh: Path) -> None:
    [note] = [
        line
        for line in done("limit", fresh, "lab-c", "--bits", 0.3).out.splitlines()
        if "lab-c has no limit in times" in line
    ]
    [times] = re.findall(r": with --times ([\d.]+), after any answer, no combination of lev", note)
    assert "and no answer is 90 % sure of a level that fewer than half of the records have" in note
    said = done("limit", fresh, "lab-c", "--times", times).out
    assert "has no limit in times" not in said
    assert "answers could name" not in said


def test_a_limit_in_times_around_a_party_is_heeded(coins: Path) -> None:
    """Heads are 0.3 of the coins: within 3 times, an answer may be 90 % sure of them."""
    done("limit", coins, "everyone", "--times", 4)
    said = done("limit", coins, "new", "--bits", 0.5).out
    assert (
        "note: new has no limit in times beside that of 4 times on everyone: with --times 2.9"
        in said
    )
    said = done("limit", coins, "new", "--bits", 0.5, "--times", 1024).out.splitlines()
    assert "more than 1,024 times as likely" in said[0]
    own = (
        "note: the limit on everyone, 4 times, is below the own limit of new and holds for new, too"
    )
    assert own in said
    assert own in done("status", coins).out.splitlines()
    said = done("limit", coins, "new", "--times", "none").out.splitlines()
    assert said[0] == "new may learn 0.5 bits about a record"
    done("limit", coins, "everyone", "--times", 2.5)
    assert "has no limit in times" not in done("limit", coins, "other", "--bits", 0.1).out


def test_answers_that_tell_nothing_show_equal_shares(fresh: Path) -> None:
    """3,000 patients: a blind guess of two columns is right for no whole number of 1,000."""
    lines = done("limit", fresh, "lab-c", "--bits", 0.3, "--times", 1).out.splitlines()
    told = [re.findall(r"(?:at most|right for) ([\d.]+)", line) for line in lines[1:]]
    assert len(told) == 3
    assert all(most == blind for most, blind in told)
    planned = done("plan", fresh, "age", "--times", 1, "--json").json["curves"][0]
    shares = [each["capped"] for each in planned["points"]]
    assert shares == pytest.approx([planned["blind"]] * len(shares), abs=1e-6)
    assert "is 0.5 times" in unchanged(4, "plan", fresh, "age", "--times", 0.5)


def test_what_a_limit_means_heeds_its_times(coins: Path) -> None:
    """A blind guess, tails, is right for 70; heads may become twice as likely, 0.6, for 80."""
    said = done("limit", coins, "lab", "--bits", 0.8, "--times", 1).out
    assert "0.8 bits within 1 times: side could be told right for at most 70.0 of " in said
    said = done("limit", coins, "everyone", "--times", 2).out
    assert "no limit in bits within 2 times: side could be told right for at most 80." in said
    said = done("limit", coins, "lab", "--times", "none").out
    assert "0.8 bits within 2 times: side could be told right for at most 80." in said


def test_times_that_no_answer_reaches_are_said_to_protect_nothing(coins: Path) -> None:
    said = "protects nothing: no answer makes a combination of levels more than 3.33333 times as"
    assert f"the limit on lab, 4 times, {said}" in done("limit", coins, "lab", "--times", 4).out
    assert said not in done("limit", coins, "lab", "--times", 3.25).out
    everyone = f"the limit on everyone, 4 times, {said}"
    assert everyone in done("limit", coins, "everyone", "--times", 4).out
    assert everyone in done("status", coins).out


# -- what is refused for it -----------------------------------------------------------------------


def test_a_refusal_says_which_times_to_raise(fresh: Path) -> None:
    for whom, on in (("lab-a", "lab-a"), ("everyone", "everyone"), ("any 2", "any 2 parties")):
        done("limit", fresh, whom, "--times", 1)
        said = refused(3, "release", fresh, "lab-a", "age", "--out", "a.csv")
        assert f"the limit on {on} is 1 times, which leaves lab-a nothing better" in said
        assert said.endswith(f"with tacit limit clinic {shlex.quote(whom)} --times TIMES")
        done("limit", fresh, whom, "--times", "none")


def test_status_shows_the_worst_answer_beside_the_average(fresh: Path) -> None:
    done("limit", fresh, "lab-a", "--bits", 0.5, "--times", 2)
    done("release", fresh, "lab-a", "age", "--out", "a.csv")
    lines = done("status", fresh).out.splitlines()
    assert lines[1].split()[-1] == "answer"
    [own] = [line for line in lines if line.startswith("lab-a ")]
    assert own.split()[-3:] == ["2x", "of", "2x"]
    assert done("verify", fresh).code == 0


def test_times_that_forbid_every_answer_are_named_although_no_answer_comes_near_them(
    coins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heads, 0.3 of the coins, may become 1.4 times as likely: tails stay the better guess."""
    done("limit", coins, "lab", "--times", 1.4)
    said = refused(3, "quote", coins, "lab", "side")
    assert said.startswith("the limit on lab is 1.4 times, which leaves lab nothing better than a")
    assert said.endswith(
        " on average; at the worst level an answer can be better; what fits: tacit quote study lab "
        "side --worst-level"
    )
    done(*shlex.split(said.partition("; what fits: tacit ")[2]))
    with monkeypatch.context() as patch:  # where designs are not quick
        patch.setattr("tacit.study.requests.refusals._MOST_ENTRIES", 0)
        assert refused(3, "quote", coins, "lab", "side").endswith(
            "judged by the worst level (--worst-level) an answer may fit; otherwise it may learn "
            "more only if limits in times are raised with tacit limit study lab --times TIMES"
        )
    said = refused(3, "release", coins, "lab", "side", "--bits", 0.1, "--out", "a.csv")
    assert said.endswith("tacit release study lab side --worst-level --bits 0.1 --out a.csv")
    done("limit", coins, "lab", "--times", 2)
    done("quote", coins, "lab", "side")


def test_a_quote_says_that_times_are_reached_before_the_bits(coins: Path) -> None:
    words = ("quote", coins, "lab", "side", "--worst-level")
    done("limit", coins, "lab", "--times", 1.4)
    quoted = done(*words)
    said = " ".join(quoted.out.split())
    assert "the worst answer of lab would be at the limit of 1.4 times while bits are left" in said
    # Bits that are left promise nothing where the times leave nothing.
    assert "the limit in times is reached: bits do not say how many more would fit" in said
    assert "requests of this size would fit" not in said
    assert done(*words, "--json").json["about_more"] is None
    assert "1.4x of 1.4x" in said
    assert "times as likely, limited to 1.4" in said
    done("limit", coins, "lab", "--times", "none")
    assert "limit in times is reached" not in done(*words).out
