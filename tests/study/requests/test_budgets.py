"""Limits: never exceeded by anyone, never half-applied, and never a matter of realised letters."""

from __future__ import annotations

import itertools
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from flint import arb

from tacit import Costs
from tacit.cli import run
from tacit.errors import InfeasibleError, InvalidInputError, UnconvergedError
from tacit.limits import Limit
from tacit.remark import Remark
from tacit.solvers import work_done
from tacit.study import Study, StudyStatus
from tacit.study.books.records import IntentRecord
from tacit.words.commands import command_of
from tests.study.clinic import entries_of, files_in, intents_of, make_clinic, releases_of
from tests.study.exact import coalitions, exact_bits, limit_on

PARTIES = ("lab-a", "lab-b", "registry")

MOST_WORK = 2e6
"""For a search that is to end early; a first release is found with a hundredth of it."""

SAME_BITS = 1e-9
"""Bounds are above the exact leakage by rounding, and by no more than this."""


# -- no coalition ever exceeds its limit ------------------------------------------------------

WISHES: tuple[dict[str, object], ...] = (
    {"asked": "age"},
    {"asked": "age", "utility": "absolute"},
    {"asked": "age", "utility": "squared"},
    {"asked": "diagnosis"},
    {"asked": ("diagnosis", "smoker")},
    {"asked": "outcome"},
    {"sql": "age > 65 or smoker"},
    {"sql": "case when diagnosis = 'asthma' then 'breath' when age > 40 then 'mind' end"},
)


WHOM = (*PARTIES, "everyone", "any 1", "any 2", "any 3", "lab-a+lab-b")


class Custodian:
    """Does something at random, and knows the limits that stand."""

    def __init__(self, study: Study, seed: int) -> None:
        self.study = study
        self.rng = np.random.default_rng(seed)
        self.limits: dict[str, Limit] = {}

    def bits(self, low: float, high: float) -> float:
        return round(float(self.rng.uniform(low, high)), 4)

    def set_limit(self) -> None:
        """On somebody, or taken away from a coalition."""
        whom = str(self.rng.choice(WHOM))
        bits = self.bits(0.05, 0.4) if whom in PARTIES else self.bits(0.2, 0.8)
        if whom in self.limits and whom not in PARTIES and self.rng.random() < 0.3:
            self.study.set_limit(whom, inf)
            del self.limits[whom]
            return
        self.study.set_limit(whom, bits)
        self.limits[whom] = Limit(whom, bits)

    def act(self, out: Path) -> None:
        chance = self.rng.random()
        if chance < 0.25:
            self.set_limit()
        else:
            self.release(out)

    def release(self, out: Path) -> None:
        party = str(self.rng.choice(PARTIES))
        wish = WISHES[self.rng.integers(len(WISHES))]
        bits = self.bits(0.02, 0.25) if self.rng.random() < 0.7 else None
        self.study.release(  # type: ignore[misc]
            party,
            out=out,
            bits=bits,
            accept=["disclosure"],
            overwrite=True,
            **wish,  # type: ignore[arg-type]
        )


