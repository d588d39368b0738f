"""Print the lowest version of every package that tacit needs, as constraints for pip.

``make lowest`` installs exactly these and runs the tests on them, so that the lower bounds in
pyproject.toml are versions that work.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
FOR_DEVELOPERS = ("docs", "test", "dev")
"""Extras of tools, which are tested at their newest only."""


def lowest_versions(text: str) -> Iterator[str]:
    """``name==version`` for each ``name>=version`` of pyproject.toml; a bound is given once."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    lines = {
        line
        for needed in (
            project["dependencies"],
            *(lines for extra, lines in extras.items() if extra not in FOR_DEVELOPERS),
        )
        for line in needed
        if not line.startswith("tacit[")
    }
    for line in sorted(lines):
        found = re.fullmatch(r"([a-z0-9-]+)(?:\[[a-z]+\])?>=([0-9.]+)(?:,<[0-9.]+)?", line)
        if found is None:
            raise SystemExit(f"pyproject.toml asks for {line!r}: write NAME>=VERSION")
        yield f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    print("\n".join(lowest_versions(PYPROJECT.read_text(encoding="utf-8"))))
