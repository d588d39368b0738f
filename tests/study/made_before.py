"""Studies that earlier versions made, as they lay on disk: what they promised has to stay true.

``made_by_0_1.tar.gz`` holds a table of 300 patients, a study of it in ``clinic`` (15 entries, of
which 6, 8, 10, 12 and 14 are releases; 10 is judged by ``absolute``, 12 asks for an external one,
14 is 6 asked ``--again``), a closed copy of it in ``closed``, the release files with their
certificates, receipts of release 8 (JSON and HTML), and one of entry 5, which sets limits.

``made_by_0_2.tar.gz`` holds the same kind of study with 18 entries: releases 5, 7, 9, 11, 13, 15
and 17, of which 13 is judged by ``information`` and 7 asks for an external column; ``1.csv`` to
``7.csv`` in this order, and a receipt of release 17. Its tables have a row for each cell.

``made_with_papers_3.tar.gz`` holds papers of format 3, made between 0.2 and the next version, and
their study of 200 patients: release 4 asks for an external column, 6 is for the worst level, 8 is
judged by ``information`` and ran out of time. ``1.csv`` to ``3.csv`` in this order, with receipts
of all three (JSON and HTML).
"""

from __future__ import annotations

import tarfile
from pathlib import Path

FOLDER = Path(__file__).parent


def unpack_0_1(place: Path) -> Path:
    """The folder with everything that 0.1 wrote."""
    return _unpack("made_by_0_1.tar.gz", place) / "made-by-0.1"


def unpack_0_2(place: Path) -> Path:
    """The folder with everything that 0.2 wrote."""
    return _unpack("made_by_0_2.tar.gz", place) / "made-by-0.2"


def unpack_papers_3(place: Path) -> Path:
    """The folder with a study whose papers have remarks in sentences."""
    return _unpack("made_with_papers_3.tar.gz", place) / "made-with-papers-3"


def _unpack(name: str, place: Path) -> Path:
    with tarfile.open(FOLDER / name) as archive:
        archive.extractall(place, filter="tar")  # keeps the key's mode, which "data" would not
    return place
