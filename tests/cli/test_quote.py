"""``tacit quote``: it spends nothing and promises what a release keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in


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
    for point in done("quote", fresh, "lab-a", "diagnosis", "--json").json["curve"]:
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
