"""The study behind a service: those who look at it do not wait for each other."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

from tacit.service.service import Service, Settings
from tests.study.clinic import make_clinic

SECONDS = 60
"""In which another thread reads, if it can."""


def test_readers_do_not_wait_for_each_other(tmp_path: Path) -> None:
    make_clinic(tmp_path).close()
    service = Service.open(Settings(tmp_path / "clinic", tmp_path / "files", frozenset()))
    read = []

    def look() -> None:
        with service.reading() as study:
            read.append(study.status().records)

    with service.reading() as study:
        records = study.status().records
        other = Thread(target=look, daemon=True)
        other.start()
        other.join(SECONDS)
        assert read == [records]
    service.close()
