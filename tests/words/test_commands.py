"""Commands to paste."""

from __future__ import annotations

import shlex
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from tacit.words.commands import command_line


@given(st.lists(st.text(st.characters(codec="utf-8"))))
@example(["it's $HOME", "it's `date`", "it's \\", 'it\'s "so"', "it's !1", "'", ""])
def test_a_command_is_read_by_a_shell_as_it_was_meant(words: list[str]) -> None:
    assert shlex.split(command_line(*words)) == words


def test_a_command_is_readable() -> None:
    senior = "age > 60 and education = 'bachelor and above'"
    assert command_line("tacit", "receipt", Path("a b"), 7) == "tacit receipt 'a b' 7"
    assert command_line("--sql", senior) == f'--sql "{senior}"'
    assert command_line("it's $HOME") == shlex.quote("it's $HOME")
