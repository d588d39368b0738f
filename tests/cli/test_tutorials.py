"""The tutorials for custodians and recipients, and the README: run as shown.

The researchers' tutorial is a notebook: ``tests/test_site.py`` runs it.
"""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from tacit.cli.demo import write_people
from tests.cli.clinic import done
from tests.cli.examples import examples, run_page
from tests.pages import ROOT, page

DEMO = "tacit demo --out demo"


@pytest.mark.slow
def test_tutorials_run_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both begin with the demo: it is run once, and each goes on in a copy."""
    monkeypatch.chdir(tmp_path)
    known = {DEMO: done(*DEMO.split()[1:])}
    for name in ("custodian", "recipient"):
        text = page(name).read_text(encoding="utf-8")
        assert f"$ {DEMO}\n" in text
        copytree("demo", tmp_path / name / "demo")
        monkeypatch.chdir(tmp_path / name)
        assert run_page(text, known) > 6
        monkeypatch.chdir(tmp_path)


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
