"""The pictures of concepts show what is computed now."""

from __future__ import annotations

from html import escape

import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from scripts.draw_concepts import CONCEPTS, FIGURES
from tests.pages import text_of_all


def written_on(axes: Axes) -> list[Text]:
    """Labels, title and legend, without ticks, some of which are outside of the picture."""
    legend = axes.get_legend()
    return [*axes.texts, axes.title, *(legend.get_texts() if legend else ())]


@pytest.mark.parametrize("name", CONCEPTS)
def test_pictures_show_what_is_computed(name: str) -> None:
    figure = CONCEPTS[name]()
    picture = (FIGURES / name).read_text(encoding="utf-8")
    said = [text.get_text() for axes in figure.axes for text in written_on(axes)]
    lines = [line for text in said for line in text.splitlines() if any(map(str.isdigit, line))]
    assert len(lines) > 3
    assert [line for line in lines if escape(line, quote=False) not in picture] == []


@pytest.mark.parametrize("name", CONCEPTS)
def test_pictures_are_on_a_page(name: str) -> None:
    assert f"(../figures/{name})" in text_of_all()