@pytest.mark.parametrize("seed", range(6))
def test_no_coalition_ever_exceeds_its_limit(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "clinic"
    with make_clinic(tmp_path, external=["outcome"], memory=(1, 3, 8)[seed % 3]) as study:
        custodian = Custodian(study, seed)
        for party in PARTIES:
            study.set_limit(party, 0.3)
            custodian.limits[party] = Limit(party, 0.3)
        n_acts = 0
        while len(releases_of(folder)) < 6 and n_acts < 20:
            n_acts += 1
            n_entries = len(entries_of(folder))
            try:
                custodian.act(tmp_path / "out.csv")
            except InfeasibleError:
                assert len(entries_of(folder)) == n_entries
        assert_within_limits(folder, custodian.limits.values())
        assert_bounds_hold(study.status(), folder)
        assert study.verify().problems == ()


def assert_within_limits(folder: Path, limits: Iterable[Limit]) -> None:
    in_force = list(limits)
    for coalition in coalitions(PARTIES):
        assert exact_bits(folder, coalition).upper() < limit_on(coalition, in_force)


def assert_bounds_hold(status: StudyStatus, folder: Path) -> None:
    """What is said to be held is above the exact figure; for a single party, only by rounding."""
    for holding in (*status.parties, *status.coalitions):
        exact = exact_bits(folder, holding.parties)
        assert arb(holding.held) >= exact.lower()
        if len(holding.parties) == 1:
            assert holding.held <= float(exact.mid()) + SAME_BITS


def test_the_helper_notices_a_limit_that_is_exceeded(sqlite_study: Study, tmp_path: Path) -> None:
    sqlite_study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.2)
    limits = [Limit(party, 0.3) for party in PARTIES]
    assert_within_limits(tmp_path / "clinic", limits)
    for whom in ("everyone", "any 2", "+".join(PARTIES), "lab-a"):
        with pytest.raises(AssertionError):
            assert_within_limits(tmp_path / "clinic", [*limits, Limit(whom, 0.19)])


def test_the_helper_notices_a_wrong_bound(sqlite_study: Study, tmp_path: Path) -> None:
    sqlite_study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.2)
    status = sqlite_study.status()
    assert_bounds_hold(status, tmp_path / "clinic")
    for factor in (0.999, 1.001):
        wrong = replace(status.parties[0], held=factor * status.parties[0].held)
        with pytest.raises(AssertionError):
            assert_bounds_hold(replace(status, parties=(wrong,)), tmp_path / "clinic")


def test_information_is_accounted_alike(tmp_path: Path) -> None:
    """The engine's own letters, more or fewer than were asked for."""
    with make_clinic(tmp_path, private=["diagnosis", "smoker"]) as study:
        study.set_limit("everyone", 0.3)
        for party in PARTIES:
            study.set_limit(party, 0.2)
        study.release(
            "lab-a", "smoker", out=tmp_path / "a.csv", utility="information", accept=["disclosure"]
        )
        study.release("lab-b", "diagnosis", out=tmp_path / "b.csv", bits=0.1)
        assert_bounds_hold(study.status(), tmp_path / "clinic")
    limits = [Limit(party, 0.2) for party in PARTIES]
    assert_within_limits(tmp_path / "clinic", [*limits, Limit("everyone", 0.3)])


