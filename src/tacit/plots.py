"""Figures, drawn by Matplotlib.

Every function returns its figure, and writes it to a file if given a path, whose suffix sets the
format (PNG, PDF, SVG). Matplotlib comes with the extra ``plots`` and is imported when a figure is
drawn, not before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.auditing import Audit, Finding
from tacit.errors import InvalidInputError, TacitError
from tacit.information.measures import MEASURES, LeakageMeasure, Unit
from tacit.tradeoff import Surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Panels: TypeAlias = Mapping[str, Mapping[str, Array]]
"""What is drawn side by side: panel -> name -> points [n, 2]."""

LIMITS = ("individual limit ε (bits)", "collusion limit δ (bits)")
LEAKAGES = ("I(R̂; X), bits", "I(R̂, Z; X), bits")

_DPI = 110
_SETTINGS = Lock()
_DASHES = ("-", "--", ":", "-.")


def utility_label(surface: Surface) -> str:
    """Name of what a surface shows."""
    is_information = surface.problem.is_information
    return "most information I(ε, δ), bits" if is_information else "least distortion D(ε, δ)"


def surface_figure(surface: Surface, title: str = "", *, path: str | Path | None = None) -> Figure:
    """A trade-off surface in 3-D."""
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
    return _saved(figure, path)


def points_figure(
    clouds: Mapping[str, Array], label: str, title: str = "", *, path: str | Path | None = None
) -> Figure:
    """Clouds of points (leakages, utility), name -> [n, 3], in 3-D side by side."""
    figure = _new_figure((5.2 * len(clouds), 4.6))
    for index, (name, cloud) in enumerate(clouds.items(), start=1):
        axes = figure.add_subplot(1, len(clouds), index, projection="3d")
        axes.scatter(*cloud.T, c=cloud[:, 2], cmap="viridis", s=5, depthshade=False)
        _label_3d(axes, (*LEAKAGES, label), name)
        axes.view_init(elev=25, azim=-25)
    figure.suptitle(title)
    return _saved(figure, path)


def curves_figure(
    panels: Panels, x_label: str, title: str = "", *, path: str | Path | None = None
) -> Figure:
    """Panels of curves, panel -> name -> [n, 2], side by side.

    A panel whose values are all positive and span more than a factor 100 gets a logarithmic axis.
    """
    figure = _new_figure((5.2 * len(panels), 3.8))
    for axes, curves in _side_by_side(figure, panels):
        for name, curve in curves.items():
            axes.plot(*curve.T, label=name)
        axes.set(xscale="log", yscale=_scale(curves), xlabel=x_label)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(title)
    return _saved(figure, path)


def bars_and_lines_figure(
    panels: Panels,
    ticks: Sequence[str],
    labels: tuple[str, str],
    title: str = "",
    *,
    path: str | Path | None = None,
) -> Figure:
    """Panels, panel -> name -> [n, 2], side by side: first column bars, second column a line.

    Args:
        panels: what to show; a name has the same colour in all panels.
        ticks: names of the n groups of bars.
        labels: of the bars' axis and of the lines' axis.
        title: above all panels.
        path: file to write, if any.
    """
    figure = _new_figure((4.6 * len(panels), 3.8))
    for axes, series in _side_by_side(figure, panels, sharey=True):
        lines = axes.twinx()
        width = 0.8 / len(series)
        for number, (name, values) in enumerate(series.items()):
            at = np.arange(len(values)) + width * (number - (len(series) - 1) / 2)
            axes.bar(at, values[:, 0], width, color=f"C{number}", alpha=0.45, label=name)
            lines.plot(np.arange(len(values)), values[:, 1], f"C{number}o-", label=name)
        axes.set(xlabel="request", ylabel=labels[0])
        axes.set_xticks(np.arange(len(ticks)), ticks, fontsize="small")
        lines.set(ylabel=labels[1], ylim=(0, 1.05 * _largest(panels)))
        lines.legend(loc="upper left")
    figure.suptitle(title)
    return _saved(figure, path)


def _largest(panels: Panels) -> float:
    """The greatest value of the lines; all panels share this scale."""
    return max(
        float(values[:, 1].max()) for series in panels.values() for values in series.values()
    )


def tradeoff_curves_figure(
    panels: Panels, labels: tuple[str, str], title: str = "", *, path: str | Path | None = None
) -> Figure:
    """Panels of curves, panel -> name -> [n, 2], on linear axes.

    Later curves are thinner and dashed, so that all curves are visible where they coincide.
    """
    figure = _new_figure((5.6 * len(panels), 4.0))
    for axes, curves in _side_by_side(figure, panels):
        for number, (name, curve) in enumerate(curves.items()):
            dash = _DASHES[number % len(_DASHES)]
            axes.plot(*curve.T, dash, label=name, linewidth=max(1.2, 5.0 - 1.4 * number))
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(title)
    return _saved(figure, path)


def _scale(curves: Mapping[str, Array]) -> str:
    values = np.concatenate([curve[:, 1] for curve in curves.values()])
    is_wide = bool((values > 0).all()) and values.max() > 100 * values.min()
    return "log" if is_wide else "linear"


def table_figure(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str = "",
    *,
    path: str | Path | None = None,
) -> Figure:
    """A table as a picture."""
    figure = _new_figure((1.1 * len(header), 0.32 * (len(rows) + 3)))
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_title(title)
    table = axes.table(cellText=rows, colLabels=header, cellLoc="center", loc="center")
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    table.scale(1.0, 1.3)
    return _saved(figure, path)


def _new_figure(inches: tuple[float, float]) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TacitError(
            "drawing needs the package matplotlib, which is not installed: "
            "install tacit with its extra, tacit[plots]"
        ) from error
    # The figure class itself: no display, no global state, nothing to close.
    return Figure(figsize=inches, layout="constrained")


def _side_by_side(figure: Any, panels: Panels, *, sharey: bool = False) -> Iterator[Any]:
    """(axes with the panel's title, what the panel shows) of every panel."""
    row = figure.subplots(1, len(panels), squeeze=False, sharey=sharey)[0]
    for axes, (panel, shown) in zip(row, panels.items(), strict=True):
        axes.set_title(panel)
        # Shared scales, but labels at every panel.
        axes.tick_params(labelleft=True)
        yield axes, shown


def _label_3d(axes: Any, labels: tuple[str, str, str], title: str) -> None:
    axes.set(xlabel=labels[0], ylabel=labels[1], title=title)
    axes.set_zlabel(labels[2])
    axes.set_box_aspect(None, zoom=0.9)


def svg_of(figure: Figure) -> str:
    """The figure as SVG whose text is text; the same figure is the same SVG, byte for byte."""
    from matplotlib import rc_context

    drawn = StringIO()
    # Settings of Matplotlib are the whole process's: one thread at a time changes them.
    with _SETTINGS, rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit"}):
        figure.savefig(
            drawn, format="svg", bbox_inches="tight", metadata={"Creator": None, "Date": None}
        )
    return drawn.getvalue()


def _saved(figure: Figure, path: str | Path | None) -> Figure:
    """The figure; written to a file first, if one is given."""
    if path is None:
        return figure
    target = _with_folder(path, figure.canvas.get_supported_filetypes())
    if target.suffix == ".svg":
        target.write_text(svg_of(figure), encoding="utf-8")
    else:
        metadata = {"Software": None} if target.suffix == ".png" else None
        figure.savefig(target, dpi=_DPI, bbox_inches="tight", metadata=metadata)
    return figure


def _with_folder(path: str | Path, formats: Collection[str]) -> Path:
    """The path, if its suffix is one of the formats; its folder is made if it does not exist."""
    target = Path(path)
    if target.suffix.lower().removeprefix(".") not in formats:
        works = ", ".join(f".{each}" for each in sorted(formats))
        raise InvalidInputError(f"{target} cannot be drawn: give a name that ends in {works}")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


_BITS_LABEL = "bits about one record (hollow: at most; ∞ at the right edge)"

_WIDEST_NAME = 40


def audit_figure(audit: Audit, title: str = "", *, path: str | Path | None = None) -> Figure:
    """An audit: leakage measures and attack for each coalition; hollow marks are upper bounds.

    Infinite values are drawn at the right edge, with the sign ∞ beside them.
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
    return _saved(figure, path)


def _names_of(audit: Audit) -> list[str]:
    """Label of each row; long names are cut, and numbered to keep them different."""
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
