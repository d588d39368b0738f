"""Figures: every function returns one, and writes a file only where a path is given."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tacit import plots
from tacit.auditing import audit
from tacit.errors import InvalidInputError, TacitError
from tacit.paper.table1 import table1_problem
from tacit.scheme import Scheme
from tacit.tradeoff import Surface, trace_surface
from tests.pictures import assert_is_png

DRAWERS = [
    drawer
    for name, drawer in inspect.getmembers(plots, inspect.isfunction)
    if name.endswith("_figure") and not name.startswith("_")
]


def trace_small() -> Surface:
    return trace_surface(table1_problem(), individual=[0.1, 0.5], collusion=[0.1, 0.2, 0.6])


def arguments_of(drawer: Callable) -> tuple:
    """Something small to draw."""
    curve = np.array([[1.0, 2.0], [2.0, 3.0]])
    panels = {"panel": {"one": curve, "two": curve + 1}}
    subject = drawer.__name__.removesuffix("_figure")
    if subject == "surface":
        return (trace_small(),)
    if subject == "points":
        return {"cloud": np.arange(6.0).reshape(2, 3)}, "label"
    if subject == "curves":
        return panels, "x"
    if subject == "bars_and_lines":
        return panels, ["a", "b"], ("bars", "lines")
    if subject == "tradeoff_curves":
        return panels, ("x", "y")
    if subject == "table":
        return ["a", "b"], [["1", "2"]]
    scheme = Scheme([0.5, 0.5])
    scheme.release(np.eye(2), party="a", individual=0.2)
    return (audit(scheme, records=50),)


@pytest.mark.parametrize("drawer", DRAWERS, ids=lambda drawer: drawer.__name__)
def test_a_figure_is_returned_and_nothing_is_written(
    drawer: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(drawer(*arguments_of(drawer), title="title"), Figure)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("as_given", [Path, str])
@pytest.mark.parametrize("drawer", DRAWERS, ids=lambda drawer: drawer.__name__)
def test_a_path_is_where_the_figure_is_written(
    drawer: Callable, as_given: Callable, tmp_path: Path
) -> None:
    file = tmp_path / "new" / "figure.png"
    drawer(*arguments_of(drawer), path=as_given(file))
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("suffix", "start"), [("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_the_suffix_sets_the_format(tmp_path: Path, suffix: str, start: bytes) -> None:
    file = tmp_path / f"surface.{suffix}"
    plots.surface_figure(trace_small(), path=file)
    assert file.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["surface.xyz", "surface", "surface.html"])
def test_a_figure_in_an_unknown_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"give a name that ends in .*\.pdf.*\.png.*\.svg"):
        plots.surface_figure(trace_small(), path=tmp_path / "new" / name)
    assert list(tmp_path.iterdir()) == []


def test_a_surface_with_infeasible_limits_is_drawn(tmp_path: Path) -> None:
    surface = trace_surface(table1_problem(), individual=[0.1, 0.5], collusion=[0.0, 0.2, 0.6])
    assert np.isnan(surface.value[:, 0]).all()
    picture = tmp_path / "surface.png"
    plots.surface_figure(surface, path=picture)
    assert_is_png(picture)


def test_the_same_figure_is_the_same_svg_and_loads_nothing(tmp_path: Path) -> None:
    surface = trace_small()
    for name in ("one.svg", "two.svg"):
        plots.surface_figure(surface, "a <title>", path=tmp_path / name)
    drawn = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert drawn == (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert ">a &lt;title&gt;</text>" in drawn
    assert not re.search(r"href=\"(?!#)|url\((?!#)|<script", drawn)


def test_drawing_without_the_extra_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    surface = trace_small()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(TacitError, match=r"matplotlib.*tacit\[plots\]"):
        plots.surface_figure(surface)
