"""What tacit says today, so that no change of it goes unseen.

A difference is a defect, or is meant: then the life is recorded anew (see ``life``), and the commit
says why. Figures are compared to 1e-6: they are of designs whose gap is smaller, found by a search
whose last digits may differ between machines. All else is compared exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.transcript.life import live

RECORDED = Path(__file__).with_name("recorded.json")

SAME = 1e-6


def test_the_study_says_what_it_said(tmp_path: Path) -> None:
    said = dict(leaves(json.loads(json.dumps(dict(live(tmp_path))))))
    recorded = dict(leaves(json.loads(RECORDED.read_text())))
    assert said.keys() == recorded.keys()
    assert {
        place: (was, said[place])
        for place, was in recorded.items()
        if not is_same(was, said[place])
    } == {}


def is_same(was: Any, now: Any) -> bool:
    if isinstance(was, float) and isinstance(now, float):
        return abs(was - now) <= SAME
    return bool(was == now)


def leaves(found: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and text, by where it stands."""
    if not isinstance(found, dict | list):
        yield place, found
        return
    for name, each in found.items() if isinstance(found, dict) else enumerate(found):
        yield from leaves(each, f"{place} / {name}")
