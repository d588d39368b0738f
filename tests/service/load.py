"""Many parties that read and ask at once, on this machine and for a limited time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import httpx
import numpy as np

from tacit.study import Study, verify_study
from tests.service.server import Server, ask, ended, serving
from tests.study.clinic import make_clinic

PAGE, QUOTE, RELEASE, DOWNLOAD = "page", "quote", "release", "download"

_COLUMNS = ("age", "diagnosis", "smoker")
_LIMIT, _ASKED, _EVERYONE = 0.05, 0.02, 0.03
"""Bits. All parties ask for more than everyone may hold: who comes late gets less, or nothing."""

_NO_ERROR = 1e-9
"""Nobody can be answered so well: the first party is always refused."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One thing that a party did.

    Attributes:
        kind: ``PAGE``, ``QUOTE``, ``RELEASE`` or ``DOWNLOAD``.
        seconds: until it had the answer; of a quote and a release, until the job had ended.
        is_refused: whether the custodian's limits did not allow it.
    """

    kind: str
    seconds: float
    is_refused: bool


@dataclass(frozen=True, slots=True)
class Load:
    """What parties did together.

    Attributes:
        visits: all of them; whatever failed raised.
        seconds: that it took.
    """

    visits: list[Visit]
    seconds: float

    def rate(self, kind: str) -> float:
        """How many of a kind were answered in a second."""
        return len(self._times(kind)) / self.seconds

    def p95(self, kind: str) -> float:
        """Seconds that 95 % of a kind took at most."""
        return float(np.percentile(self._times(kind), 95))

    def _times(self, kind: str) -> list[float]:
        return [each.seconds for each in self.visits if each.kind == kind]


def measure_load(place: Path, n_parties: int, seconds: float) -> Load:
    """Let many parties read and ask at once; nothing fails, and nothing is overspent."""
    names = _make_crowd(place, n_parties)
    with serving(place / "clinic") as server:
        load = _put_under_load(server, names, seconds)
    _assert_nothing_overspent(place / "clinic")
    return load


def _make_crowd(place: Path, n_parties: int) -> list[str]:
    """Make a clinic with many parties, and tell their names."""
    names = [f"lab-{number}" for number in range(n_parties)]
    with make_clinic(place, everyone=_EVERYONE) as study:
        for name in names:
            study.set_limit(name, _LIMIT)
    return names


def _put_under_load(server: Server, names: list[str], seconds: float) -> Load:
    """Let all parties read and ask at once for some seconds."""
    start = monotonic()
    with ThreadPoolExecutor(len(names)) as threads:
        begun = [
            threads.submit(_visit, server, name, number, start + seconds)
            for number, name in enumerate(names)
        ]
        visits = [visit for each in begun for visit in each.result()]
    return Load(visits, monotonic() - start)


def _assert_nothing_overspent(folder: Path) -> None:
    """No party or coalition holds more than it may, and all entries can be proved."""
    with Study.open(folder) as study:
        status = study.status()
    over = [each for each in (*status.parties, *status.coalitions) if each.held > each.limit]
    assert not over, over
    assert verify_study(folder).is_whole


def _visit(server: Server, name: str, number: int, until: float) -> list[Visit]:
    """One party: a release first, then pages, quotes and downloads in turn."""
    column = _COLUMNS[number % len(_COLUMNS)]
    with server.party(name) as client:
        only = {} if number else {"max_error": _NO_ERROR}
        visits = [
            _timed(RELEASE, lambda: _ask(client, "/api/own/requests", column, _ASKED, **only))
        ]
        owned = client.get("/api/own").json()["releases"]
        file = f"/own/releases/{owned[0]['number']}/file.csv" if owned else None
        while True:  # at least once, however long the release took
            visits.append(_timed(PAGE, lambda: _read(client, "/own")))
            if file is not None:
                visits.append(_timed(DOWNLOAD, lambda: _read(client, file or "")))
            visits.append(_timed(QUOTE, lambda: _ask(client, "/api/own/quotes", column, 0.001)))
            if monotonic() >= until:
                return visits


def _timed(kind: str, act: Callable[[], bool]) -> Visit:
    start = monotonic()
    is_refused = act()
    return Visit(kind, monotonic() - start, is_refused)


def _read(client: httpx.Client, path: str) -> bool:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return False


def _ask(client: httpx.Client, path: str, column: str, bits: float, **more: float) -> bool:
    """Ask, and wait for the end of the job; whether it was refused."""
    job = ended(client, ask(client, path, asked=[column], bits=bits, **more))
    assert job["state"] in ("done", "failed"), job
    return bool(job["state"] == "failed")
