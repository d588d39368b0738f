"""``python -m tacit.paper --out DIR``: every table, figure and claim of the paper into a folder."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

from tacit.errors import TacitError
from tacit.paper.claims import check_claims, claims_text
from tacit.paper.fig3 import draw_fig3, fig3
from tacit.paper.fig4 import draw_fig4, fig4
from tacit.paper.fig5 import draw_fig5, fig5
from tacit.paper.table2 import table2_text


def _table2(out: Path) -> list[Path]:
    return [_written(out / "table2.txt", table2_text() + "\n")]


def _claims(out: Path) -> list[Path]:
    claims = check_claims()
    rows = json.dumps([asdict(claim) for claim in claims], indent=2, ensure_ascii=False)
    return [
        _written(out / "claims.txt", claims_text(claims) + "\n"),
        _written(out / "claims.json", rows + "\n"),
    ]


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


PARTS: dict[str, Callable[[Path], list[Path]]] = {
    "Table II": _table2,
    "Fig. 3": lambda out: draw_fig3(out, fig3()),
    "Fig. 4": lambda out: draw_fig4(out, fig4()),
    "Fig. 5": lambda out: draw_fig5(out, fig5()),
    "claims": _claims,
}


def make_all(out: Path, report: Callable[[str], None] = print) -> list[Path]:
    """Make every part, with a line of progress for each."""
    out.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for index, (name, make) in enumerate(PARTS.items(), start=1):
        began = perf_counter()
        made = make(out)
        files += made
        names = ", ".join(path.name for path in made)
        report(f"[{index}/{len(PARTS)}] {name}: {names} ({perf_counter() - began:.1f} s)")
    return files


def main(arguments: list[str] | None = None) -> int:
    """Make everything from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tacit.paper", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="folder to fill")
    options = parser.parse_args(arguments)
    try:
        make_all(options.out, lambda line: print(line, flush=True))
    except TacitError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
