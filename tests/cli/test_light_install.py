"""A recipient's install: no ledger, no Arrow, no cryptography, and `tacit estimate` works."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tacit.cli.failure import PACKAGES
from tests.cli.clinic import done

CUSTODIANS_OWN = ("sqlalchemy", "pyarrow", "flint", "cryptography", "jinja2")
EXTRAS = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]

DISTRIBUTIONS = {"flint": "python-flint"}
"""Packages that are installed by another name than they are imported by."""

_WITHOUT = """
import json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None  # importing it fails, as if it were not installed
from tacit.cli import run
sys.exit(max([run(words) for words in json.loads(sys.argv[2])]))
"""


def without(
    packages: Sequence[str], *commands: Sequence[object]
) -> subprocess.CompletedProcess[str]:
    """Commands run where some packages are not installed; the largest exit code."""
    words = [list(map(str, command)) for command in commands]
    command = [sys.executable, "-c", _WITHOUT, json.dumps(packages), json.dumps(words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_estimate_needs_nothing_of_the_custodians(fresh: Path, kind: str) -> None:
    out = Path(f"a.{kind}")
    done("release", fresh, "lab-a", "income", "--out", out)
    commands = [("estimate", out), ("crosstab", out)]
    ended = without(CUSTODIANS_OWN, *commands)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "".join(done(*command).out for command in commands)


def test_what_the_library_offers_recipients_is_light() -> None:
    script = (
        "import json, sys\n"
        f"for name in {CUSTODIANS_OWN}: sys.modules[name] = None\n"
        "import tacit\n"
        "print(tacit.estimate_file, tacit.read_column, tacit.crosstab_files, tacit.Certificate)\n"
        "print(tacit.estimate, tacit.estimation.impute)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_the_engine_needs_none_of_the_extras() -> None:
    brought = sorted({package for packages in PACKAGES.values() for package in packages})
    script = (
        "import sys\n"
        f"for name in {brought}: sys.modules[name] = None\n"
        "import numpy as np\n"
        "import tacit\n"
        "joint = np.array([[[0.4, 0.1], [0.1, 0.4]]])\n"
        "assert tacit.solve(tacit.Problem(joint, individual=0.1)).gap < 1e-6\n"
        "print(tacit.Scheme, tacit.auditing, tacit.bottleneck, tacit.estimation, tacit.tradeoff)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        (("estimate", "a.parquet"), "duckdb", "recipient"),
        (("estimate", "a.csv"), "pydantic", "recipient"),
        (("crosstab", "a.parquet"), "duckdb", "recipient"),
        (("status", "clinic"), "sqlalchemy", "study"),
        (("quote", "clinic", "lab-a", "income"), "duckdb", "study"),
        (("verify", "clinic"), "cryptography", "study"),
        (("status", "clinic"), "flint", "study"),
        (("init", "x", "--table", "t.csv", "--id", "a", "--private", "b"), "pyarrow", "study"),
        (("receipt", "clinic", "1", "--html", "r.html"), "jinja2", "study"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    fresh: Path, words: tuple[str, ...], package: str, extra: str
) -> None:
    Path("a.csv").write_text("record,rhat\n1,x\n")
    if "a.parquet" in words:
        done("release", fresh, "lab-a", "income", "--out", "a.parquet")
    ended = without([package], (*words, "--json"))
    line = f"tacit {words[0]} needs the package {package}, which is not installed"
    assert ended.stderr == f"tacit: {line}: install tacit with its extra, tacit[{extra}]\n"
    assert ended.returncode == 1
    assert json.loads(ended.stdout)["error"]["kind"] == "MissingPackage"


def test_extras_are_those_of_the_project() -> None:
    """What is said to be missing is what the extra brings."""
    for extra, packages in PACKAGES.items():
        brought = {line.partition(">")[0].partition("[")[0] for line in EXTRAS[extra]}
        named = {DISTRIBUTIONS.get(each, each.replace("_", "-")) for each in packages}
        assert named - {"adbc-driver-manager", "pydantic-core"} == brought
    light = {line.partition(">")[0] for line in EXTRAS["recipient"]}
    assert light == {"duckdb", "pydantic", "rich", "typer"}
    assert set(EXTRAS["recipient"]) <= {*EXTRAS["study"], *EXTRAS["cli"]}