def test_information_that_ran_out_of_time_is_released_with_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is done when the first release is found, well below its bound."""
    monkeypatch.setattr("tacit.study.requests.draft._MOST_WORK", MOST_WORK)
    monkeypatch.setattr("tacit.study.proofs.claims._WORK", 1e-9)
    with make_clinic(tmp_path, external=["outcome"]) as study:
        study.set_limit("lab-a", 0.4)
        quoted = study.quote("lab-a", "outcome", utility="information")
        assert quoted.bound is not None
        assert quoted.value < quoted.bound <= 0.4
        late = Remark("out_of_time", {"value": quoted.value, "bound": quoted.bound})
        assert late in quoted.remarks
        asked, told = {"utility": "information"}, []
        made = study.release(
            "lab-a", "outcome", out=tmp_path / "a.csv", **asked, notify=told.append
        )
        assert late.code in [remark.code for remark in told]
        receipt = study.receipt(made.entry)
        assert late.code in [remark.code for remark in receipt.remarks]
        assert "ran out of time" in receipt.as_html()
        again = study.quote("lab-a", "outcome", utility="information")
        assert "out_of_time" in [remark.code for remark in again.remarks]
        assert study.verify().problems == ()
    assert_within_limits(tmp_path / "clinic", [Limit(party, 0.4) for party in PARTIES])


def test_no_time_at_all_is_no_reason_to_refuse_and_is_named_where_nothing_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.study.requests.draft._MOST_WORK", 1e-9)
    monkeypatch.setattr("tacit.study.proofs.claims._WORK", 1e-9)
    with make_clinic(tmp_path, external=["outcome"]) as study:
        study.set_limit("lab-a", 0.4)
        quoted = study.quote("lab-a", "outcome", utility="information")
        assert "out_of_time" in [remark.code for remark in quoted.remarks]
        assert quoted.value > 0.01
        study.release(
            "lab-a",
            "outcome",
            bits=0.2,
            out=tmp_path / "a.csv",
            utility="information",
            notify=[].append,
        )
        with pytest.raises(InfeasibleError, match=r"0\.3 bits and has 0\.2") as refused:
            study.quote("lab-a", "diagnosis", bits=0.3, utility="information")
        assert refused.value.suggestions[0].arguments["bits"] < 0.3
        with pytest.raises(UnconvergedError, match="the search ended before an answer"):
            study.release("lab-a", "diagnosis", out=tmp_path / "b.csv", objective="worst-level")
        assert study.verify().problems == ()
        assert len(study.status().parties) == 1
    assert not (tmp_path / "b.csv").exists()


def test_a_slow_machine_releases_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a second seems an hour on it."""
    laws = []
    for name in ("quick", "slow"):
        (tmp_path / name).mkdir()
        with make_clinic(tmp_path / name) as study:
            study.set_limit("lab-a", 0.4)
            asked = {"objective": "worst-level", "bits": 0.2, "out": tmp_path / f"{name}.csv"}
            told: list[Remark] = []
            made = study.release("lab-a", "age", **asked, notify=told.append)  # type: ignore[arg-type]
            assert "out_of_time" not in [remark.code for remark in told]
            assert study.quote("lab-a", "smoker").curve[-1].bits > 0.1
        laws.append(made.p_rhat_given_r)
        clock = itertools.count(step=3600.0)
        monkeypatch.setattr("tacit.solvers.kernel.monotonic", lambda clock=clock: next(clock))
        monkeypatch.setattr("tacit.solvers.levels.monotonic", lambda clock=clock: next(clock))
    assert laws[0] == laws[1]


@pytest.mark.parametrize("asked", [{}, {"bits": 1e-4}, {"bits": 0.1}, {"objective": "worst-level"}])
def test_a_party_whose_limit_is_used_up_is_refused_without_a_design(
    tmp_path: Path, asked: dict[str, object]
) -> None:
    """Up to a thousandth of a limit; what was recorded is still delivered."""
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.3)
        study.release("lab-a", "age", bits=0.2998, out=tmp_path / "a.csv")
        began = work_done()
        with pytest.raises(InfeasibleError, match=r"of its 0\.3 bits: nothing is left to it"):
            study.release("lab-a", "smoker", out=tmp_path / "b.csv", **asked)  # type: ignore[arg-type]
        study.release("lab-a", "age", bits=0.2998, out=tmp_path / "again.csv")
        assert work_done() == began


def test_a_search_in_time_makes_no_remark(tmp_path: Path) -> None:
    told: list[tuple[float, float, float]] = []
    with make_clinic(tmp_path, private=["diagnosis", "smoker"]) as study:
        study.set_limit("lab-a", 0.4)
        quoted = study.quote("lab-a", "smoker", utility="information", watch=_append_to(told))
        assert quoted.remarks == ()
        assert told
        told.clear()
        made = study.release(
            "lab-a",
            "smoker",
            out=tmp_path / "a.csv",
            utility="information",
            watch=_append_to(told),
        )
        assert study.receipt(made.entry).remarks == ()
        assert told
    assert all(value <= bound for value, bound, _ in told)


def _append_to(told: list[tuple[float, float, float]]) -> Callable[[float, float, float], None]:
    return lambda value, bound, seconds: told.append((value, bound, seconds))


# -- limits that are changed ------------------------------------------------------------------


