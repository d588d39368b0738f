"""One clinic and one server for all tests that leave it as it is; others for those that do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.server import Server, serving_clinic


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with a browser come first: one worker of xdist runs all of them, with one browser."""
    items.sort(key=lambda item: "test_browser" not in item.nodeid)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic with three parties; one release to each laboratory."""
    place, asked = tmp_path_factory.mktemp("served"), {"lab-a": "age", "lab-b": "smoker"}
    with serving_clinic(place, ("lab-a", "lab-b", "registry"), asked) as running:
        yield running


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic of the module's own, with one release: tests may change all of it."""
    with serving_clinic(tmp_path_factory.mktemp("clinic"), ["lab-a"], {"lab-a": "age"}) as running:
        yield running
