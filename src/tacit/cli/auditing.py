"""How an audit looks: the whole text, or its main columns where a terminal is too narrow."""

from __future__ import annotations

import sys
from math import isinf
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from tacit.cli.showing import show_rows

if TYPE_CHECKING:
    from tacit.auditing import Audit
    from tacit.auditing.finding import Finding


def show_audit(found: Audit) -> None:
    """An audit for people."""
    text = found.as_text()
    if not sys.stdout.isatty() or max(map(len, text.splitlines())) <= get_terminal_size().columns:
        print(text)
        return
    heading = ("leakage, bits", "limit", "mutual", "maximal", "worst", "guess right", "observed")
    show_rows(heading, [_row(finding) for finding in found.findings])
    print("worst: pointwise maximal. guess right: chance of one guess, before and after.")
    print("A terminal of 100 columns, or --json, shows all measures.")
    print(text.splitlines()[-1])


def _row(finding: Finding) -> tuple[str, ...]:
    from tacit.study.wording import bits_up, limit_in_words

    exposure, attack = finding.exposure, finding.attack
    mark = "" if exposure.is_exact else "≤"
    return (
        finding.name,
        "-" if finding.limit_bits is None else limit_in_words(finding.limit_bits),
        mark + bits_up(exposure.mutual_information),
        mark + bits_up(exposure.maximal_leakage),
        "∞" if isinf(exposure.pointwise_max) else mark + bits_up(exposure.pointwise_max),
        f"{exposure.guess_before:.1%} {mark}{bits_up(100 * exposure.guess_after, 1)}%",
        f"{attack.observed:.1%}",
    )
