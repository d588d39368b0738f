"""The tutorials for custodians and recipients: every command and all Python, run as shown.

The researchers' tutorial is a notebook: ``tests/test_site.py`` runs it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.examples import run_page
from tests.pages import page


@pytest.mark.parametrize("name", ["custodian", "recipient"])
def test_tutorials_run_as_shown(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page(name).read_text(encoding="utf-8")) > 6


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
