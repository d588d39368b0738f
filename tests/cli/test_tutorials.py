"""The tutorials for custodians and recipients, and the README: run as shown.

The researchers' tutorial is a notebook: ``tests/test_site.py`` runs it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli.demo import write_people
from tests.cli.examples import examples, run_page
from tests.pages import ROOT, page


@pytest.mark.parametrize("name", ["custodian", "recipient"])
def test_tutorials_run_as_shown(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page(name).read_text(encoding="utf-8")) > 6


def test_the_three_commands_of_the_readme_run_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [found for found in examples(text) if found.command.startswith("tacit ")]
    assert len(commands) == 3
    for command in commands:
        command.assert_runs_as_shown()


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ tacit status nowhere\nall is well\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nprint(1)\n```\n",
    ],
)
def test_a_page_that_shows_something_else_would_be_found(text: str) -> None:
    with pytest.raises(AssertionError):
        run_page(text)