@pytest.mark.parametrize("whom", ["everyone", "any 1", "any 2", "lab-a+lab-b"])
@pytest.mark.parametrize("holders", [1, 2])
def test_a_limit_on_a_coalition_below_what_is_held_is_refused(
    study: Study, tmp_path: Path, whom: str, holders: int
) -> None:
    """Even where only one member of the coalition holds anything so far."""
    for party in PARTIES[:holders]:
        study.release(party, "age", out=tmp_path / f"{party}.csv", bits=0.12)
    with untouched(tmp_path), pytest.raises(InfeasibleError, match=r"0\.1\b"):
        study.set_limit(whom, 0.1)


def test_a_party_limit_below_what_is_held_is_refused(study: Study, tmp_path: Path) -> None:
    study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.12)
    with untouched(tmp_path), pytest.raises(InfeasibleError, match="lab-a"):
        study.set_limit("lab-a", 0.11)


def test_a_limit_at_what_is_held_stands(study: Study, tmp_path: Path) -> None:
    """From then on a coalition learns nothing new, though one may be told what another knows."""
    held = study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.12).party_bits
    study.set_limit("lab-a", held)
    study.set_limit("everyone", held)
    study.set_limit("any 2", held)
    with untouched(tmp_path), pytest.raises(InfeasibleError):
        study.release("lab-a", "diagnosis", out=tmp_path / "b.csv")
    study.release("lab-b", "diagnosis", out=tmp_path / "b.csv")
    assert exact_bits(tmp_path / "clinic", PARTIES).upper() <= held
    assert study.verify().problems == ()


def test_a_coalition_with_nothing_left_is_told_nothing_new(
    sqlite_study: Study, tmp_path: Path
) -> None:
    """What it gets then is a clean refusal, or letters that it holds already."""
    sqlite_study.set_limit("lab-b+registry", 0.03)
    asked = ["lab-a age", "lab-b diagnosis", "registry smoker", "lab-b age", "lab-b smoker"]
    for wish in (*asked, "registry diagnosis", "registry age", "lab-b outcome"):
        party, question = wish.split()
        with suppress(InfeasibleError):
            sqlite_study.release(party, question, out=tmp_path / f"{wish}.csv", bits=0.01)
    assert exact_bits(tmp_path / "clinic", ("lab-b", "registry")).upper() < 0.03


def test_the_least_limit_that_a_refusal_names_is_accepted(study: Study, tmp_path: Path) -> None:
    study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.1234)
    with pytest.raises(InfeasibleError, match="at least") as refused:
        study.set_limit("lab-a", 0.01)
    least = float(str(refused.value).partition("at least ")[2].split()[0].rstrip(".;:,"))
    study.set_limit("lab-a", least)


@pytest.mark.parametrize("bits", [3.6, 50.0])
def test_a_limit_above_all_there_is_to_learn_is_allowed_and_said(
    sqlite_study: Study, tmp_path: Path, bits: float
) -> None:
    all_bits = sqlite_study.status().entropy_bits
    assert all_bits < 3.6
    remark = Remark(
        "limit_too_high", {"limited_by": "lab-a", "bits": bits, "entropy_bits": all_bits}
    )
    assert remark in sqlite_study.set_limit("lab-a", bits)
    assert sqlite_study.set_limit("everyone", bits)
    assert sqlite_study.set_limit("any 2", bits)
    assert sqlite_study.set_limit("lab-b", 0.3) == []
    asked = "age", "diagnosis", "smoker"
    receipt = sqlite_study.receipt(
        sqlite_study.release("lab-a", asked, out=tmp_path / "a.csv", accept=["disclosure"]).entry
    )
    assert receipt.value == 0
    assert receipt.party_bits == pytest.approx(all_bits, abs=SAME_BITS)


@pytest.mark.parametrize("bits", [0.0, -0.1, float("nan")])
def test_a_limit_that_is_none_is_refused(sqlite_study: Study, tmp_path: Path, bits: float) -> None:
    with untouched(tmp_path):
        with pytest.raises(InvalidInputError):
            sqlite_study.set_limit("lab-a", bits)
        with pytest.raises(InvalidInputError):
            sqlite_study.set_limit("everyone", bits)
        with pytest.raises(InvalidInputError):
            sqlite_study.release("lab-a", "age", out=tmp_path / "a.csv", bits=bits)


