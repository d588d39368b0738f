"""After an erasure the service hands out nothing about the erased people any more."""

from __future__ import annotations

from pathlib import Path

from tacit.study import Study
from tests.service.server import released, serving
from tests.study.clinic import make_clinic


def test_a_file_that_was_written_before_is_written_again(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.4)
    (tmp_path / "ids.csv").write_text("patient\np000007\n")
    with (
        serving(tmp_path / "clinic", None, "--workers", "1") as server,
        server.party("lab-a") as client,
    ):
        number = released(client, asked=["age"], bits=0.1)["entry"]
        address = f"/api/own/releases/{number}"
        before = client.get(f"{address}/file.csv").text.splitlines()
        with Study.open(server.folder) as study:
            study.erase(str(tmp_path / "ids.csv"))
        after = client.get(f"{address}/file.csv").text.splitlines()
        assert client.get(address).json()["records"] == 199
    assert (len(before), len(after)) == (201, 200)
    assert set(after) < set(before)
