"""``import tacit``: every name that it offers loads, and none before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tacit


@pytest.mark.parametrize("name", [*tacit.__all__, *tacit.ROOMS])
def test_every_name_loads(name: str) -> None:
    assert getattr(tacit, name) is not None
    assert name in dir(tacit)


def test_a_plain_import_loads_nothing() -> None:
    script = "import sys, tacit; assert 'numpy' not in sys.modules; tacit.Study"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tacit.nothing  # noqa: B018
