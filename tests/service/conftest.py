"""One clinic and one server for all tests that leave it as it is; others for those that do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.server import Server, released, serving
from tests.study.clinic import make_clinic

PARTIES = ("lab-a", "lab-b", "registry")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic with three parties; one release to each laboratory."""
    place = tmp_path_factory.mktemp("served")
    with make_clinic(place, external=["outcome"], everyone=0.9) as study:
        for party in PARTIES:
            study.set_party(party, 0.4)
    with serving(place / "clinic", None, "--workers", "1") as running:
        for party, asked in (("lab-a", "age"), ("lab-b", "smoker")):
            with running.party(party) as client:
                released(client, asked=[asked], bits=0.1)
        yield running


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic of its own, with one release: requests may change all of it."""
    place = tmp_path_factory.mktemp("attacked")
    with make_clinic(place, external=["outcome"], everyone=0.9) as study:
        study.set_party("lab-a", 0.4)
    with serving(place / "clinic", None, "--workers", "1") as running:
        with running.party("lab-a") as client:
            released(client, asked=["age"], bits=0.1)
        yield running