# -- refusals ---------------------------------------------------------------------------------


@contextmanager
def untouched(place: Path) -> Iterator[None]:
    """Nothing may change: not the ledger, not the study's folder, not a file beside it."""
    before = state_of(place)
    yield
    assert state_of(place) == before


def state_of(place: Path) -> tuple[list[str], dict[str, bytes]]:
    # SQLite moves what was appended from one of its files to another as it sees fit.
    files = {name: data for name, data in files_in(place).items() if "ledger.sqlite" not in name}
    return [entry.hash for entry in entries_of(place / "clinic")], files


@pytest.fixture
def spent(sqlite_study: Study, tmp_path: Path) -> Study:
    """Three parties with little left to them, and less to all together."""
    sqlite_study.set_limit("everyone", 0.6)
    sqlite_study.set_limit("any 2", 0.5)
    sqlite_study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.3)
    sqlite_study.release("lab-b", "diagnosis", out=tmp_path / "b.csv", bits=0.15)
    return sqlite_study


def test_a_first_request_that_is_refused_leaves_nothing(study: Study, tmp_path: Path) -> None:
    with untouched(tmp_path), pytest.raises(InfeasibleError):
        study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.5)
    with untouched(tmp_path), pytest.raises(InfeasibleError):
        study.release("lab-a", "age", out=tmp_path / "a.csv", max_error=0.01)


def test_the_helper_notices_a_new_file_and_a_new_entry(study: Study, tmp_path: Path) -> None:
    with pytest.raises(AssertionError), untouched(tmp_path):
        (tmp_path / "clinic" / "stray").touch()
    with pytest.raises(AssertionError), untouched(tmp_path):
        study.set_limit("lab-c", 0.1)


COSTS = Costs([[0, 1], [5, 0]])

REFUSED: dict[str, dict[str, object]] = {
    "more than is left": {"party": "lab-a", "asked": "smoker", "bits": 0.2},
    "by sql": {"party": "lab-a", "sql": "smoker and age > 40", "bits": 0.2},
    "judged by distance": {"party": "lab-b", "asked": "age", "utility": "absolute", "bits": 0.39},
    "judged by costs": {"party": "lab-a", "asked": "smoker", "utility": COSTS, "bits": 0.2},
    "too coarse": {"party": "registry", "asked": "smoker", "bits": 0.02, "max_error": 0.1},
    "too coarse with all that is left": {"party": "lab-a", "asked": "smoker", "max_error": 0.01},
}


@pytest.mark.parametrize("refused", REFUSED)
def test_a_refusal_changes_nothing_and_what_it_offers_works(
    spent: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "costs.csv").write_text("0,1\n5,0\n")
    asked = REFUSED[refused]
    with untouched(tmp_path), pytest.raises(InfeasibleError) as refusal:
        spent.release(out=tmp_path / "c.csv", **asked)  # type: ignore[arg-type]
    assert "\n" not in str(refusal.value)
    [suggestion] = refusal.value.suggestions
    typed = {"folder": "clinic", "out": "c.csv", "utility": "costs.csv"}
    tacit, *words = shlex.split(command_of(suggestion, typed) or "")
    assert tacit == "tacit"
    n_intents = len(intents_of(tmp_path / "clinic"))
    assert run([*words, "--accept", "disclosure"]) == 0
    *_, answered = intents_of(tmp_path / "clinic")
    assert len(intents_of(tmp_path / "clinic")) == n_intents + 1
    record = IntentRecord.of(answered)
    utility = asked.get("utility", "hamming")
    kind = "costs" if utility is COSTS else utility
    assert (record.party, record.measure.kind) == (asked["party"], kind)


