"""Everything in the paper, made into a folder: tables, figures, and a report on every claim."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any

from tacit.paper.claim import Claim
from tacit.paper.claims import check_claims
from tacit.paper.fig3 import draw_fig3, fig3
from tacit.paper.fig4 import draw_fig4, fig4
from tacit.paper.fig5 import draw_fig5, fig5
from tacit.paper.fig6 import draw_fig6, fig6
from tacit.paper.fig7_8 import draw_fig7, draw_fig8, draw_squared, fig7_8, squared_variant
from tacit.paper.tables import draw_table1, draw_table2

PARTS: dict[str, Callable[[Path], list[Path]]] = {
    "Table I": draw_table1,
    "Table II": draw_table2,
    "Fig. 3": lambda out: draw_fig3(out, fig3()),
    "Fig. 4": lambda out: draw_fig4(out, fig4()),
    "Fig. 5": lambda out: draw_fig5(out, fig5()),
    "Fig. 6": lambda out: draw_fig6(out, fig6()),
    "Fig. 7": lambda out: draw_fig7(out, fig7_8()),
    "Fig. 8": lambda out: draw_fig8(out, fig7_8()),
    "Fig. 7 with squared distortion": lambda out: draw_squared(out, squared_variant()),
}
"""Name -> what draws it into a folder. Figs. 1 and 2 are diagrams without numbers."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was made and what was found.

    Attributes:
        claims: every claim, in the paper's order.
        files: name of a part -> the files made for it.
        seconds: what all of it took.
    """

    claims: tuple[Claim, ...]
    files: dict[str, list[Path]]
    seconds: float

    @property
    def n_holding(self) -> int:
        """How many claims hold as stated."""
        return sum(claim.holds for claim in self.claims)


def reproduce(out: Path, say: Callable[[str], None] = print) -> Report:
    """Make every part and the report into ``out``, with a line of progress for each."""
    out.mkdir(parents=True, exist_ok=True)
    began = perf_counter()
    n_parts = len(PARTS) + 1
    files: dict[str, list[Path]] = {}
    for index, (name, make) in enumerate(PARTS.items(), start=1):
        started = perf_counter()
        files[name] = make(out)
        names = ", ".join(path.name for path in files[name])
        say(f"[{index}/{n_parts}] {name}: {names} ({perf_counter() - started:.1f} s)")
    started = perf_counter()
    report = Report(check_claims(), files, perf_counter() - began)
    (out / "report.md").write_text(as_markdown(report), encoding="utf-8")
    text = json.dumps(as_json(report), indent=2, ensure_ascii=False)
    (out / "report.json").write_text(text + "\n", encoding="utf-8")
    seconds = perf_counter() - started
    say(f"[{n_parts}/{n_parts}] claims: report.md, report.json ({seconds:.1f} s)")
    return report


def verdict(claim: Claim) -> str:
    """How a claim fared, for people."""
    return "holds" if claim.holds else "does not hold"


def as_json(report: Report) -> dict[str, Any]:
    """The report for machines; files by name, relative to the report."""
    return {
        "tacit": version("tacit"),
        "paper": "arXiv:2601.21859",
        "claims": [asdict(claim) for claim in report.claims],
        "claims_that_hold": report.n_holding,
        "claims_that_do_not": len(report.claims) - report.n_holding,
        "files": {name: [path.name for path in made] for name, made in report.files.items()},
        "seconds": round(report.seconds, 1),
    }


def as_markdown(report: Report) -> str:
    """The report for people: verdicts first, then the figures."""
    n_failing = len(report.claims) - report.n_holding
    lines = [
        "# The claims of the paper, tested",
        "",
        "[TVC] is Taylor, Vippathalla and Coon, *Adaptive Privacy of Sequential Data Releases",
        "Under Collusion*, arXiv:2601.21859. A claim that does not hold fails as stated: the",
        "evidence says under which condition it does.",
        "",
        f"{report.n_holding} hold, {n_failing} do not (tacit {version('tacit')}).",
    ]
    for section, claims in groupby(report.claims, key=lambda claim: claim.section):
        lines += ["", f"## Section {section}", ""]
        lines += [f"- **{verdict(claim)}**: {claim.text}. {claim.evidence}." for claim in claims]
    lines += ["", "## Tables and figures"]
    for name, made in report.files.items():
        lines += ["", f"### {name}", ""]
        lines += [_link(name, path) for path in made]
    return "\n".join(lines) + "\n"


def _link(name: str, path: Path) -> str:
    is_picture = path.suffix == ".png"
    return f"![{name}]({path.name})\n" if is_picture else f"[{path.name}]({path.name})"
