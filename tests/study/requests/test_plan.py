"""What limits would buy, before they are set, beside closed forms and real releases."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, log2
from pathlib import Path

import pytest

from tacit.errors import InfeasibleError, InvalidInputError
from tacit.limits import Limit
from tacit.study import Study
from tests.cli.clinic import found_in, write_patients, write_rows
from tests.study.clinic import copy_clinic, set_limits

GAP = 1e-6
"""Designs are certified to 1e-7 of the best; releases stay 1e-6 bits below their limits."""


def entropy(p: float) -> float:
    return -p * log2(p) - (1 - p) * log2(1 - p)


@pytest.fixture(scope="module")
def kept_coins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a study is that is copied and never used itself."""
    place = tmp_path_factory.mktemp("coins")
    rows = [
        (f"{side}{n}", side, other if n % 10 == 0 else side)
        for side, other, many in (("heads", "tails", 6_000), ("tails", "heads", 14_000))
        for n in range(many)
    ]
    table = write_rows(place / "coins.csv", rows, ("coin", "side", "seen"))
    options = {"id": "coin", "private": ["side"], "external": ["seen"], "ledger": "folder"}
    Study.create(place / "clinic", table, **options).close()
    return place


@pytest.fixture
def coins(tmp_path: Path, kept_coins: Path) -> Iterator[Study]:
    """20,000 coins, 30 % of them heads; a second column is the side, wrong for a tenth of them."""
    with Study.open(copy_clinic(kept_coins, tmp_path)) as study:
        yield study


