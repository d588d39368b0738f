"""A study that version 0.1 made, as it lay on disk: what it promised has to stay true.

``made_by_0_1.tar.gz`` holds a table of 300 patients, a study of it in ``clinic`` (15 entries, of
which 6, 8, 10, 12 and 14 are releases; 10 is judged by ``absolute``, 12 asks for an external one,
14 is 6 asked ``--again``), a closed copy of it in ``closed``, the release files with their
certificates, receipts of release 8 (JSON and HTML), and one of entry 5, which sets limits.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).with_name("made_by_0_1.tar.gz")


def unpack_0_1(place: Path) -> Path:
    """The folder with everything that 0.1 wrote."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(place, filter="tar")  # keeps the key's mode, which "data" would not
    return place / "made-by-0.1"
