"""A kind of limit that another package adds is set, shown and kept from the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.policy.policy import LIMITS
from tests.cli.clinic import OWN_LEDGER, PRIVATE, done, refused, write_patients

SOURCE = """
from dataclasses import dataclass
from tacit.errors import InvalidInputError
from tacit.policy import Limit, register_limit

@register_limit
@dataclass(frozen=True, slots=True)
class Prefix(Limit):
    kind = "prefix"
    prefix: str

    @property
    def in_words(self):
        return f"all {self.prefix}*"

    def coalitions_among(self, holders):
        yield frozenset(party for party in holders if party.startswith(self.prefix))

    @classmethod
    def parse(cls, bits, whom):
        if not whom:
            raise InvalidInputError("a prefix of nothing: give the first letters of names")
        return cls(bits, whom)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with a kind of limit, as pip would leave it."""
    site = tmp_path / "site"
    about = site / "prefixes-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: prefixes\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[tacit.limits]\nprefix = tacit_prefixes:Prefix\n")
    (site / "tacit_prefixes.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(site)
    known = dict(LIMITS)
    LIMITS.pop("prefix", None)
    yield
    LIMITS.clear()
    LIMITS.update(known)
    sys.modules.pop("tacit_prefixes", None)


@pytest.mark.usefixtures("package")
def test_a_limit_of_another_kind_is_set_and_taken_away(fresh: Path) -> None:
    words = ("collusion", "set", fresh)
    before = done(*words).out.strip()
    said = done(*words, "--limit", "prefix:lab-=0.2").out.strip()
    assert said == f"{before}; all lab-*: 0.2 bits"
    LIMITS.pop("prefix")  # as in the process of the next command
    sys.modules.pop("tacit_prefixes")
    assert done(*words, "--limit", "prefix:lab-=0.3", "--json").json["others"] == [
        ["prefix", {"bits": 0.3, "prefix": "lab-"}]
    ]
    assert done(*words, "--limit", "prefix:lab-=none").out.strip() == before


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prefix", "--limit prefix: give KIND:WHOM=BITS"),
        ("prefix:lab-", "--limit prefix:lab-: give KIND:WHOM=BITS"),
        ("prefix:lab-=much", "--limit prefix:lab-=much: give a number of bits, or none"),
        ("prefix:=0.2", "a prefix of nothing"),
        ("prefix:lab-=-1", "the limit on all lab-* is -1.0"),
        ("suffix:lab-=0.2", "the kind of limit 'suffix' is not known here"),
        ("sizes:2=0.2", "limits of the kind 'sizes' are not set by a text: use the option"),
    ],
)
def test_limits_that_are_refused(fresh: Path, text: str, said: str) -> None:
    assert refused(4, "collusion", "set", fresh, "--limit", text).startswith(said)


@pytest.mark.usefixtures("package")
def test_one_limit_twice_is_refused(fresh: Path) -> None:
    twice = ("--limit", "prefix:lab-=0.2", "--limit", "prefix:lab-=0.3")
    said = refused(4, "collusion", "set", fresh, *twice)
    assert said == "--limit names the same parties twice: give them one limit"


@pytest.mark.usefixtures("package")
def test_a_study_begins_with_a_limit_of_another_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_patients(Path("patients.csv"))
    words = ("init", "clinic", "--table", "patients.csv", "--id", "patient_id", *PRIVATE)
    limit = ("--limit", "prefix:lab-=0.2")
    taken = refused(4, *words, *OWN_LEDGER, "--limit", "prefix:lab-=none")
    assert taken == "--limit prefix:lab-=none: a new study has no limit to take away"
    nothing = refused(4, *words, *OWN_LEDGER, "--limit", "prefix:lab-=0")
    assert nothing.startswith("the limit on all lab-* is 0:")
    twice = refused(4, *words, *OWN_LEDGER, *limit, *limit)
    assert twice == "--limit names the same parties twice: give them one limit"
    assert not Path("clinic").exists()
    done(*words, *OWN_LEDGER, *limit)
    said = done("collusion", "set", "clinic").out.strip()
    assert said == "Limits on coalitions: everyone: 0.9 bits; all lab-*: 0.2 bits"
    assert done("verify", "clinic").out.startswith("2 entries, 0 releases: everything")
    done("party", "add", "clinic", "lab-a", "--limit", "0.4")
    lost = refused(3, "release", "clinic", "lab-a", "age", "--bits", "0.3", "--out", "a.csv")
    assert "all lab-*" in lost
