"""The points to die at are one for each state that a death can leave."""

from __future__ import annotations

from pathlib import Path

import psycopg

from tests.study.doomed import Ended, look_into


def test_one_point_for_each_state() -> None:
    steps = ["before open", "after open", "before write", "after write", "before close"]
    ended = Ended(0, "", steps, ["empty", "empty", "empty", "written", "written"])
    assert ended.kill_points == [3, 5]


def test_whatever_changes_in_a_folder_is_another_state(tmp_path: Path) -> None:
    seen = [look_into([str(tmp_path)])]
    file = tmp_path / "file"
    for change in (
        file.touch,
        lambda: file.write_text("1"),
        lambda: file.write_text("2"),
        lambda: file.chmod(0o700),
        lambda: file.rename(tmp_path / "other"),
        (tmp_path / "folder").mkdir,
        (tmp_path / "folder" / ".new.partial").touch,
    ):
        change()
        seen.append(look_into([str(tmp_path)]))
    assert len(set(seen)) == len(seen)
    (tmp_path / "folder" / ".new.partial").write_text("unfinished")
    assert look_into([str(tmp_path)]) == seen[-1]


def test_a_transaction_that_writes_is_another_state(postgres_url: str) -> None:
    seen = [look_into([postgres_url])]
    with psycopg.connect(postgres_url) as connection:
        connection.execute("SELECT 1")
        assert look_into([postgres_url]) == seen[0]
        connection.execute("CREATE TABLE entries (number INT)")
        seen.append(look_into([postgres_url]))
        connection.commit()
        seen.append(look_into([postgres_url]))
    assert len(set(seen)) == 3
