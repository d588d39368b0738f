"""Figures of pages, drawn here as SVG: the pages need no script, and the figures no other file."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.arrays import Array
from tacit.plots import svg_of
from tacit.study.reports.receipts import is_share, worth_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR, _FULL, _QUIET = "#2a6fd0", "#c62828", "#57606a"
_MOST_NAMED = 12
"""Releases whose party and request are written below them; more have a number alone."""


def draw(kind: str, told: Any) -> str:
    """The address of a figure that has the figure itself inside, as ``src`` of an image."""
    return _drawn(kind, json.dumps(told, allow_nan=False))


@lru_cache(maxsize=64)
def _drawn(kind: str, told: str) -> str:
    svg = svg_of(_KINDS[kind](json.loads(told)))
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def _timeline(releases: Sequence[Mapping[str, Any]]) -> Figure:
    """Each release in turn: right answers as bars, bits held so far as lines."""
    figure = _new_figure(min(max(6.0, 0.75 * len(releases)), 11.0))
    answers = figure.subplots()
    bits, at = answers.twinx(), np.arange(len(releases))
    right, guessed = (100 * _column(releases, name) for name in ("right", "guessed"))
    answers.bar(at, right, 0.7, color=_BAR, alpha=0.45, label="right answers, of 100")
    answers.plot(at, guessed, "_", color="black", markersize=24, label="a blind guess")
    for party in dict.fromkeys(each["party"] for each in releases):
        held = [each["party_bits"].get(party, 0.0) for each in releases]
        bits.plot(at, held, ".:", label=f"held by {_plain(party)}")
    everyone = _column(releases, "everyone_bits")
    bits.plot(at, everyone, "o-", color=_FULL, linewidth=2.5, label="held by everyone")
    answers.set(xlim=(-0.6, max(len(at), 4) - 0.4), ylim=(0, 105), ylabel="right answers, of 100")
    bits.set(ylim=(0, None), ylabel="bits about one record")
    is_named = len(releases) <= _MOST_NAMED
    answers.set_xticks(at, [_name(each) if is_named else each["entry"] for each in releases])
    if not is_named:
        answers.tick_params(axis="x", labelrotation=90)
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    return figure


def _curve(told: Mapping[str, Any]) -> Figure:
    """What a quote's answers are worth for fewer or more bits."""
    points = told["curve"]
    bits, worth = _column(points, "bits"), _worth(told, _column(points, "value"))
    is_asked = np.array([each["is_asked"] for each in points], dtype=bool)
    figure = _new_figure(6.0)
    axes = figure.subplots()
    axes.plot(bits, worth, "o-", color=_BAR, label="best possible")
    axes.plot(bits[is_asked], worth[is_asked], "o", color=_FULL, markersize=11, label="this quote")
    return _labelled(figure, axes, "bits to the party", worth_name(told["measure"]))


def _surface(told: Mapping[str, Any]) -> Figure:
    """Worth by limits on the party and on everyone, as a map; a point at the chosen limits."""
    worth = _worth(told, np.array(told["values"], dtype=np.float64))
    figure = _new_figure(6.0)
    axes = figure.subplots()
    if np.isfinite(worth).any():
        shades = axes.contourf(
            told["collusion"], told["individual"], np.ma.masked_invalid(worth), 12, cmap="Blues"
        )
        figure.colorbar(shades, label=worth_name(told["measure"]))
    axes.plot(told["everyone"], told["limit"], "o", color=_FULL, markersize=11, label="the limits")
    return _labelled(figure, axes, "δ: limit of everyone, bits", "ε: limit of the party, bits")


def _slice(told: Mapping[str, Any]) -> Figure:
    """Worth by the limit on the party, at the chosen limit on everyone."""
    values = _worth(told, np.array(told["values"], dtype=np.float64))
    limits, worth = told["individual"], values[:, told["collusion"].index(told["everyone"])]
    figure = _new_figure(6.0)
    axes = figure.subplots()
    axes.plot(limits, worth, "o-", color=_BAR, label="best possible")
    here = worth[limits.index(told["limit"])]
    axes.plot(told["limit"], here, "o", color=_FULL, markersize=11, label="the limits")
    if told["blind"] is not None:
        blind = float(_worth(told, np.array(told["blind"])))
        axes.axhline(blind, color=_QUIET, linestyle=":", label="a blind guess")
    return _labelled(figure, axes, "ε: limit of the party, bits", worth_name(told["measure"]))


_KINDS: dict[str, Callable[[Any], Figure]] = {
    "timeline": _timeline,
    "curve": _curve,
    "surface": _surface,
    "slice": _slice,
}


def _new_figure(width: float) -> Figure:
    from matplotlib.figure import Figure  # late: a server answers before it is loaded

    return Figure(figsize=(width, 4.0), layout="constrained")


def _labelled(figure: Figure, axes: Axes, x_label: str, y_label: str) -> Figure:
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    return figure


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> Array:
    return np.array([each[name] for each in rows], dtype=np.float64)


def _worth(told: Mapping[str, Any], values: Array) -> Array:
    """Shares of wrong answers as right answers of 100; other costs as they are."""
    return 100 * (1 - values) if is_share(told["measure"]) else values


def _name(release: Mapping[str, Any]) -> str:
    lines = [str(release["entry"]), _plain(release["party"]), _plain(release["request"])]
    return "\n".join(lines + [f"cohort {release['cohort']}"] * bool(release["cohort"]))


def _plain(text: str) -> str:
    """A short text whose dollar signs begin no formula."""
    return (text if len(text) <= 12 else f"{text[:11]}…").replace("$", r"\$")
