"""Figures of pages: what is written on them, whatever names and figures a study has."""

from __future__ import annotations

from base64 import b64decode
from html import unescape
from typing import Any

import pytest

from tacit.service.charts import draw


def drawn(kind: str, told: Any) -> str:
    address = draw(kind, told)
    svg = b64decode(address.removeprefix("data:image/svg+xml;base64,")).decode()
    assert svg.startswith("<?xml")
    return unescape(svg)


def release(entry: int, **known: Any) -> dict[str, Any]:
    held = {"right": 0.8, "guessed": 0.6, "everyone_bits": 0.1, "party_bits": {"lab": 0.1}}
    named = {"party": "lab", "request": "age", "cohort": None}
    return {"entry": entry} | held | named | known


def surface(**known: Any) -> dict[str, Any]:
    told = {"measure": "hamming", "limit": 0.2, "everyone": 0.4, "blind": 0.5}
    grid = {"individual": [0.1, 0.2], "collusion": [0.3, 0.4], "values": [[0.5, 0.4], [0.3, 0.2]]}
    return told | grid | known


def test_a_timeline_names_parties_and_requests() -> None:
    told = [release(3), release(4, party="_<$a$>", request="age > 60 and more", cohort=2)]
    svg = drawn("timeline", told)
    for text in ("held by lab", "held by _<$a$>", "age > 60 an…", "cohort 2", "held by everyone"):
        assert f">{text}</text>" in svg


def test_a_timeline_of_many_releases_has_their_numbers_alone() -> None:
    svg = drawn("timeline", [release(entry, right=None, guessed=None) for entry in range(3, 40)])
    assert ">39</text>" in svg
    assert ">age</text>" not in svg


@pytest.mark.parametrize("measure", ["hamming", "squared", "information", "shares"])
def test_a_curve_says_what_the_answers_are_worth(measure: str) -> None:
    points = [{"bits": 0.1, "value": 0.3, "is_asked": True}]
    points.append({"bits": 0.2, "value": 0.2, "is_asked": False})
    svg = drawn("curve", {"measure": measure, "curve": points})
    assert (">Right answers, of 100</text>" in svg) == (measure == "hamming")
    assert ">this quote</text>" in svg


@pytest.mark.parametrize("kind", ["surface", "slice"])
@pytest.mark.parametrize(
    "known",
    [
        {},
        {"values": [[None, None], [None, None]], "blind": None},
        {"values": [[0.5, None], [0.5, 0.5]], "measure": "shares"},
        {"values": [[0.5, 0.5], [0.5, 0.5]]},
    ],
)
def test_a_surface_is_drawn_where_limits_leave_nothing(kind: str, known: dict[str, Any]) -> None:
    assert ">the limits</text>" in drawn(kind, surface(**known))
