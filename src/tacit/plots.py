"""Figures: PNG files by Matplotlib, interactive pages by Plotly that need no network.

Both come with the extra ``plots`` and are imported when a figure is drawn, not before. A page
carries plotly.js inside (about 5 MB), so it opens from a folder on a machine without a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.auditing import Audit, Finding
from tacit.errors import TacitError
from tacit.information.measures import MEASURES, LeakageMeasure, Unit
from tacit.tradeoff import Surface

LIMITS = ("individual limit ε (bits)", "collusion limit δ (bits)")
LEAKAGES = ("I(R̂; X), bits", "I(R̂, Z; X), bits")

_DPI = 110
_DASHES = ("-", "--", ":", "-.")
_COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728")


def utility_label(surface: Surface) -> str:
    """Name of what a surface shows."""
    is_information = surface.problem.is_information
    return "most information I(ε, δ), bits" if is_information else "least distortion D(ε, δ)"


def surface_png(path: str | Path, surface: Surface, title: str = "") -> Path:
    """Write a trade-off surface as a 3-D picture."""
    figure = _new_figure((6.4, 5.0))
    axes = figure.add_subplot(projection="3d")
    collusion, individual = np.meshgrid(surface.collusion, surface.individual)
    axes.plot_surface(
        individual,
        collusion,
        np.ma.masked_invalid(surface.value),
        cmap="viridis",
        rstride=1,
        cstride=1,
        edgecolor=(0, 0, 0, 0.25),
        linewidth=0.3,
    )
    _label_3d(axes, (*LIMITS, utility_label(surface)), title)
    axes.view_init(elev=25, azim=-145 if surface.problem.is_information else 35)
    return _save(figure, path)


def surface_html(path: str | Path, surface: Surface, title: str = "") -> Path:
    """Write a trade-off surface as an interactive page; hovering shows the certified gap."""
    graph_objects = _plotly()
    trace = graph_objects.Surface(
        x=surface.collusion,
        y=surface.individual,
        z=surface.value,
        customdata=surface.gap,
        colorscale="Viridis",
        hovertemplate="ε %{y:.3f}  δ %{x:.3f}<br>%{z:.6f}<br>gap %{customdata:.1e}<extra></extra>",
    )
    figure = graph_objects.Figure(trace)
    _label_scene(figure, (*LIMITS, utility_label(surface)), title)
    return _save_page(figure, path)


def points_png(path: str | Path, clouds: Mapping[str, Array], label: str, title: str = "") -> Path:
    """Write clouds of points (leakages, utility), name -> [n, 3], as 3-D pictures side by side."""
    figure = _new_figure((5.2 * len(clouds), 4.6))
    for index, (name, cloud) in enumerate(clouds.items(), start=1):
        axes = figure.add_subplot(1, len(clouds), index, projection="3d")
        axes.scatter(*cloud.T, c=cloud[:, 2], cmap="viridis", s=5, depthshade=False)
        _label_3d(axes, (*LEAKAGES, label), name)
        axes.view_init(elev=25, azim=-25)
    figure.suptitle(title)
    return _save(figure, path)


def points_html(path: str | Path, clouds: Mapping[str, Array], label: str, title: str = "") -> Path:
    """Write clouds of points (leakages, utility), name -> [n, 3], as one interactive page."""
    graph_objects = _plotly()
    figure = graph_objects.Figure()
    for name, cloud in clouds.items():
        individual, collusion, value = cloud.T
        marker = {"size": 2.5}
        figure.add_trace(
            graph_objects.Scatter3d(
                x=collusion, y=individual, z=value, name=name, mode="markers", marker=marker
            )
        )
    _label_scene(figure, (*LEAKAGES, label), title)
    return _save_page(figure, path)


def curves_png(
    path: str | Path, panels: Mapping[str, Mapping[str, Array]], x_label: str, title: str = ""
) -> Path:
    """Write panels of curves, panel -> name -> [n, 2], side by side.

    A panel whose values are all positive and span more than a factor 100 gets a logarithmic axis.
    """
    figure = _new_figure((5.2 * len(panels), 3.8))
    for index, (panel, curves) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(1, len(panels), index)
        for name, curve in curves.items():
            axes.plot(*curve.T, label=name)
        axes.set(xscale="log", yscale=_scale(curves), xlabel=x_label, title=panel)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(title)
    return _save(figure, path)


def curves_html(
    path: str | Path, panels: Mapping[str, Mapping[str, Array]], x_label: str, title: str = ""
) -> Path:
    """Write panels of curves, panel -> name -> [n, 2], as one interactive page."""
    graph_objects = _plotly()
    subplots = import_module("plotly.subplots")
    figure = subplots.make_subplots(rows=1, cols=len(panels), subplot_titles=list(panels))
    for column, curves in enumerate(panels.values(), start=1):
        for name, curve in curves.items():
            line = graph_objects.Scatter(x=curve[:, 0], y=curve[:, 1], name=name, mode="lines")
            figure.add_trace(line, row=1, col=column)
        figure.update_xaxes(type="log", title=x_label, row=1, col=column)
        figure.update_yaxes(type=_scale(curves), row=1, col=column)
    figure.update_layout(title=title)
    return _save_page(figure, path)


def bars_and_lines_png(
    path: str | Path,
    panels: Mapping[str, Mapping[str, Array]],
    ticks: Sequence[str],
    labels: tuple[str, str],
    title: str = "",
) -> Path:
    """Write panels, panel -> name -> [n, 2], side by side: first column bars, second a line.

    Args:
        path: where to.
        panels: what to show; every name has the same colour in all panels.
        ticks: what stands below the n groups of bars.
        labels: of the bars' axis and of the lines' axis.
        title: above all panels.
    """
    figure = _new_figure((4.6 * len(panels), 3.8))
    bars: list[Any] = []
    for index, (panel, series) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(1, len(panels), index, sharey=bars[0] if bars else None)
        bars.append(axes)
        lines = axes.twinx()
        width = 0.8 / len(series)
        for number, (name, values) in enumerate(series.items()):
            at = np.arange(len(values)) + width * (number - (len(series) - 1) / 2)
            axes.bar(at, values[:, 0], width, color=f"C{number}", alpha=0.45, label=name)
            lines.plot(np.arange(len(values)), values[:, 1], f"C{number}o-", label=name)
        axes.set(xlabel="request", ylabel=labels[0], title=panel)
        axes.set_xticks(np.arange(len(ticks)), ticks, fontsize="small")
        lines.set(ylabel=labels[1], ylim=(0, 1.05 * _largest(panels)))
        lines.legend(loc="upper left")
    figure.suptitle(title)
    return _save(figure, path)


def bars_and_lines_html(
    path: str | Path,
    panels: Mapping[str, Mapping[str, Array]],
    ticks: Sequence[str],
    labels: tuple[str, str],
    title: str = "",
) -> Path:
    """Write what ``bars_and_lines_png`` shows as one interactive page."""
    graph_objects = _plotly()
    figure = import_module("plotly.subplots").make_subplots(
        rows=1,
        cols=len(panels),
        subplot_titles=list(panels),
        specs=[[{"secondary_y": True}] * len(panels)],
    )
    for column, series in enumerate(panels.values(), start=1):
        for number, (name, values) in enumerate(series.items()):
            look = {"name": name, "legendgroup": name, "marker": {"color": _COLOURS[number]}}
            bar = graph_objects.Bar(
                x=list(ticks), y=values[:, 0], opacity=0.45, showlegend=False, **look
            )
            line = graph_objects.Scatter(
                x=list(ticks), y=values[:, 1], showlegend=column == 1, **look
            )
            figure.add_trace(bar, row=1, col=column, secondary_y=False)
            figure.add_trace(line, row=1, col=column, secondary_y=True)
        figure.update_yaxes(title=labels[0], row=1, col=column, secondary_y=False)
        span = {"range": [0, 1.05 * _largest(panels)]}
        figure.update_yaxes(title=labels[1], row=1, col=column, secondary_y=True, **span)
    figure.update_layout(title=title)
    return _save_page(figure, path)


def _largest(panels: Mapping[str, Mapping[str, Array]]) -> float:
    """Top of the lines, so that panels can be compared."""
    return max(
        float(values[:, 1].max()) for series in panels.values() for values in series.values()
    )


def tradeoff_curves_png(
    path: str | Path,
    panels: Mapping[str, Mapping[str, Array]],
    labels: tuple[str, str],
    title: str = "",
) -> Path:
    """Write panels of curves, panel -> name -> [n, 2], on linear axes.

    Later curves are thinner and broken, so that curves that coincide can all be seen.
    """
    figure = _new_figure((5.6 * len(panels), 4.0))
    for index, (panel, curves) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(1, len(panels), index)
        for number, (name, curve) in enumerate(curves.items()):
            dash = _DASHES[number % len(_DASHES)]
            axes.plot(*curve.T, dash, label=name, linewidth=max(1.2, 5.0 - 1.4 * number))
        axes.set(xlabel=labels[0], ylabel=labels[1], title=panel)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(title)
    return _save(figure, path)


def tradeoff_curves_html(
    path: str | Path,
    panels: Mapping[str, Mapping[str, Array]],
    labels: tuple[str, str],
    title: str = "",
) -> Path:
    """Write what ``tradeoff_curves_png`` shows as one interactive page."""
    graph_objects = _plotly()
    subplots = import_module("plotly.subplots")
    figure = subplots.make_subplots(rows=1, cols=len(panels), subplot_titles=list(panels))
    for column, curves in enumerate(panels.values(), start=1):
        for number, (name, curve) in enumerate(curves.items()):
            look = {"width": max(1.2, 5.0 - 1.4 * number), "color": _COLOURS[number]}
            figure.add_trace(
                graph_objects.Scatter(
                    x=curve[:, 0],
                    y=curve[:, 1],
                    name=name,
                    legendgroup=name,
                    showlegend=column == 1,
                    mode="lines+markers",
                    line=look,
                ),
                row=1,
                col=column,
            )
        figure.update_xaxes(title=labels[0], row=1, col=column)
        figure.update_yaxes(title=labels[1], row=1, col=column)
    figure.update_layout(title=title)
    return _save_page(figure, path)


def _scale(curves: Mapping[str, Array]) -> str:
    values = np.concatenate([curve[:, 1] for curve in curves.values()])
    is_wide = bool((values > 0).all()) and values.max() > 100 * values.min()
    return "log" if is_wide else "linear"


def table_png(
    path: str | Path, header: Sequence[str], rows: Sequence[Sequence[str]], title: str = ""
) -> Path:
    """Write a table as a picture."""
    figure = _new_figure((1.1 * len(header), 0.32 * (len(rows) + 3)))
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_title(title)
    table = axes.table(cellText=rows, colLabels=header, cellLoc="center", loc="center")
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    table.scale(1.0, 1.3)
    return _save(figure, path)


def table_html(
    path: str | Path, header: Sequence[str], rows: Sequence[Sequence[str]], title: str = ""
) -> Path:
    """Write a table as a page of its own."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    page = (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>\n'
        "<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}"
        "td,th{border:1px solid #999;padding:.3em .7em;text-align:center}</style>\n"
        f"<h1>{escape(title)}</h1>\n<table>\n<tr>{head}</tr>\n{body}\n</table>\n</html>\n"
    )
    return _written(page, path)


