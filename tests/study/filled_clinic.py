"""A study with three releases, and what its verification finds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.remark import Remark
from tacit.study import Verification
from tests.study.clinic import make_clinic
from tests.words import in_words


def filled_clinic(place: Path, ledger: str) -> Path:
    with make_clinic(place, ledger, everyone=0.5) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.3)
        study.set_limit("everyone", 0.5)
        study.set_limit("any 2", 0.45)
        study.release("lab-a", "age", out=place / "1.csv", bits=0.1)
        study.release("lab-b", "smoker", out=place / "2.parquet", bits=0.1)
        study.release("lab-a", "diagnosis", out=place / "3.csv", bits=0.1)
        assert study.verify().problems == ()
    return place / "clinic"


def assert_found(found: Verification, *words: str) -> None:
    """A problem is named that contains all these words."""
    assert_named(found.problems, *words)


def assert_named(problems: Sequence[Remark], *words: str) -> None:
    """The same, of problems."""
    said = in_words(problems)
    assert any(all(word in problem for word in words) for problem in said), said
