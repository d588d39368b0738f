"""Files of a study that are not what was written: found before drawing, or computed again."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import DeliveryError, InvalidInputError
from tacit.study import Study
from tests.study.clinic import entries_of, make_clinic
from tests.study.forging import forge_last
from tests.words import in_words


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A study with two releases, 1.csv and 2.csv."""
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.9)
        study.release("lab-a", "age", out=tmp_path / "1.csv", bits=0.2)
        study.release("lab-a", "diagnosis", out=tmp_path / "2.csv", bits=0.2)
    return tmp_path / "clinic"


def zero(states: Path) -> None:
    content = states.read_bytes()
    states.write_bytes(content[:128] + bytes(200) + content[328:])


def swap(states: Path) -> None:
    other = next(path for path in states.parent.iterdir() if path != states)
    states.write_bytes(other.read_bytes())


@pytest.mark.parametrize("damage", [zero, swap], ids=["zeroed", "of another release"])
def test_damaged_states_are_named_and_computed_again(
    clinic: Path, tmp_path: Path, damage: object
) -> None:
    undamaged = tmp_path / "undamaged"
    shutil.copytree(clinic, undamaged)
    [states] = (clinic / "states").glob("5-*.npy")
    assert callable(damage)
    damage(states)
    with Study.open(clinic) as study:
        assert any(
            "states after release 5 are damaged" in each
            for each in in_words(study.verify().problems)
        )
        study.release("lab-a", "smoker", out=tmp_path / "3.csv", bits=0.2)
        assert study.verify().problems == ()
    with Study.open(undamaged) as study:
        study.release("lab-a", "smoker", out=tmp_path / "expected.csv", bits=0.2)
    assert (tmp_path / "3.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_a_snapshot_with_equal_counts_but_other_rows_is_refused(
    clinic: Path, tmp_path: Path
) -> None:
    x = np.load(clinic / "snapshot" / "x.npy")
    one, other = 0, int(np.flatnonzero(x != x[0])[0])
    x[[one, other]] = x[[other, one]]
    np.save(clinic / "snapshot" / "x.npy", x)
    before = entries_of(clinic)
    with Study.open(clinic) as study:
        with pytest.raises(InvalidInputError, match="not what it was when the ledger recorded it"):
            study.release("lab-a", "smoker", out=tmp_path / "3.csv", bits=0.2)
        assert any("not what it was" in problem for problem in in_words(study.verify().problems))
    assert entries_of(clinic) == before


def test_a_redelivery_that_comes_out_differently_leaves_the_good_file(
    clinic: Path, tmp_path: Path
) -> None:
    good = (tmp_path / "2.csv").read_bytes()
    forge_last(clinic, "delivered", lambda body: body.update(digest="0" * 64))
    (tmp_path / "2.csv.certificate.json").unlink()  # it would show that the ledger was another one
    with Study.open(clinic) as study:
        with pytest.raises(DeliveryError, match=r"differently.*2\.csv was not written"):
            study.release("lab-a", "diagnosis", out=tmp_path / "2.csv", bits=0.2)
        assert any(
            "drawn again, is not" in problem for problem in in_words(study.verify().problems)
        )
    assert (tmp_path / "2.csv").read_bytes() == good
