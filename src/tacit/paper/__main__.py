"""``python -m tacit.paper --out DIR``: what ``tacit reproduce`` makes, without Typer and Rich."""

from __future__ import annotations

import argparse
from pathlib import Path

from tacit.errors import TacitError
from tacit.paper.reproduce import reproduce


def main(arguments: list[str] | None = None) -> int:
    """Make everything from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tacit.paper", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="folder to fill")
    options = parser.parse_args(arguments)
    try:
        reproduce(options.out, lambda line: print(line, flush=True))
    except TacitError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
