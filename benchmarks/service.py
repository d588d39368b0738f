"""Fifty parties that read and ask at once, on loopback: requests a second, and the slowest 5 %.

Callers and server share the machine's cores. Every answer is checked, and afterwards that nothing
is overspent. Parties ask for more than everyone together may hold, so that some are refused.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from benchmarks.tables import print_table, seconds_text
from tests.service.load import DOWNLOAD, PAGE, QUOTE, RELEASE, measure_load

N_PARTIES, SECONDS = 50, 60
QUICK_PARTIES, QUICK_SECONDS = 8, 5

_NAMES = {PAGE: "pages", QUOTE: "quotes", RELEASE: "releases", DOWNLOAD: "downloads"}


@dataclass(frozen=True, slots=True)
class ServiceResult:
    """One kind of visit: how many a second, and seconds that 95 % of them took at most."""

    kind: str
    per_second: float
    p95_seconds: float


def run(*, quick: bool) -> list[ServiceResult]:
    """Put a server under load and print the table."""
    n_parties, seconds = (QUICK_PARTIES, QUICK_SECONDS) if quick else (N_PARTIES, SECONDS)
    with TemporaryDirectory() as folder:
        ledger = {"TACIT_LEDGER": f"sqlite:///{folder}/ledger.sqlite"}
        with mock.patch.dict(os.environ, ledger):
            load = measure_load(Path(folder), n_parties, seconds)
    results = [
        ServiceResult(name, load.rate(kind), load.p95(kind)) for kind, name in _NAMES.items()
    ]
    print_table(
        f"{n_parties} parties at once for {seconds} s; no error, nothing overspent",
        ["what", "per second", "p95"],
        [[each.kind, f"{each.per_second:.1f}", seconds_text(each.p95_seconds)] for each in results],
    )
    return results