@pytest.fixture(scope="module")
def kept_clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a study is that is copied and never used itself."""
    place = tmp_path_factory.mktemp("clinic")
    table = write_patients(place / "patients.csv", 2_000)
    options = {"id": "patient_id", "private": ["diagnosis", "income"], "ledger": "folder"}
    Study.create(place / "clinic", table, **options).close()
    return place


@pytest.fixture
def clinic(tmp_path: Path, kept_clinic: Path) -> Iterator[Study]:
    with Study.open(copy_clinic(kept_clinic, tmp_path)) as study:
        yield study


@pytest.mark.parametrize("correct", [0.71, 0.8, 0.9, 0.99])
def test_bits_for_right_answers_about_a_coin(coins: Study, correct: float) -> None:
    [curve] = coins.plan(["side"], correct=correct).curves
    truth = entropy(0.3) - entropy(1 - correct)  # the rate-distortion function of a biased coin
    assert curve.needed is not None
    assert curve.needed.at_least <= truth + 1e-9
    assert truth - GAP * 10 <= curve.needed.at_most <= truth + 2e-5
    assert curve.bits_to_give == pytest.approx(truth, abs=1.5e-4)
    assert curve.blind == pytest.approx(0.7)


def test_the_curve_is_that_of_a_coin(coins: Study) -> None:
    [curve] = coins.plan(["side"]).curves
    assert curve.needed is None
    assert [point.bits for point in curve.points] == sorted(point.bits for point in curve.points)
    for point in curve.points[:-1]:  # at the last, every answer is right
        assert entropy(0.3) - entropy(1 - point.correct) == pytest.approx(point.bits, abs=1e-5)
        assert point.correct <= point.most <= point.correct + GAP
    assert curve.points[-1].bits == pytest.approx(entropy(0.3), abs=1e-4)


def test_what_no_bits_or_no_number_of_bits_reach(coins: Study) -> None:
    easy, hard = (coins.plan(["seen"], correct=share).curves[0] for share in (0.6, 0.95))
    assert easy.needed is not None
    assert (easy.needed.at_least, easy.needed.at_most) == (0.0, 0.0)
    assert hard.needed is not None
    assert hard.needed.at_most == hard.bits_to_give == inf
    assert 1 - hard.needed.best == pytest.approx(0.9, abs=GAP)
    assert hard.as_dict()["needed"]["at_most"] is None


@pytest.mark.parametrize("times", [None, 4.0])
def test_times_of_everyone_hold_for_a_plan(coins: Study, times: float | None) -> None:
    asked = {"asked": ["side"], "correct": 0.8}
    expected = coins.plan(**asked, times=2.0)
    coins.set_limit("everyone", 5.0, times=2)
    planned = coins.plan(**asked, times=times)
    assert (planned.times, planned.curves) == (2.0, expected.curves)


def test_bits_for_right_answers_keep_the_cap_that_is_asked_about(coins: Study) -> None:
    """Within 2 times at most 0.6 of the answers "heads" are right: half of all, by counts."""
    reached, unreached = (
        coins.plan(["side"], correct=share, times=2.0).curves[0].needed for share in (0.8, 0.81)
    )
    assert reached is not None
    assert reached.at_most == pytest.approx(entropy(0.3) - entropy(0.6) / 2, abs=1e-4)
    assert unreached is not None
    assert (unreached.at_most, 1 - unreached.best) == (inf, pytest.approx(0.8, abs=GAP))


def test_the_limit_that_a_plan_names_is_enough(clinic: Study, tmp_path: Path) -> None:
    [curve] = clinic.plan(["diagnosis"], correct=0.7).curves
    assert curve.needed is not None
    assert curve.bits_to_give is not None
    clinic.set_limit("lab", curve.bits_to_give)
    made = clinic.release("lab", "diagnosis", out=tmp_path / "a.csv")
    assert 1 - clinic.receipt(made.entry).value >= 0.7
    clinic.set_limit("other", curve.needed.at_least - 1e-4)
    assert 1 - clinic.quote("other", "diagnosis").value < 0.7


def test_a_limit_is_explained_by_the_best_that_it_allows(coins: Study) -> None:
    bits = entropy(0.3) - entropy(0.1)
    [meaning] = coins.explain_limit(bits)
    assert (meaning.attribute, meaning.blind) == ("side", pytest.approx(0.7))
    assert 0.9 - 1e-9 <= meaning.most <= 0.9 + GAP
    with pytest.raises(InvalidInputError, match="the limit is 0"):
        coins.explain_limit(0)


def test_an_attribute_with_very_many_levels_is_explained_by_a_bound(tmp_path: Path) -> None:
    rows = [(n, f"level {n % 300}") for n in range(900)]
    table = write_rows(tmp_path / "many.csv", rows, ("id", "level"))
    with Study.create(tmp_path / "s", table, id="id", private=["level"], ledger="folder") as study:
        [meaning] = study.explain_limit(1.0)
    # Half of the records told, and nothing of the others, are H / 2 bits: one bit is far less.
    assert meaning.blind == pytest.approx(1 / 300)
    assert 1 / log2(300) - 0.05 <= meaning.most <= 0.5


@pytest.mark.parametrize("limit", [0.25, None])
def test_a_rehearsal_is_what_real_parties_get(
    clinic: Study, tmp_path: Path, limit: float | None
) -> None:
    limits = [Limit("any 2", 0.3)]
    planned = clinic.plan(["diagnosis", "income"], parties=3, limit=limit, limits=limits)
    assert planned.limit == (0.15 if limit is None else limit)
    assert planned.is_equal_share is (limit is None)
    assert [each.request for each in planned.answers] == ["diagnosis", "income", "diagnosis"]
    set_limits(clinic, limits)
    for each in planned.answers:
        clinic.set_limit(each.party, planned.limit)
        released = clinic.release(each.party, each.request, out=tmp_path / f"{each.party}.csv")
        assert 1 - clinic.receipt(released.entry).value == pytest.approx(each.correct, abs=1e-4)
        assert each.bits <= planned.limit + GAP
        assert each.lowest <= each.correct <= each.highest
        assert each.correct <= each.alone + GAP


def test_with_an_equal_share_everybody_gets_what_it_would_get_alone(clinic: Study) -> None:
    limits = [Limit("everyone", 0.6), Limit("any 2", 0.5)]
    planned = clinic.plan(["diagnosis", "income"], parties=4, limits=limits)
    assert planned.limit == pytest.approx(0.15)  # of everyone: 0.6 / 4
    assert planned.orders == 4
    for each in planned.answers:
        assert each.lowest == pytest.approx(each.alone, abs=1e-5)
    assert planned.spread < 1e-5


def test_a_cap_and_analysable_answers_are_shown_beside(clinic: Study, tmp_path: Path) -> None:
    limits = [Limit("any 2", 0.3)]
    asked = {"parties": 2, "limit": 0.25, "limits": limits}
    planned = clinic.plan(["diagnosis", "income"], times=1.3, **asked)
    for point in planned.curves[0].points:
        assert point.capped <= point.correct + GAP
    assert planned.curves[0].points[-1].capped < planned.curves[0].points[-1].correct - 0.1
    assert planned.as_dict()["times"] == 1.3
    set_limits(clinic, limits)
    for each in planned.answers:
        assert each.analysable <= each.correct + GAP
        clinic.set_limit(each.party, 0.25, times=1.3)
        quote = clinic.quote(each.party, each.request)
        assert 1 - quote.value == pytest.approx(each.correct, abs=2e-3)  # room below a cap
        fair = clinic.quote(each.party, each.request, analysable=True)
        assert 1 - fair.value == pytest.approx(each.analysable, abs=2e-3)
        clinic.release(
            each.party, each.request, analysable=True, out=tmp_path / f"{each.party}.csv"
        )
    plain = clinic.plan(["diagnosis"])
    assert plain.times is None
    assert {point.capped for point in plain.curves[0].points} == {None}
    with pytest.raises(InvalidInputError, match=r"the limit of each party is 0\.5 times"):
        clinic.plan(["diagnosis"], times=0.5)


def test_the_order_matters_where_limits_on_coalitions_bind(clinic: Study) -> None:
    limits = [Limit("any 2", 0.3)]
    planned = clinic.plan(["diagnosis", "income"], parties=2, limit=0.3, limits=limits)
    first, second = planned.answers
    assert planned.orders == 2
    assert first.correct == first.highest > first.lowest + 0.01
    assert second.correct == second.lowest < second.highest - 0.01
    assert planned.spread == max(first.highest - first.lowest, second.highest - second.lowest)


def test_a_party_with_several_requests_spends_as_much_on_each(coins: Study) -> None:
    planned = coins.plan(["side"], sql=["side = 'heads'"], parties=1, limit=0.2)
    first, second = planned.answers
    assert first.party == second.party == "party-1"
    assert first.bits == pytest.approx(0.1, abs=1e-5)
    assert second.bits == pytest.approx(0.2, abs=1e-5)


def test_new_parties_get_names_that_nobody_has(coins: Study) -> None:
    coins.set_limit("party-1", 0.1)
    assert [each.party for each in coins.plan(["side"], parties=2, limit=0.1).answers] == [
        "party-2",
        "party-3",
    ]


def test_a_plan_counts_what_was_released_before(clinic: Study, tmp_path: Path) -> None:
    clinic.set_limit("lab", 0.25)
    clinic.release("lab", "income", out=tmp_path / "a.csv")
    limits = [Limit("any 2", 0.3)]
    [answer] = clinic.plan(["diagnosis"], parties=1, limit=0.3, limits=limits).answers
    assert answer.correct < answer.alone - 0.01
    with pytest.raises(InfeasibleError, match="is below what lab holds already"):
        clinic.plan(["diagnosis"], parties=1, limit=0.1, limits=[Limit("any 2", 0.2)])


def test_a_plan_changes_nothing(clinic: Study, tmp_path: Path) -> None:
    before, head = found_in(tmp_path), clinic.status().head
    clinic.plan(["diagnosis"], correct=0.8, parties=2, limits=[Limit("everyone", 0.5)])
    assert found_in(tmp_path) == before
    assert clinic.status().head == head
    assert clinic.limits() == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correct": 0}, "the share of right answers is 0: give more than 0"),
        ({"correct": 1.1}, r"the share of right answers is 1\.1"),
        ({"parties": 51}, "parties are 51: give 1 to 50"),
        ({"parties": 2}, "there are no limits on coalitions: give a limit for each party"),
        ({"parties": 2, "limit": 0}, "the limit of each party is 0"),
    ],
)
def test_plans_that_make_no_sense_are_refused(coins: Study, options: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        coins.plan(["side"], **options)
    with pytest.raises(InvalidInputError, match="nothing is asked for"):
        coins.plan()


def test_a_suggested_cap_protects_the_most_common_of_the_rare_levels(tmp_path: Path) -> None:
    """Who has x is 0.3 of all: no answer may make that 3 times as likely."""
    pairs = [("a", "x")] * 20 + [("a", "y")] * 5 + [("b", "x")] * 10 + [("b", "y")] * 65
    rows = [(n, *pair) for n, pair in enumerate(pairs * 10)]
    table = write_rows(tmp_path / "t.csv", rows, ("id", "one", "two"))
    options = {"id": "id", "private": ["one", "two"], "ledger": "folder"}
    with Study.create(tmp_path / "s", table, **options) as study:
        study.set_limit("lab", 1.0)
        [remark] = study.missing_times("lab")
    assert remark.values["times"] == 2.9
