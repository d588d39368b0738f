"""Commands on a page, run as they are typed; what they print is compared with the page."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from types import MappingProxyType

from tests.cli.clinic import Answer, tacit

DRAWN = ("audit", "estimate", "crosstab")
"""What they print depends on the key or on a simulation: their figures are not compared."""

NOTHING_KNOWN: Mapping[str, Answer] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Example:
    """A command, and what the page says that it prints."""

    command: str
    shown: str

    def assert_runs_as_shown(self) -> None:
        """Run it. ``...`` on the page stands for anything, one space for several."""
        self.assert_shows(tacit(*shlex.split(self.command, comments=True)[1:]))

    def assert_shows(self, answer: Answer) -> None:
        """The same of a command that was run already."""
        said, shown = answer.out + _without_waits(answer.err), self.shown
        if self.command.split()[1] in DRAWN:
            said, shown = (re.sub(r"[\d.]+", "0", text) for text in (said, shown))
        said = with_last_digits_of(shown, said)
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        is_same = doctest.OutputChecker().check_output(shown, said, options)
        assert is_same, f"$ {self.command}\n{said}"


def _without_waits(said: str) -> str:
    """Without the lines that say what takes long: how many there are is up to the machine."""
    return re.sub(r"^[a-z][a-z ]+ \.\.\.\n", "", said, flags=re.MULTILINE)


def examples(text: str) -> list[Example]:
    """Every command of a page in order; a demo's own commands are output."""
    found: list[Example] = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if block.startswith("$ tacit demo"):
            command, _, shown = block.partition("\n")
            found.append(Example(command.removeprefix("$ "), shown))
            continue
        parts = re.split(r"^\$ (.+)\n", block, flags=re.MULTILINE)[1:]
        found += map(Example, parts[::2], parts[1::2])
    return found


def run_page(text: str, known: Mapping[str, Answer] = NOTHING_KNOWN) -> int:
    """Run all commands and all Python of a page, in order; how many blocks there were.

    Args:
        text: of the page.
        known: commands that were run already -> what they printed.
    """
    names: dict[str, object] = {}
    blocks = re.findall(
        r"^```(console|python)\n(.*?)^```(?:\n+```text\n(.*?)^```)?", text, re.DOTALL | re.MULTILINE
    )
    for kind, block, shown in blocks:
        if kind == "console":
            for example in examples(f"```console\n{block}```"):
                if example.command in known:
                    example.assert_shows(known[example.command])
                else:
                    example.assert_runs_as_shown()
            continue
        with redirect_stdout(StringIO()) as printed:
            exec(compile(block, "page", "exec"), names)
        assert printed.getvalue() == shown
    return len(blocks)


def with_last_digits_of(shown: str, said: str) -> str:
    """Decimals of three digits or more that are one off in the last, as they are shown.

    Releases are optima up to 1e-7, and among optima the most frugal up to 1e-3 bit: which one is
    found depends on the machine's BLAS and compiler in the last digits.
    """
    decimals = set(re.findall(r"\d+\.\d{3,}", shown))

    def nearest(found: re.Match[str]) -> str:
        unit = 10.0 ** -len(found[0].split(".")[1])
        near = [
            text
            for text in decimals
            if len(text.split(".")[1]) == len(found[0].split(".")[1])
            and abs(float(text) - float(found[0])) < 1.5 * unit
        ]
        return found[0] if found[0] in near or not near else near[0]

    return re.sub(r"\d+\.\d{3,}", nearest, said)
