"""The tests mirror the source tree, and none imports from another test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "tacit"
ATTACKS = "redteam"
"""The one folder of tests that is about all rooms together."""

MODULES = sorted(path for path in TESTS.rglob("*.py"))
FOLDERS = sorted({path.parent.relative_to(TESTS) for path in MODULES if path.stem != "__init__"})


def imported_modules(source: str) -> Iterator[str]:
    """Full names of the modules, or of names in them, that a source imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_from_a_test(name: str) -> bool:
    first, *rest = name.split(".")
    return first == "tests" and any(part.startswith("test_") for part in rest)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(TESTS)))
def test_nothing_is_imported_from_a_test(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert [name for name in imported_modules(source) if is_from_a_test(name)] == []


def test_imports_from_tests_are_seen() -> None:
    source = "import tests.test_a\nfrom tests.b.test_c import d\nfrom tests.b import test_e, f"
    found = [name for name in imported_modules(source) if is_from_a_test(name)]
    assert found == ["tests.test_a", "tests.b.test_c.d", "tests.b.test_e"]


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_every_folder_of_tests_mirrors_a_folder_of_the_source(folder: Path) -> None:
    if folder.parts[:1] != (ATTACKS,):
        assert (SOURCE / folder).is_dir()
