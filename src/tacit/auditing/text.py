"""The audit as aligned plain text."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isinf

from tacit.auditing.finding import Finding
from tacit.auditing.measures import QUANTILES

_WIDEST_NAME = 28


def measure_lines(findings: Sequence[Finding]) -> list[str]:
    """The table of leakage measures."""
    quantiles = [f"{100 * quantile:g} %" for quantile in QUANTILES]
    heads = [
        ("", "who"),
        ("", "limit"),
        ("mutual", "inform."),
        ("min-", "entropy"),
        ("", "maximal"),
        *zip(["pointw.", "maximal", "leakage"], quantiles, strict=True),
        ("", "max"),
        ("local-", "DP ε"),
    ]
    rows = [*zip(*heads, strict=True), *map(_measures_row, findings)]
    return _table(rows, "<" + ">" * (len(heads) - 1))


def _measures_row(finding: Finding) -> Sequence[str]:
    exposure = finding.exposure
    bits = [
        exposure.mutual_information,
        exposure.min_entropy_leakage,
        exposure.maximal_leakage,
        *exposure.pointwise_quantiles.values(),
        exposure.pointwise_max,
        exposure.local_dp_epsilon,
    ]
    mark = "" if exposure.is_exact else "≤"
    limit = "-" if finding.limit_bits is None else f"{finding.limit_bits:g}"
    return [_short(finding.name), limit, *(_rounded_up(value, mark) for value in bits)]


def attack_lines(findings: Sequence[Finding]) -> list[str]:
    """The table of attacks."""
    head = ["who", "before", "after", "observed", "from", "to", "records", "sim. bits", "verdict"]
    return _table([head, *map(_attack_row, findings)], "<>>>>>>><")


def _attack_row(finding: Finding) -> Sequence[str]:
    exposure, attack = finding.exposure, finding.attack
    if attack.is_bound:
        verdict = "within the bound" if attack.is_consistent else "ABOVE THE BOUND"
    else:
        verdict = "as predicted" if attack.is_consistent else "NOT AS PREDICTED"
    return [
        _short(finding.name),
        _percent(exposure.guess_before),
        ("≤" if attack.is_bound else "") + _percent_up(exposure.guess_after),
        _percent(attack.observed),
        _percent_down(attack.low),
        _percent_up(attack.high),
        f"{attack.records}",
        f"{attack.simulated_bits:.4f}",
        verdict,
    ]


def _table(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Rows aligned by column, ``<`` to the left or ``>`` to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{side}{width}}"
            for cell, side, width in zip(row, alignment, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _rounded_up(bits: float, mark: str) -> str:
    """Four decimals, never below the figure by more than double precision."""
    return "∞" if isinf(bits) else f"{mark}{max(0, _ceiling(bits)) / 1e4:.4f}"


def _percent(chance: float) -> str:
    return f"{100 * chance:.2f} %"


def _percent_up(chance: float) -> str:
    return f"{_ceiling(chance) / 100:.2f} %"


def _percent_down(chance: float) -> str:
    return f"{floor(chance * 1e4) / 100:.2f} %"


def _ceiling(figure: float) -> int:
    """The least number of ten-thousandths that the figure does not exceed by more than rounding."""
    return ceil(figure * 1e4 - 1e-6)


def _short(name: str) -> str:
    return name if len(name) <= _WIDEST_NAME else f"{name[: _WIDEST_NAME - 1]}…"
