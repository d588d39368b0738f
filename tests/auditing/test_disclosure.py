"""Disclosures of laws that can be written down: thresholds, ties, and what is news."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.auditing.disclosure import (
    Disclosure,
    disclosed_levels,
    disclosure_in_words,
    disclosure_lines,
    list_disclosures,
    may_disclose,
    most_named,
)
from tacit.information import entropy, mutual_information
from tacit.scheme import Variable

ROUNDING = 1e-9
"""Sums of a few doubles."""

ILL = Variable("ill", np.eye(2), ("yes", "no"))


def test_a_noisy_test_names_whom_it_finds() -> None:
    """Of 100 ill among 1,000, 60 are found, and 5 who are well: 60 / 65 sure of each."""
    law = np.array([[60, 5], [40, 895]]) / 1_000
    [found] = disclosed_levels([law], [ILL], 1_000, ["lab"]).values()
    assert (found.column, found.level, found.of, found.whom) == ("ill", "yes", 100, ("lab",))
    assert found.people == pytest.approx(60, abs=ROUNDING)
    assert found.sure == pytest.approx(60 / 65, abs=ROUNDING)


@pytest.mark.parametrize(("found", "wrong", "is_sure"), [(63, 7, True), (62, 7, False)])
def test_a_tie_at_90_per_cent_is_sure(found: int, wrong: int, is_sure: bool) -> None:
    for records in (1_000, 3_001, 999_983):  # 0.9 of them is no double
        law = np.array([[found, wrong], [100 - found, records - 100 - wrong]]) / records
        assert bool(disclosed_levels([law], [ILL], records, ["lab"])) is is_sure


@pytest.mark.parametrize(("ill", "is_rare"), [(499, True), (500, False), (501, False)])
def test_half_of_the_records_are_not_few(ill: int, is_rare: bool) -> None:
    law = np.diag([ill, 1_000 - ill]) / 1_000
    found = disclosed_levels([law], [ILL], 1_000, ["lab"])
    assert (("ill", "yes") in found) is is_rare


def test_a_column_that_was_not_asked_is_disclosed_with_it() -> None:
    """All who take a drug are ill: who takes it is told, so who of the ill does is, too."""
    p_x = np.array([30, 70, 900]) / 1_000  # takes it and is ill, ill, neither
    drug = Variable("drug", np.eye(2)[[0, 1, 1]], ("yes", "no"))
    ill = Variable("ill", np.eye(2)[[0, 0, 1]], ("yes", "no"))
    law = np.array([[1, 0, 0], [0, 1, 1]]) * p_x
    found = disclosed_levels([law], [drug, ill], 1_000, ["lab"])
    assert found["drug", "yes"].people == pytest.approx(30, abs=ROUNDING)
    assert (found["ill", "yes"].people, found["ill", "yes"].of) == (pytest.approx(30), 100)


def named(people: float, *whom: str) -> Disclosure:
    return Disclosure("ill", "yes", people, 100, 0.95, whom)


def test_what_was_so_before_is_no_news() -> None:
    lab, key = frozenset({"lab"}), ("ill", "yes")
    for before, after, is_news in [
        (60.0, 60.0, False),
        (60.0, 60.9, False),
        (60.0, 61.0, True),
        (0.3, 0.5, False),
        (0.3, 0.6, True),
        (60.0, 40.0, False),
    ]:
        held, known = {lab: {key: named(after, "lab")}}, {lab: {key: named(before, "lab")}}
        assert bool(list_disclosures(held, known)) is is_news
        assert list_disclosures(held) == (named(after, "lab"),)


def test_a_coalition_is_named_where_its_parties_alone_can_tell_less() -> None:
    key = ("ill", "yes")
    alone, both = frozenset({"a"}), frozenset({"a", "b"})
    held = {both: {key: named(60.0, "a", "b")}, alone: {key: named(60.0, "a")}}
    assert list_disclosures(held) == (named(60.0, "a"),)
    held[both] = {key: named(80.0, "a", "b")}
    assert list_disclosures(held) == (named(80.0, "a", "b"), named(60.0, "a"))


def test_the_most_complete_comes_first_and_many_are_counted() -> None:
    levels = {("ill", str(k)): Disclosure("ill", str(k), k, 10, 1.0, ("lab",)) for k in range(1, 9)}
    found = list_disclosures({frozenset({"lab"}): levels})
    assert [each.people for each in found] == [8, 7, 6, 5, 4, 3, 2, 1]
    *lines, last = disclosure_lines(found, "would name")
    assert lines[0] == "lab would name 8 of the 10 with ill = 8, 100 % sure"
    assert (len(lines), last) == (5, "3 more levels like this")


def test_figures_of_a_disclosure_are_said_in_people() -> None:
    said = disclosure_in_words(Disclosure("mgus", "1", 106.2, 115, 0.9987, ("insurer",)))
    assert said == "106 of the 115 with mgus = 1, 99.9 % sure"
    said = disclosure_in_words(Disclosure("a > 1", "true", 0.394, 1, 0.9, ("a", "b"), 2))
    assert said == "0.39 of the 1 with (a > 1) = true, 90 % sure (cohort 2)"


def test_a_bound_on_the_worst_answer_rules_disclosures_out() -> None:
    """2 % are ill: an answer that makes that 45 times as likely makes it 90 % sure."""
    p_class = np.array([0.02, 0.98])
    assert not may_disclose(np.log2(44.9), p_class, [ILL])
    assert may_disclose(np.log2(45), p_class, [ILL])


@pytest.mark.parametrize("p", [1 / 7_874, 115 / 7_874, 0.1, 0.3, 0.49])
@pytest.mark.parametrize("bits", [0.001, 0.02, 0.1, 0.5, 1.0])
def test_what_can_be_named_within_a_limit_costs_just_that(p: float, bits: float) -> None:
    share, sure = most_named(p, bits)
    named = share * p / sure
    law = np.array([[named * sure, named * (1 - sure)], [p - share * p, 0.0]])
    law[1, 1] = 1 - law.sum()
    assert (law >= -ROUNDING).all()
    told = mutual_information(np.maximum(law, 0.0))
    is_all = (share, sure) == (1.0, 1.0)
    assert told == pytest.approx(entropy(np.array([p, 1 - p])) if is_all else bits, abs=1e-6)
    assert (sure == 0.9) or share == 1.0
    [found] = disclosed_levels([law], [ILL], 10_000, ["lab"]).values()
    assert found.people == pytest.approx(10_000 * p * share, abs=1e-4)


def test_no_channel_within_a_limit_names_more_than_can_be_named() -> None:
    """Ten thousand random channels of three letters, at the bits that each of them tells."""
    rng = np.random.default_rng(0)
    for _ in range(10_000):
        p = rng.uniform(0.01, 0.49)
        channel = rng.dirichlet(np.full(3, 0.3), size=2)
        law = (channel * np.array([[p], [1 - p]])).T
        found = disclosed_levels([law], [ILL], 1_000_000, ["lab"])
        if ("ill", "yes") in found:
            most = most_named(p, mutual_information(law))[0] * p * 1_000_000
            assert found["ill", "yes"].people <= most + 1e-3


def test_a_cap_forbids_to_name_anybody() -> None:
    assert most_named(0.1, 1.0, cap=np.log2(8.99)) == (0.0, 0.0)
    assert most_named(0.1, 1.0, cap=np.log2(9)) == (1.0, pytest.approx(0.9))
    assert most_named(0.1, 1.0, cap=np.log2(9.5)) == (1.0, pytest.approx(0.95))
