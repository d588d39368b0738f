"""One request passes through few files, and the pictures in CONTRIBUTING.md show them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_FILES = {"trace_release.svg": 35, "trace_solve.svg": 8}

MOST_CHANGES = {"trace_release.svg": 482, "trace_solve.svg": 83}
"""Some above what was counted: threads that deliver a release take turns differently."""


@pytest.fixture(scope="module")
def traces() -> dict[str, dict]:
    """What the script counts, in a process of its own: nothing is left over from other tests."""
    command = [sys.executable, str(ROOT / "scripts" / "draw_trace.py"), "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(ended.stdout)


@pytest.mark.parametrize("name", MOST_FILES)
def test_one_request_passes_through_few_files(traces: dict[str, dict], name: str) -> None:
    files = traces[name]["calls"]
    assert len(files) <= MOST_FILES[name], "\n".join(files)
    assert traces[name]["changes"] <= MOST_CHANGES[name]


@pytest.mark.parametrize("name", MOST_FILES)
def test_the_picture_shows_the_files(traces: dict[str, dict], name: str) -> None:
    picture = (ROOT / "docs" / "figures" / name).read_text(encoding="utf-8")
    drawn = set(re.findall(r'data-file="([^"]+)"', picture))
    assert drawn == set(traces[name]["calls"]), "run `make trace` and commit the picture"


@pytest.mark.parametrize("name", MOST_FILES)
def test_the_pictures_are_in_the_guide(name: str) -> None:
    assert f"(docs/figures/{name})" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
