"""[TVC] Fig. 4 is drawn."""

from __future__ import annotations

from pathlib import Path

from tacit.paper.fig4 import draw_fig4, fig4
from tests.pictures import assert_is_png


def test_fig4_is_drawn(tmp_path: Path) -> None:
    [picture] = draw_fig4(tmp_path, fig4())
    assert_is_png(picture)
