"""``tacit quote``: it spends nothing and promises what a release keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in, refused


def test_a_quote_spends_nothing(used: Path) -> None:
    before = found_in(Path())
    done("quote", used, "lab-a", "income")
    done("quote", used, "lab-a", "income", "--json")
    assert found_in(Path()) == before


def test_a_quote_is_what_the_release_costs(used: Path) -> None:
    words = [used, "lab-a", "income", "--bits", 0.05]
    quoted = done("quote", *words, "--json").json
    receipt = done("release", *words, "--out", "a.csv", "--json").json
    assert receipt["party_bits"] == pytest.approx(quoted["own"]["after"], abs=1e-12)
    assert receipt["value"] == pytest.approx(quoted["value"], abs=1e-12)
    assert receipt["in_words"] == quoted["in_words"]


def test_a_quote_for_machines_has_all_figures(used: Path) -> None:
    quoted = done("quote", used, "lab-a", "income", "--bits", 0.05, "--json").json
    own, worst = quoted["own"], quoted["worst"]
    assert own["parties"] == ["lab-a"]
    assert own["added"] == pytest.approx(own["after"] - own["held"])
    assert worst["left"] == min(share["left"] for share in quoted["coalitions"])
    assert worst["left"] == pytest.approx(worst["limit"] - worst["after"])
    points = [point["bits"] for point in quoted["curve"]]
    assert points == sorted(points)
    assert [point["bits"] for point in quoted["curve"] if point["is_asked"]] == [0.05]
    values = [point["value"] for point in quoted["curve"]]
    assert values == sorted(values, reverse=True)  # more bits, fewer errors


def test_every_point_of_the_curve_can_be_asked_for(fresh: Path) -> None:
    curve = done("quote", fresh, "lab-a", "diagnosis", "--json").json["curve"]
    assert len(curve) > 2
    for point in curve:
        words = [fresh, "lab-a", "diagnosis", "--bits", point["bits"]]
        quoted = done("quote", *words, "--json").json
        assert quoted["value"] == pytest.approx(point["value"], abs=1e-5)


def test_a_repeated_request_is_quoted_at_no_cost(used: Path) -> None:
    words = [used, "lab-a", "diagnosis", "--bits", 0.2]
    quoted = done("quote", *words, "--json").json
    assert quoted["answered_by"] == 5
    assert quoted["own"]["added"] == 0
    said = done("quote", *words).out
    assert "answered by release 5: asking again delivers it once more and" in said
    assert "receipt: tacit receipt clinic 5" in said
    assert done("release", *words, "--out", "again.csv", "--json").json["entry"] == 5


SAME = 1e-5
"""Designs are rounded to whole numbers and leave a reserve: values differ by less than this."""


@pytest.mark.slow
def test_a_curve_compares_with_the_other_form_and_with_a_cap(used: Path) -> None:
    done("limit", used, "lab-c", "--bits", 0.3)
    words = ["quote", used, "lab-c", "income", "--bits", 0.1, "--compare"]
    quoted = done(*words, "--json").json
    times = quoted["compared_times"]
    assert 1.7 <= times < 4
    for point in quoted["curve"]:
        assert set(point["others"]) == {"analysable", "capped"}
        assert min(point["others"].values()) >= point["value"] - SAME
    [asked] = [point for point in quoted["curve"] if point["is_asked"]]
    [form] = [each for each in quoted["variants"] if each["analysable"]]
    assert asked["others"]["analysable"] == pytest.approx(form["value"], abs=SAME)
    said = done(*words).out.splitlines()
    assert said[-len(quoted["curve"]) - 1].endswith(f"analysable  within {times:g} times")
    assert said[-1].split()[-1] == f"{quoted['curve'][-1]['others']['capped']:.4f}"


def test_a_curve_compares_with_no_cap_where_there_is_one(fresh: Path) -> None:
    done("limit", fresh, "lab-a", "--bits", 0.5, "--times", 1.5)
    quoted = done("quote", fresh, "lab-a", "age", "--analysable", "--compare", "--json").json
    assert quoted["compared_times"] == 1.5
    for point in quoted["curve"]:
        assert set(point["others"]) == {"adaptive", "uncapped"}
    last = quoted["curve"][-1]
    assert last["others"]["uncapped"] < last["value"] - 0.01


def test_a_curve_is_drawn(used: Path) -> None:
    done("limit", used, "lab-c", "--bits", 0.3)
    words = ["quote", used, "lab-c", "age", "--bits", 0.1, "--plot"]
    done(*words, "curve.png")
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    done(*words, "curve.svg")
    drawn = Path("curve.svg").read_text(encoding="utf-8")
    assert all(f">{name}" in drawn for name in ("adaptive", "analysable", "within "))


def test_an_answered_request_has_no_curve(used: Path) -> None:
    done("release", used, "lab-a", "income", "--bits", 0.05, "--out", "a.csv")
    words = ["quote", used, "lab-a", "income", "--bits", 0.05, "--plot", "curve.png"]
    assert "there is no curve to draw: income was answered" in refused(4, *words)
