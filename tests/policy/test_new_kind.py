"""A new kind of limit is one class and its registration: no room is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tacit.errors import InfeasibleError, InvalidInputError, LedgerError
from tacit.policy import Limit, Parties, Policy, register_limit
from tacit.policy.policy import LIMITS
from tacit.remark import Remark
from tacit.study import Study
from tests.study.clinic import entries_of, make_clinic


@register_limit
@dataclass(frozen=True, slots=True)
class Rival(Limit):
    """A limit on one party together with any other one."""

    kind = "rival"
    rival: str

    @property
    def in_words(self) -> str:
        return f"{self.rival} and any other party"

    def coalitions_among(self, holders: Parties) -> Iterator[Parties]:
        return (frozenset({self.rival, other}) for other in sorted(holders - {self.rival}))

    def holds_for(self, parties: Parties) -> bool:
        return len(parties | {self.rival}) <= 2

    @property
    def parties(self) -> Parties:
        return frozenset({self.rival})

    def rename(self, spelling: Callable[[str], str]) -> Rival:
        return replace(self, rival=spelling(self.rival))


@register_limit
@dataclass(frozen=True, slots=True)
class Prefix(Limit):
    """A limit on all parties whose names start in the same way: the smallest kind there is."""

    kind = "prefix"
    prefix: str

    @property
    def in_words(self) -> str:
        return f"all {self.prefix}*"

    def coalitions_among(self, holders: Parties) -> Iterator[Parties]:
        yield frozenset(party for party in holders if party.startswith(self.prefix))


LABS = Policy(1.0, limits=[Prefix(0.15, "lab-")])


def labs(folder: Path) -> Study:
    study = make_clinic(folder)
    for party in ("lab-a", "lab-b", "office"):
        study.set_party(party, 0.15)
    study.set_collusion(LABS)
    return study


def test_a_new_kind_is_set_kept_and_verified(tmp_path: Path) -> None:
    with labs(tmp_path) as study:
        study.release("lab-a", "smoker", out=tmp_path / "a.csv")
        study.release("office", "smoker", out=tmp_path / "o.csv")
        with pytest.raises(InfeasibleError, match=r"the limit on all lab-\*") as refused:
            study.release("lab-b", "diagnosis", out=tmp_path / "b.csv")
        study.release("lab-b", "smoker", out=tmp_path / "b.csv")  # as lab-a holds it
        assert study.verify().problems == ()
        listed = {each.parties: each for each in study.status().coalitions}
    assert refused.value.coalition == ("lab-a", "lab-b")
    assert refused.value.limit_bits == 0.15
    assert listed["lab-a", "lab-b"].limited_by == "all lab-*"
    assert listed["lab-a", "lab-b"].held < 0.15
    with Study.open(tmp_path / "clinic") as study:
        assert study.policy == LABS
        assert study.audit(records=100).of(("lab-a", "lab-b")).limit_bits == 0.15
        assert study.verify().problems == ()


def test_a_limit_on_pairs_with_a_rival_holds(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        for party in ("a", "b", "c"):
            study.set_party(party, 0.3)
        remarks = study.set_collusion(Policy(limits=[Rival(0.35, "spy")]))
        assert remarks == [Remark("party_let_in", {"party": "spy", "bits": 0.35})]
        for party in ("a", "spy", "b"):
            study.release(party, "diagnosis" if party == "a" else "smoker", out=tmp_path / "r.csv")
        held = {each.parties: each.held for each in study.status().coalitions}
        assert set(held) == {("a", "spy"), ("b", "spy")}
        assert max(held.values()) <= 0.35
        with pytest.raises(InfeasibleError, match=r"below what a \+ spy together hold"):
            study.set_collusion(Policy(limits=[Rival(0.01, "spy")]))
        assert study.verify().problems == ()


def test_a_record_has_the_field_for_other_kinds_only_where_there_are_some(tmp_path: Path) -> None:
    with labs(tmp_path) as study:
        study.set_collusion(Policy(1.0))
    policies = [entry.body for entry in entries_of(tmp_path / "clinic") if entry.kind == "policy"]
    old = {"everyone": 1.0, "sizes": [], "groups": []}
    other = [["prefix", {"bits": 0.15, "prefix": "lab-"}]]
    assert policies == [old | {"others": other}, old]


def test_a_kind_that_is_not_registered_stops_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labs(tmp_path).close()
    monkeypatch.delitem(LIMITS, "prefix")
    with pytest.raises(LedgerError, match="'prefix' is not known here"):
        Study.open(tmp_path / "clinic")


@dataclass(frozen=True, slots=True)
class Unregistered(Prefix):
    kind = "unregistered"


@register_limit
@dataclass(frozen=True, slots=True)
class Careless(Prefix):
    """Its record loses the prefix."""

    kind = "careless"

    @property
    def record(self) -> dict[str, object]:
        return {"bits": self.bits, "prefix": ""}


@dataclass(frozen=True, slots=True)
class Disguised(Prefix):
    """Its kind is that of another class."""

    kind = "prefix"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Unregistered, "'unregistered' is not known here"),
        (Careless, "must agree"),
        (Disguised, "must agree"),
    ],
)
def test_a_limit_that_could_not_be_read_again_is_not_recorded(
    tmp_path: Path, kind: type[Prefix], message: str
) -> None:
    with make_clinic(tmp_path) as study:
        with pytest.raises(InvalidInputError, match=message):
            study.set_collusion(Policy(limits=[kind(0.3, "lab-")]))
        assert study.policy == Policy()
    assert [entry.kind for entry in entries_of(tmp_path / "clinic")] == ["created"]


def test_two_classes_do_not_share_a_kind() -> None:
    with pytest.raises(InvalidInputError, match="'prefix' is Prefix already"):

        @register_limit
        class Other(Prefix):
            pass