def test_a_coalition_that_is_full_is_named_and_what_is_offered_works(
    sqlite_study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing new can be told to the registry; the same as another party holds, it can."""
    monkeypatch.chdir(tmp_path)
    receipt = sqlite_study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.3)
    sqlite_study.set_limit("lab-a+registry", receipt.party_bits)
    with untouched(tmp_path), pytest.raises(InfeasibleError) as refusal:
        sqlite_study.release("registry", "smoker", out=tmp_path / "r.csv")
    assert refusal.value.coalition == ("lab-a", "registry")
    [suggestion] = refusal.value.suggestions
    command = command_of(suggestion, {"folder": "clinic", "out": "r.csv"})
    assert run(shlex.split(command or "")[1:]) == 0
    assert exact_bits(tmp_path / "clinic", ("lab-a", "registry")).upper() <= receipt.party_bits
    assert float(exact_bits(tmp_path / "clinic", ("registry",)).mid()) > 0.1


# -- quotes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wish", [*WISHES, {"asked": "age", "bits": 0.05}], ids=lambda wish: str(list(wish.values()))
)
def test_a_quote_is_what_the_release_then_is(
    spent: Study, tmp_path: Path, wish: dict[str, object]
) -> None:
    with untouched(tmp_path):
        quote = spent.quote("registry", **wish)  # type: ignore[arg-type]
    made = spent.release(  # type: ignore[misc]
        "registry",
        out=tmp_path / "c.csv",
        accept=["disclosure"],
        **wish,  # type: ignore[arg-type]
    )
    receipt = spent.receipt(made.entry)
    assert (quote.value, quote.blind, quote.bound) == (receipt.value, receipt.blind, receipt.bound)
    assert quote.own.after == receipt.party_bits
    held = {share.parties: share.after for share in quote.coalitions}
    assert held == {each.parties: each.bits for each in receipt.holdings}
    status = spent.status()
    now = {each.parties: each.held for each in (*status.parties, *status.coalitions)}
    assert {parties: now[parties] for parties in held} == held


# -- nothing depends on what came out ---------------------------------------------------------


@pytest.mark.slow
def test_realised_releases_change_no_quote_design_or_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two studies of one table have other keys, other letters, other states; one has its files
    replaced by the other's on top of that.
    """
    told = []
    for name in ("one", "other", "changed"):
        place = tmp_path / name
        place.mkdir()
        monkeypatch.chdir(place)
        with make_clinic(Path(), external=["outcome"], everyone=0.7) as study:
            for party in PARTIES:
                study.set_limit(party, 0.3)
            study.release("lab-a", "age", out="a.csv", bits=0.2)
            study.release("lab-b", "diagnosis", out="b.csv", bits=0.2)
            if name == "changed":
                exchange_files(tmp_path / "one", place)
            told.append(list(everything_told(study)))
    assert told[0] == told[1] == told[2]
    letters = [files_in(tmp_path / name / "clinic" / "states") for name in ("one", "other")]
    assert letters[0] != letters[1]


def exchange_files(one: Path, other: Path) -> None:
    """Put one study's states and release files into the place of another's."""
    for name in ("a.csv", "b.csv"):
        assert (one / name).read_bytes() != (other / name).read_bytes()
        shutil.copy(one / name, other / name)
    ours, theirs = (sorted((place / "clinic" / "states").iterdir()) for place in (other, one))
    for mine, their in zip(ours, theirs, strict=True):
        shutil.copy(their, mine)


def everything_told(study: Study) -> Iterator[object]:
    """Quotes, refusals and designs that come next."""
    for wish in WISHES:
        yield study.quote("registry", **wish).as_dict()  # type: ignore[arg-type]
    for bits, max_error in ((0.2, None), (0.05, 0.01)):
        with pytest.raises(InfeasibleError) as refused:
            study.release("lab-a", "smoker", out="c.csv", bits=bits, max_error=max_error)
        yield str(refused.value)
    study.release("lab-a", "outcome", out="c.csv", bits=0.05)
    study.release("registry", ("diagnosis", "smoker"), out="d.csv")
    for intent in intents_of(Path("clinic")):
        yield intent.payload
        # The name of the draw is a hash of the designs and of the study's id, which differs here.
        yield {name: value for name, value in intent.body.items() if name != "draw"}
