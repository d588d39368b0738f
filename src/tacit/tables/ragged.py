"""Where a CSV file stops being a table: a line with more or fewer fields than there are names."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

DELIMITERS = (",", ";", "\t", "|")


def ragged_line(path: Path) -> str | None:
    """What is wrong with the first line that has not one field for each name, in words."""
    with _opened(path) as file:
        names = file.readline()
        delimiter = max(DELIMITERS, key=names.count)
        if delimiter not in names:
            return None
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        begins, n_names = 1, 0
        try:
            for fields in reader:
                n_names = n_names or len(fields)
                if fields and len(fields) != n_names:
                    have = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                    return f"line {begins} has {have} and the line of names has {n_names}"
                begins = reader.line_num + 1
        except csv.Error:
            return f"line {begins} has a quote that is not closed, or a very long field"
    return None


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        yield file
