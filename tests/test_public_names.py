"""What ``import tacit`` offers: names and rooms, and the types that they take and return."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import tacit
from tests.annotations import classes_named
from tests.pages import text_of_all


def names_of(room: str) -> list[str]:
    """What a room offers: ``__all__``, or what its one module defines."""
    module = import_module(f"tacit.{room}")
    own = [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]
    return getattr(module, "__all__", own)


PUBLIC = {f"tacit.{name}": getattr(tacit, name) for name in tacit.__all__} | {
    f"tacit.{room}.{name}": getattr(import_module(f"tacit.{room}"), name)
    for room in tacit.ROOMS
    for name in names_of(room)
}


@pytest.mark.parametrize("name", tacit.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(tacit, name) is not None
    assert name in dir(tacit)


@pytest.mark.parametrize("room", tacit.ROOMS)
def test_rooms_open_from_a_plain_import(room: str) -> None:
    assert room in dir(tacit)
    script = f"import tacit; assert tacit.{room}.__name__ == 'tacit.{room}'"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_plain_import_loads_nothing() -> None:
    script = "import sys, tacit; assert 'numpy' not in sys.modules; tacit.Study"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", PUBLIC)
def test_types_that_are_taken_or_returned_are_exported(name: str) -> None:
    exported = list(PUBLIC.values())
    hidden = {found for found in classes_named(PUBLIC[name]) if found not in exported}
    assert not hidden


def test_the_check_of_types_can_fail() -> None:
    from tacit.study.study import Study

    assert tacit.Quote in set(classes_named(Study))
    assert tacit.Audit in set(classes_named(tacit.audit))
    assert tacit.auditing.Finding in set(classes_named(tacit.Audit))


@pytest.mark.parametrize("room", tacit.ROOMS)
def test_rooms_are_documented(room: str) -> None:
    assert f"tacit.{room}" in text_of_all()


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tacit.nothing  # noqa: B018
