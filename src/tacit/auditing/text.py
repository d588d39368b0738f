"""The audit as plain text that fits 80 columns; long names stand on lines of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isinf
from unicodedata import combining, east_asian_width

from tacit.auditing.finding import Finding
from tacit.auditing.inference import Inference
from tacit.information.laws import times_in_words
from tacit.information.measures import MEASURES, AuditTable, LeakageMeasure, Unit

WIDTH = 80
"""Columns of a terminal that everybody has."""

_WIDEST_NAME = 20
"""Columns; a longer name stands above its figures."""

_INDENT = "  "

_MOST_VARIABLES = 4
"""Variables shown of one coalition, those that it learned most about; JSON has all."""

_NEWS_GAIN, _NEWS_TIMES = 5e-5, 1.1
"""A variable whose guess gains less, and whose levels become less likelier, is not shown."""


def inference_in_words(finding: Finding, told: Inference) -> str:
    """The strongest inference, in a sentence."""
    who, exposure = finding.name, told.exposure
    if told.gain < _NEWS_GAIN:
        worst = max(finding.told, key=lambda each: each.times_as_likely)
        nothing = "Nothing can be guessed better than by the public counts"
        if worst.exposure.pointwise_max < _NEWS_GAIN:
            return f"{nothing}, and no answer makes a level likelier."
        return (
            f"{nothing}; the worst single answer to {who} makes a level {_times(worst)} as likely."
        )
    most = "" if exposure.is_exact else "at most "
    return (
        f"The strongest inference: {who} can guess {told.about} right for "
        f"{most}{_percent_up(exposure.guess_after)} of 100 records "
        f"({_percent_up(exposure.guess_before)} before)."
    )


def risk_in_words(told: Sequence[Inference], times: float | None) -> str:
    """The variable whose guesses gain most, the whole record and the worst answer, in a line.

    Args:
        told: about every variable, and last about the whole record.
        times: that the worst answer may reach; ``None`` for no limit.
    """
    *variables, whole = told
    most = sorted(variables, key=_by_gain)[:1]
    chances = [f"chance to guess {each.about} right: {_growth(each)}" for each in most]
    worst = max(told, key=lambda each: each.times_as_likely)
    capped = "" if times is None else f", limited to {times:,.12g}"
    return "; ".join(
        [
            *chances,
            f"whole combination: {_growth(whole)}",
            f"worst single answer: {_times(worst)} as likely{capped}",
        ]
    )


def other_lines(told: Sequence[Inference]) -> list[str]:
    """What can be told about the other variables that an answer changes, a line each.

    The argument is that of ``risk_in_words``, which says the first of them.
    """
    others = list(filter(_is_news, sorted(told[:-1], key=_by_gain)[1:]))
    # A line that says that there is one more would be as long as the one that names it.
    shown = others if len(others) == _MOST_VARIABLES + 1 else others[:_MOST_VARIABLES]
    lines = [f"{each.about}: {_growth(each)}; worst answer {_times(each)}" for each in shown]
    more = len(others) - len(shown)
    return lines + [f"{more} more variables are told, too"] * (more > 0)


def _by_gain(told: Inference) -> float:
    """The largest gain first; gains that differ by rounding only are equal."""
    return -round(told.gain, 9)


def _growth(told: Inference) -> str:
    exposure, most = told.exposure, "" if told.exposure.is_exact else "at most "
    before, after = _percent_up(exposure.guess_before), _percent_up(exposure.guess_after)
    return f"{before} -> {most}{after} of 100"


def _times(told: Inference) -> str:
    """How many times as likely, rounded up."""
    return f"{_mark(told)}{times_in_words(max(0.0, told.exposure.pointwise_max))} times"


def guess_lines(findings: Sequence[Finding]) -> list[str]:
    """The table of what can be guessed about each variable; none where no variable is named."""
    if not any(finding.inferences for finding in findings):
        return []
    heads = [("", "guessed right, of 100"), ("", "before"), ("", "after"), ("worst", "answer")]
    rows: list[Sequence[str]] = []
    for finding in findings:
        shown = sorted(filter(_is_news, finding.inferences), key=_by_gain)
        rows.append([finding.name, *[""] * (len(heads) - 1)])
        rows += [guess_row(told) for told in (*shown[:_MOST_VARIABLES], finding.told[-1])]
    return [
        *wrap(
            "Records whose level is guessed right, of 100, and how many times as likely the most "
            "telling answers make a level:"
        ),
        *_table(heads, rows),
        "",
    ]


def _is_news(told: Inference) -> bool:
    """Whether the coalition learned anything about a variable that is worth a line."""
    return told.gain >= _NEWS_GAIN or told.times_as_likely >= _NEWS_TIMES


def guess_row(told: Inference) -> list[str]:
    """Name, chances before and after, and worst answer."""
    return [f"{_INDENT}{told.about}", *_chances(told), _times(told)]


def _chances(of: Finding | Inference) -> tuple[str, str]:
    """Of a right guess, before and after."""
    before, after = of.exposure.guess_before, of.exposure.guess_after
    return _percent_up(before), _mark(of) + _percent_up(after)


def average_lines(findings: Sequence[Finding]) -> list[str]:
    """The table of what is learned on average."""
    first, *others = _columns(AuditTable.AVERAGE)  # the limits are on the first
    heads = [("", "who"), ("", "limit"), first.heading, ("", "simulated")]
    rows = [
        [
            finding.name,
            _limit(finding.limit_bits),
            _figure(finding, first),
            f"{finding.attack.simulated_bits:.4f}",
            *(_figure(finding, measure) for measure in others),
        ]
        for finding in findings
    ]
    return _table([*heads, *(measure.heading for measure in others)], rows)


def worst_lines(findings: Sequence[Finding]) -> list[str]:
    """The table of what single answers tell, and of the worst case."""
    measures = _columns(AuditTable.WORST)
    heads = [("", "who"), *(measure.heading for measure in measures)]
    return _table(heads, [[each.name, *(_figure(each, m) for m in measures)] for each in findings])


def _columns(table: AuditTable) -> list[LeakageMeasure]:
    return [measure for measure in MEASURES.values() if measure.table is table]


def _figure(finding: Finding, measure: LeakageMeasure) -> str:
    """A figure, rounded up, and marked where it is a bound."""
    figure = finding.exposure.figures[measure.name]
    if measure.unit is Unit.CHANCE:
        return f"{_mark(finding)}{_percent_up(figure)} %"
    return figure_up(figure, _mark(finding))


def attack_lines(findings: Sequence[Finding]) -> list[str]:
    """The table of attacks; chances in per cent."""
    heads = ["who", "before", "after", "observed", "from", "to", "records", "verdict"]
    rows = []
    for finding in findings:
        attack = finding.attack
        agrees, differs = ("within", "ABOVE") if attack.is_bound else ("agrees", "DIFFERS")
        rows.append(
            [
                finding.name,
                *_chances(finding),
                f"{100 * attack.observed:.2f}",
                f"{floor(attack.low * 1e4) / 100:.2f}",
                _percent_up(attack.high),
                f"{attack.records:,}",
                agrees if attack.is_consistent else differs,
            ]
        )
    return _table([("", head) for head in heads], rows)


def _mark(of: Finding | Inference) -> str:
    return "" if of.exposure.is_exact else "≤"


def _limit(bits: float | None) -> str:
    if bits is None:
        return "-"
    return "∞" if isinf(bits) else f"{bits:g}"


def _table(heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> list[str]:
    """A heading of two lines and rows, names to the left and figures to the right.

    A name that is too wide for its column stands above its figures.
    """
    heading = [row for row in zip(*heads, strict=True) if any(row)]
    fits = [row for row in rows if width_of(row[0]) <= _WIDEST_NAME]
    first = max(width_of(row[0]) for row in (*heading, *fits))
    others = list(zip(*(row[1:] for row in (*heading, *rows)), strict=True))
    widths = [max(map(width_of, column)) for column in others]
    lines: list[str] = []
    for name, *figures in (*heading, *rows):
        if width_of(name) > first:
            lines += wrap(name, _INDENT, name[: len(name) - len(name.lstrip())])
            name = ""
        cells = [
            " " * (width - width_of(cell)) + cell
            for cell, width in zip(figures, widths, strict=True)
        ]
        lines.append("  ".join([name + " " * (first - width_of(name)), *cells]).rstrip())
    return lines


def wrap(text: str, indent: str = "", start: str = "") -> list[str]:
    """A text in lines of at most ``WIDTH`` columns, all but the first indented.

    The first begins with ``start``.

    Lines are broken at blanks; only a word that is wider than a line is broken itself.
    """
    lines = [start]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if width_of(joined) <= WIDTH:
            lines[-1] = joined
        else:
            lines += [indent + piece for piece in _pieces(word, WIDTH - len(indent))]
    return [line for line in lines if line.strip()]


def _pieces(word: str, width: int) -> list[str]:
    """A word cut into pieces of at most so many columns."""
    pieces = [""]
    for sign in word:
        if width_of(pieces[-1] + sign) > width:
            pieces.append("")
        pieces[-1] += sign
    return pieces


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal: two for a wide sign, none for an accent."""
    return sum(
        0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text
    )


def figure_up(bits: float, mark: str = "") -> str:
    """Four decimals, never below the figure by more than double precision."""
    return "∞" if isinf(bits) else f"{mark}{max(0, _ceiling(bits)) / 1e4:.4f}"


def _percent_up(chance: float) -> str:
    return f"{_ceiling(chance) / 100:.2f}"


def _ceiling(figure: float) -> int:
    """The least number of ten-thousandths that the figure does not exceed by more than rounding."""
    return ceil(figure * 1e4 - 1e-6)
