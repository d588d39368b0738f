"""[TVC] Fig. 6 on Adult: the numbers, under certified optima."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.paper.fig6 import BUDGETS, draw_fig6, fig6, fig6_text
from tacit.solution import GAP_TOL
from tests.pictures import assert_is_png

SEEN_TOL = 2e-3
"""The reference numbers are printed with three digits."""


def test_fig6_numbers() -> None:
    ours, theirs = fig6().adaptive[0.3], fig6().non_adaptive[0.3]
    assert ours.distortion == pytest.approx([0.412, 0.139, 0.411, 0.412], abs=SEEN_TOL)
    assert theirs.distortion == pytest.approx([0.412, 0.108, 0.372, 0.412], abs=SEEN_TOL)
    assert theirs.leakage[-1] == pytest.approx(1.11, abs=5e-3)
    assert ours.leakage == pytest.approx([0.3, 0.5, 0.7, 0.7], abs=SEEN_TOL)


def test_fig6_is_certified_and_within_its_limits() -> None:
    for budget in BUDGETS:
        for course in (fig6().adaptive[budget], fig6().non_adaptive[budget]):
            assert (course.gap <= GAP_TOL).all()
        assert (fig6().adaptive[budget].leakage <= fig6().adaptive[budget].limit).all()
    assert "0.41204, 0.70000" in fig6_text(fig6())


def test_fig6_is_drawn(tmp_path: Path) -> None:
    [picture] = draw_fig6(tmp_path, fig6())
    assert_is_png(picture)
