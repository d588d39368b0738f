"""Parts of pages: bars and the picture of a channel."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from tacit.study.reports.page import chance_up, draw_bar, draw_channel, fullness, times_up


@pytest.mark.parametrize(
    ("percent", "kind"), [(0, ""), (79.9, ""), (80, "nearly"), (99.9, "nearly"), (100, "full")]
)
def test_a_bar_warns_before_it_is_full(percent: float, kind: str) -> None:
    assert fullness(percent) == kind
    bar = ET.fromstring(draw_bar(percent))
    assert bar.get("class", "").split() == ["bar", *kind.split()]
    assert bar.get("aria-label") == f"{percent:.0f} % of the limit"


def test_a_channel_is_drawn_with_all_its_shares_and_no_markup_of_its_labels() -> None:
    law = [[0.75, 0.25], [0.0, 1.0]]
    picture = draw_channel(["<b>low", "a very long label, longer than fits"], ["x&y", "z"], law)
    svg = ET.fromstring(picture)
    assert len(svg.findall("rect")) == 4
    shown = [text.text for text in svg.iter("text")]
    assert [text for text in shown if re.fullmatch(r"[\d.]+", text or "")] == [
        *("75.0", "25.0"),
        *("0", "100.0"),
    ]
    assert "<b>low" in shown
    assert "a very long label…" in shown
    titles = [title.text for title in svg.iter("title")]
    assert "a very long label, longer than fits" in titles


def test_figures_are_rounded_against_us() -> None:
    assert (chance_up(0.5), chance_up(0.50001)) == ("50.0", "50.1")
    assert (times_up(4.0), times_up(4.001), times_up(57.53)) == ("4", "4.01", "57.6")
