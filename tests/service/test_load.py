"""Parties that read and ask at once: no error, nothing overspent. More of them: the benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.load import DOWNLOAD, PAGE, QUOTE, RELEASE, measure_load

PARTIES, SECONDS = 8, 5


@pytest.mark.slow
def test_parties_at_once(tmp_path: Path) -> None:
    load = measure_load(tmp_path, PARTIES, SECONDS)
    released = [each for each in load.visits if each.kind == RELEASE]
    assert len(released) == PARTIES
    assert 0 < sum(each.is_refused for each in released) < PARTIES
    assert min(load.rate(kind) for kind in (PAGE, QUOTE, DOWNLOAD)) > 0
