"""What ``import tacit`` offers, names and rooms, without importing anything else."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tacit


@pytest.mark.parametrize("name", tacit.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(tacit, name) is not None
    assert name in dir(tacit)


@pytest.mark.parametrize(
    "expression",
    ["tacit.datasets.adult", "tacit.bottleneck.SequentialBottleneck", "tacit.information.entropy"],
)
def test_rooms_open_from_a_plain_import(expression: str) -> None:
    command = [sys.executable, "-c", f"import tacit; print({expression})"]
    assert subprocess.run(command, capture_output=True, check=True).returncode == 0


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tacit.nothing  # noqa: B018
