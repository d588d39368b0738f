"""Pages that leave a study: one file each that opens offline, on a phone, in the dark, on paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil, log2
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from tacit.information.laws import bits_up, limit_in_words, times_in_words
from tacit.study.reports.receipts import (
    measure_in_words,
    remark_in_words,
    time_in_words,
    value_in_units,
)

NEARLY_FULL = 80.0
"""Per cent of a limit from which on a bar warns."""

_NAME_SIGNS = 18
"""Longer labels are cut in a picture; its title has them whole."""

_CELL, _ROW, _LEFT, _TOP, _RIGHT = 62, 34, 150, 80, 116
"""Units of the picture: a cell, a row, and room for labels."""

_ESCAPED = {sign: f"\\u{ord(sign):04x}" for sign in "<>&"}
"""Signs that could end, or begin, an element of the page that JSON stands in."""


def render(template: str, **context: Any) -> str:
    """A page from one of the templates."""
    return _environment().get_template(template).render(**context)


@cache
def _environment() -> Environment:
    """Made once: compiling a template takes longer than filling it."""
    made = Environment(loader=PackageLoader("tacit.study"), autoescape=True, trim_blocks=True)
    made.filters |= {
        "bits_up": bits_up,
        "chance_up": chance_up,
        "first_up": lambda text: text[:1].upper() + text[1:],
        "fullness": fullness,
        "judged": measure_in_words,
        "in_units": lambda value, kind: value_in_units(kind, value),
        "limit": limit_in_words,
        "remark": remark_in_words,
        "time": time_in_words,
        "times": times_in_words,
        "times_up": times_up,
    }
    made.globals |= {"draw_bar": draw_bar, "draw_channel": draw_channel}
    return made


def json_inside(text: str) -> str:
    """JSON that can stand inside an element of a page."""
    return "".join(_ESCAPED.get(sign, sign) for sign in text)


def chance_up(chance: float) -> str:
    """A chance in records of 100, rounded up to one decimal."""
    return f"{ceil(1000 * chance - 1e-6) / 10:.1f}"


def times_up(times: float) -> str:
    """How many times as likely, rounded up, as in words."""
    return times_in_words(log2(times))


def fullness(percent: float) -> str:
    """How a bar is coloured: ``full``, ``nearly`` full, or neither."""
    if percent >= 100:
        return "full"
    return "nearly" if percent >= NEARLY_FULL else ""


def draw_bar(percent: float) -> Markup:
    """A bar of bits used of a limit, with its per cent in words for readers of the screen."""
    kind = f"bar {fullness(percent)}".strip()
    label = f"{percent:.0f} % of the limit"
    return Markup(
        f'<div class="{kind}" role="img" aria-label="{label}">'
        f'<div style="width: {percent:.1f}%"></div></div>'
    )


def draw_channel(
    labels: Sequence[str], letters: Sequence[str], law: Sequence[Sequence[float]]
) -> Markup:
    """p(answer | truth) as a picture: a row for each true level, a column for each answer.

    Args:
        labels: true levels.
        letters: answers.
        law: [level, answer].
    """
    width, height = _LEFT + _CELL * len(letters) + _RIGHT, _TOP + _ROW * len(labels) + 8
    parts = [_heading(letter, column) for column, letter in enumerate(letters)]
    for row, (label, shares) in enumerate(zip(labels, law, strict=True)):
        y = _TOP + _ROW * row
        parts.append(_text(label, _LEFT - 10, y + 22, "end"))
        parts += [_cell(share, column, y) for column, share in enumerate(shares)]
    title = Markup("<title>Of 100 records with the level at the left, so many get the answer above")
    return Markup(
        '<svg class="channel" role="img" viewBox="0 0 {w} {h}" width="{w}" height="{h}">'
        "{title}</title>{body}</svg>"
    ).format(w=width, h=height, title=title, body=Markup("").join(parts))


def _heading(letter: str, column: int) -> Markup:
    x, y = _LEFT + _CELL * column + _CELL // 2 - 8, _TOP - 12
    turned = Markup('<g transform="rotate(-28 {x} {y})">{text}</g>')
    return turned.format(x=x, y=y, text=_text(letter, x, y, "start"))


def _text(text: str, x: int, y: int, anchor: str) -> Markup:
    cut = text if len(text) <= _NAME_SIGNS else f"{text[: _NAME_SIGNS - 1]}…"
    return Markup('<text x="{}" y="{}" text-anchor="{}">{}<title>{}</title></text>').format(
        x, y, anchor, cut, text
    )


def _cell(share: float, column: int, y: int) -> Markup:
    x, shown = _LEFT + _CELL * column, f"{100 * share:.1f}" if share else "0"
    box = Markup('<rect x="{}" y="{}" width="{}" height="{}" rx="4" fill-opacity="{:.3f}"/>')
    number = Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>')
    return box.format(x, y, _CELL - 4, _ROW - 4, 0.05 + 0.65 * share) + number.format(
        x + _CELL // 2 - 2, y + 20, shown
    )