def _require(module: str) -> Any:
    """A drawing package, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise TacitError(
            f"drawing needs the package {package}, which is not installed: "
            "install tacit with its extra, tacit[plots]"
        ) from error


def _new_figure(inches: tuple[float, float]) -> Any:
    # The figure class itself: no display, no global state, nothing to close.
    return _require("matplotlib.figure").Figure(figsize=inches, layout="constrained")


def _plotly() -> Any:
    return _require("plotly.graph_objects")


def _label_3d(axes: Any, labels: tuple[str, str, str], title: str) -> None:
    axes.set(xlabel=labels[0], ylabel=labels[1], title=title)
    axes.set_zlabel(labels[2])
    axes.set_box_aspect(None, zoom=0.9)


def _label_scene(figure: Any, labels: tuple[str, str, str], title: str) -> None:
    individual, collusion, value = labels
    scene = {"xaxis_title": collusion, "yaxis_title": individual, "zaxis_title": value}
    figure.update_layout(title=title, scene=scene)


def _save(figure: Any, path: str | Path) -> Path:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=_DPI, bbox_inches="tight", metadata={"Software": None})
    return target


def _save_page(figure: Any, path: str | Path) -> Path:
    page = figure.to_html(
        include_plotlyjs=True, include_mathjax=False, config={"displaylogo": False}
    )
    return _written(page, path)


def _written(page: str, path: str | Path) -> Path:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")
    return target


_BITS_LABEL = "bits about one record (hollow: at most; ∞ at the right edge)"

_WIDEST_NAME = 40


def audit_png(path: str | Path, audit: Audit, title: str = "") -> Path:
    """Write an audit: leakage measures and attack, by coalition; hollow marks are upper bounds.

    What is infinite is drawn at the right edge, with the sign ∞ beside it.
    """
    figure = _new_figure((11.0, 1.6 + 0.32 * len(audit.findings)))
    bits, chances = figure.subplots(1, 2, sharey=True)
    rows = np.arange(len(audit.findings))
    for number, measure in enumerate(_drawn()):
        fill = [f"C{number}" if f.exposure.is_exact else "none" for f in audit.findings]
        values, is_infinite = _bits_of(audit, measure)
        bits.scatter(values, rows, c=fill, edgecolors=f"C{number}", label=measure.words, zorder=3)
        for row in rows[is_infinite]:
            bits.annotate("∞", (values[row], row), xytext=(6, -4), textcoords="offset points")
    for mark, label, values in _chances_of(audit):
        chances.plot(values, rows, mark, fillstyle="none", linestyle="", label=label)
    chances.hlines(rows, *np.transpose([_interval(f) for f in audit.findings]), color="k")
    bits.set_yticks(rows, _names_of(audit))
    bits.invert_yaxis()
    bits.set(xlabel=_BITS_LABEL, xlim=(0, None))
    chances.set(xlabel="chance that one guess is right, and interval", xlim=(0, None))
    for axes in (bits, chances):
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.suptitle(title)
    return _save(figure, path)


def audit_html(path: str | Path, audit: Audit, title: str = "") -> Path:
    """Write an audit as an interactive page; what is infinite is drawn as in ``audit_png``."""
    graph_objects = _plotly()
    figure = import_module("plotly.subplots").make_subplots(rows=1, cols=2, shared_yaxes=True)
    names = _names_of(audit)
    shape = ["circle" if f.exposure.is_exact else "circle-open" for f in audit.findings]
    for measure in _drawn():
        values, is_infinite = _bits_of(audit, measure)
        dots = graph_objects.Scatter(
            x=values,
            y=names,
            name=measure.words,
            mode="markers+text",
            text=np.where(is_infinite, "∞", ""),
            textposition="middle right",
            customdata=np.where(is_infinite, "∞", np.round(values, 4).astype(str)),
            hovertemplate="%{y}: %{customdata} bits",
            marker={"symbol": shape, "size": 9},
        )
        figure.add_trace(dots, row=1, col=1)
    for _, label, values in _chances_of(audit):
        dots = graph_objects.Scatter(x=values, y=names, name=label, mode="markers")
        if label == "observed":
            low, high = np.transpose([_interval(f) for f in audit.findings])
            dots.error_x = {"array": high - values, "arrayminus": values - low, "symmetric": False}
        figure.add_trace(dots, row=1, col=2)
    figure.update_xaxes(title=_BITS_LABEL, col=1)
    figure.update_xaxes(title="chance that one guess is right, and interval", col=2)
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(title=title, height=240 + 26 * len(names))
    return _save_page(figure, path)


def _names_of(audit: Audit) -> list[str]:
    """What stands beside each row; long names are cut, and numbered to stay apart."""
    return [
        name if len(name) <= _WIDEST_NAME else f"{name[:_WIDEST_NAME]}… ({number})"
        for number, name in enumerate((finding.name for finding in audit.findings), start=1)
    ]


def _drawn() -> list[LeakageMeasure]:
    return [each for each in MEASURES.values() if each.is_drawn and each.unit is Unit.BITS]


def _bits_of(audit: Audit, measure: LeakageMeasure) -> tuple[Array, NDArray[np.bool_]]:
    """Where one measure of every finding is drawn, and which of them are infinite."""
    figures = [finding.exposure.figures for finding in audit.findings]
    measured = np.array([[each[drawn.name] for drawn in _drawn()] for each in figures])
    edge = 1.15 * max(1.0, float(np.where(np.isinf(measured), 0.0, measured).max()))
    own = np.array([each[measure.name] for each in figures])
    return np.where(np.isinf(own), edge, own), np.isinf(own)


def _chances_of(audit: Audit) -> list[tuple[str, str, Array]]:
    """Mark, label and chances of a right guess."""
    findings = audit.findings
    return [
        ("|k", "before", np.array([f.exposure.guess_before for f in findings])),
        ("oC0", "predicted, or at most", np.array([f.exposure.guess_after for f in findings])),
        (".k", "observed", np.array([f.attack.observed for f in findings])),
    ]


def _interval(finding: Finding) -> tuple[float, float]:
    return finding.attack.low, finding.attack.high
