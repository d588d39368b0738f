"""Sequential release: limits hold for every coalition, whatever the memory forgets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import tacit
from tacit.limits import Limit
from tacit.scheme.history import ExactHistory

GAP_TOL = 1e-6
LIMIT_TOL = 2e-9
"""Bits: a limit may be met up to the tolerance that the scheme grants to rounding."""

ATTRIBUTES = ("education", "income", "age")


def counts(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(12, 1.5)).reshape(3, 2, 2)


def four_releases(**options: object) -> tacit.Scheme:
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, **options)
    for k, (asked, party) in enumerate(
        [("education", "a"), ("income", "b"), ("age", "c"), ("education", "d")]
    ):
        scheme.release(asked, party=party, individual=0.2, collusion=0.2 + 0.1 * k)
    return scheme


def law_of_letters(scheme: tacit.Scheme) -> np.ndarray:
    """p(rhat_1, ..., rhat_k, x) by walking every sequence of letters, state by state."""
    walks = {(): (scheme.p_x, 0)}
    for release in scheme.steps:
        walks = {
            (*letters, letter): (
                mass * release.channel[state, :, letter],
                release.next_state[state, letter],
            )
            for letters, (mass, state) in walks.items()
            for letter in range(release.channel.shape[2])
            if (mass * release.channel[state, :, letter]).sum() > 0
        }
    shape = tuple(release.channel.shape[2] for release in scheme.steps)
    law = np.zeros((*shape, len(scheme.p_x)))
    for letters, (mass, _) in walks.items():
        law[letters] = mass
    return law


def brute_leakage(scheme: tacit.Scheme, parties: set[str]) -> float:
    law = law_of_letters(scheme)
    unseen = tuple(k for k, r in enumerate(scheme.steps) if not r.holders & parties)
    held = law.sum(axis=unseen)
    return tacit.mutual_information(held.reshape(-1, held.shape[-1]))


# --- exact history ------------------------------------------------------------------------------


def test_leakage_of_every_coalition_is_what_brute_force_finds():
    scheme = four_releases()
    for size in range(1, 5):
        for parties in combinations("abcd", size):
            assert scheme.is_exact(parties)
            assert scheme.leakage(parties) == pytest.approx(
                brute_leakage(scheme, set(parties)), abs=1e-9
            )
    assert scheme.leakage() == pytest.approx(brute_leakage(scheme, set("abcd")), abs=1e-9)


def test_every_release_meets_its_limits_and_is_certified():
    scheme = four_releases()
    for k, release in enumerate(scheme.history):
        assert release.solution.gap <= GAP_TOL
        assert release.everyone_bits <= 0.2 + 0.1 * k + LIMIT_TOL
        assert scheme.leakage({release.party}) <= 0.2 + LIMIT_TOL


def test_the_first_repeat_is_free_and_adds_no_state():
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES)
    first = scheme.release("education", party="a", individual=0.2)
    scheme.release("income", party="b", individual=0.1, collusion=0.3)
    before, states = scheme.leakage(), scheme.n_states
    again = scheme.release("education", party="c", individual=0.2, collusion=0.9)
    assert again.value == pytest.approx(first.value, abs=2 * GAP_TOL)
    assert scheme.leakage() == pytest.approx(before, abs=1e-12)
    assert scheme.n_states == states


def test_a_party_that_comes_back_is_limited_in_all_it_holds():
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES)
    scheme.release("education", party="a", individual=0.2)
    scheme.release("income", party="b", individual=0.2)
    scheme.release("age", party="a", individual=0.3)
    assert 0.2 < scheme.leakage({"a"}) <= 0.3 + LIMIT_TOL
    assert scheme.leakage({"a"}) == pytest.approx(brute_leakage(scheme, {"a"}), abs=1e-9)


def test_requests_by_function_several_attributes_and_law():
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES)
    both = scheme.release(("income", "age"), party="a", individual=0.2)
    assert both.variable.p_r_given_x.shape == (12, 4)

    def is_old_and_rich(education: int, income: int, age: int) -> bool:
        return income == 1 and age == 1

    asked = scheme.release(is_old_and_rich, party="b", individual=0.2)
    assert asked.variable.letters == (False, True)
    assert asked.variable.p_r_given_x[:, 1].sum() == 3  # one cell per level of education
    noisy = np.full((12, 2), 0.5)
    assert scheme.release(noisy, party="c", individual=0.2).value == pytest.approx(0.5)


def test_information_and_matrix_utilities_reach_the_engine():
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES)
    told = scheme.release("income", party="a", utility="information", individual=0.1)
    assert 0 < told.value <= 0.1 + LIMIT_TOL
    matrix = np.array([[0.0, 1.0], [5.0, 0.0], [0.4, 0.4]])
    asked = scheme.release("age", party="b", utility=matrix, individual=0.2)
    assert asked.channel.shape[2] == 3


@pytest.mark.parametrize("kind", [tacit.Scheme, tacit.NonAdaptiveScheme])
def test_a_limit_on_work_reaches_the_engine(kind):
    scheme = kind.from_counts(counts(), ATTRIBUTES)
    limits = {"party": "a", "individual": 0.1, "work_limit": 1e-6}
    for searched in ({"utility": "absolute", "objective": "worst-level"}, {"ceilings": {0: 0.9}}):
        soon = scheme.design("education", **searched, **limits).solution
        assert soon.status is tacit.Status.OUT_OF_TIME
    assert scheme.design("income", **limits).solution.status is tacit.Status.OPTIMAL


# --- limits -------------------------------------------------------------------------------------


def test_any_two_parties_stay_within_their_limit():
    limits = [Limit("everyone", 0.5), Limit("any 2", 0.25)]
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, limits=limits)
    for asked, party in [("education", "a"), ("income", "b"), ("age", "c"), ("education", "d")]:
        scheme.release(asked, party=party, individual=0.2)
    for pair in combinations("abcd", 2):
        assert brute_leakage(scheme, set(pair)) <= 0.25 + LIMIT_TOL
    assert scheme.leakage() <= 0.5 + LIMIT_TOL


def test_groups_are_limited_as_their_members_arrive():
    limits = [Limit("a+c", 0.22)]
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, limits=limits)
    for asked, party in [("education", "a"), ("income", "b"), ("age", "c")]:
        scheme.release(asked, party=party, individual=0.2)
    assert brute_leakage(scheme, {"a", "c"}) <= 0.22 + LIMIT_TOL
    assert scheme.leakage({"a", "b"}) > 0.3  # nobody asked to limit these


def test_limits_on_several_sizes_stand_together():
    limits = [Limit("any 3", 0.4), Limit("any 2", 0.3)]
    for memory in (None, 4):
        scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, limits=limits, memory=memory)
        for asked, party in [("education", "a"), ("income", "b"), ("age", "c"), ("income", "d")]:
            scheme.release(asked, party=party, individual=0.2)
        for size, bits in ((2, 0.3), (3, 0.4)):
            held = [brute_leakage(scheme, set(each)) for each in combinations("abcd", size)]
            assert bits - 0.01 < max(held) <= bits + LIMIT_TOL


# --- refusals -----------------------------------------------------------------------------------


def test_a_refusal_says_who_binds_and_changes_nothing():
    scheme = four_releases()
    before = scheme.history, scheme.leakage(), scheme.n_states
    with pytest.raises(tacit.InfeasibleError) as refused:
        scheme.release("income", party="e", individual=0.05, collusion=0.1)
    assert refused.value.coalition == ("a", "b", "c", "d", "e")
    assert refused.value.limit_bits == 0.1
    assert refused.value.bits_short == pytest.approx(scheme.leakage() - 0.1)
    assert refused.value.suggestions == (tacit.Suggestion("release", {"individual": 0.1}),)
    assert (scheme.history, scheme.leakage(), scheme.n_states) == before


def test_a_returning_party_below_what_it_holds_is_refused():
    scheme = four_releases()
    with pytest.raises(tacit.InfeasibleError) as refused:
        scheme.release("income", party="a", individual=0.1)
    assert refused.value.coalition == ("a",)


@pytest.mark.parametrize(
    ("asked", "options", "message"),
    [
        ("height", {}, "unknown"),
        (np.ones((3, 2)), {}, "p_r_given_x has shape .* one row for each letter x"),
        (np.ones((12, 2)), {}, "row 0 of p_r_given_x sums to 2"),
        ("age", {"individual": 0.5, "collusion": 0.3}, "above collusion"),
        ("age", {"individual": -0.5}, "individual"),
        ("age", {"utility": "typo"}, "utility"),
    ],
)
def test_bad_requests_are_named_and_change_nothing(asked, options, message):
    scheme = four_releases()
    with pytest.raises(tacit.InvalidInputError, match=message):
        scheme.release(asked, party="e", **options)
    assert len(scheme.history) == 4


def test_the_limit_on_everyone_never_decreases():
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES)
    scheme.release("income", party="a", individual=0.1, collusion=0.4)
    with pytest.raises(tacit.InvalidInputError, match="never decreases"):
        scheme.release("age", party="b", individual=0.1, collusion=0.3)
    assert len(scheme.history) == 1


def test_bad_schemes_are_named():
    with pytest.raises(tacit.InvalidInputError, match="one distinct name"):
        tacit.Scheme.from_counts(counts(), ("education", "income"))
    with pytest.raises(tacit.InvalidInputError, match="memory is 0"):
        tacit.Scheme([0.5, 0.5], memory=0)
    with pytest.raises(tacit.InvalidInputError, match="no attribute names"):
        tacit.Scheme([0.5, 0.5]).release("age", party="a")
    with pytest.raises(tacit.InvalidInputError, match="received nothing"):
        four_releases().leakage({"nobody"})


# --- bounded memory -----------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [1, 2, 5, 16])
def test_the_bound_on_everyone_is_never_below_the_truth(memory):
    scheme = four_releases(memory=memory)
    assert scheme.n_states <= memory
    truth = brute_leakage(scheme, set("abcd"))
    assert truth <= scheme.leakage() + 1e-12
    assert scheme.leakage() <= 0.5 + LIMIT_TOL
    # Sixteen states are enough for these four releases: nothing was lost.
    assert scheme.is_exact() == (memory == 16)
    if scheme.is_exact():
        assert scheme.leakage(set("abcd")) == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("memory", [2, 6])
def test_limited_coalitions_stay_exact_beside_a_bounded_memory(memory):
    limits = [Limit("any 2", 0.25)]
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, limits=limits, memory=memory)
    for asked, party in [("education", "a"), ("income", "b"), ("age", "c"), ("income", "a")]:
        scheme.release(asked, party=party, individual=0.24)
    for pair in combinations("abc", 2):
        truth = brute_leakage(scheme, set(pair))
        assert scheme.is_exact(pair)
        assert scheme.leakage(pair) == pytest.approx(truth, abs=1e-9)
        assert truth <= 0.25 + LIMIT_TOL


def test_enough_memory_forgets_nothing():
    exact, bounded = four_releases(), four_releases(memory=1000)
    assert bounded.leakage() == pytest.approx(exact.leakage(), abs=1e-5)
    for mine, theirs in zip(exact.history, bounded.history, strict=True):
        assert mine.value == pytest.approx(theirs.value, abs=1e-5)


# --- sampling -----------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [None, 3])
def test_samples_follow_the_law_of_the_scheme(memory):
    scheme = four_releases(memory=memory)
    rng = np.random.default_rng(5)
    n = 200_000
    x = rng.choice(len(scheme.p_x), size=n, p=scheme.p_x)
    letters = scheme.sample(x, rng)
    law = law_of_letters(scheme)
    seen = np.zeros_like(law)
    np.add.at(seen, (*letters.T, x), 1.0)
    assert (seen[law == 0] == 0).all()
    likely = law * n > 5
    statistic = ((seen - law * n) ** 2 / np.where(likely, law * n, 1.0))[likely].sum()
    # Chi-square with about likely.sum() degrees of freedom: six standard deviations.
    degrees = likely.sum()
    assert abs(statistic - degrees) < 6 * np.sqrt(2 * degrees)


def test_bad_codes_are_named():
    scheme = four_releases()
    with pytest.raises(tacit.InvalidInputError, match="x_codes"):
        scheme.sample([0, 99], np.random.default_rng(0))
    with pytest.raises(tacit.InvalidInputError, match="x_codes"):
        scheme.sample([0.5], np.random.default_rng(0))


def test_zero_cells_are_kept():
    table = counts().copy()
    table[0, 0, 0] = 0.0
    scheme = tacit.Scheme.from_counts(table, ATTRIBUTES)
    release = scheme.release("education", party="a", individual=0.2)
    assert release.channel.shape == (1, 12, 3)
    assert isinstance(scheme._memory, ExactHistory)


# --- schemes resumed, and designs ---------------------------------------------------------------


@pytest.mark.parametrize("memory", [None, 5])
def test_a_scheme_resumed_is_the_same_scheme(memory):
    limits = [Limit("everyone", 1.2), Limit("any 2", 0.8)]
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, limits=limits, memory=memory)
    for name, party in zip(ATTRIBUTES, "aba", strict=False):
        scheme.release(name, party=party, individual=0.3)
    start = tacit.Scheme(scheme.p_x, limits=limits, memory=memory)._memory
    for step in scheme.steps:
        start = start.refine(step.class_of_x, scheme.p_x)
        start, _ = start.after(step.party, step.table, step.transition)
    again = tacit.Scheme.resume(scheme.p_x, start, scheme.steps, limits)
    for parties in (None, {"a"}, {"b"}, {"a", "b"}):
        assert again.leakage(parties) == scheme.leakage(parties)
    law = scheme.history[0].variable.p_r_given_x
    designs = [each.design(law, party="c", individual=0.2) for each in (again, scheme)]
    assert np.array_equal(designs[0].channel, designs[1].channel)
    assert again.n_states == scheme.n_states


def test_a_design_changes_nothing_and_leaves_the_reserve():
    limits = [Limit("everyone", 0.3)]
    scheme = tacit.Scheme(counts().reshape(-1), limits=limits, reserve=0.05)
    design = scheme.design(np.eye(counts().size), party="a", individual=0.2)
    assert scheme.steps == ()
    told = design.solution.leakage[design.keys[frozenset({"a"})]]
    assert told == pytest.approx(0.15, abs=1e-6)


def test_a_named_group_is_carried_among_many_parties():
    limits = [Limit("a+c+e", 0.6)]
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, limits=limits, memory=8)
    for party in "abcde":
        scheme.release("education", party=party, individual=0.15)
    assert scheme.is_exact({"a", "c", "e"})
    assert not scheme.is_exact({"a", "b"})
    assert scheme.leakage({"a", "c", "e"}) <= 0.6 + 1e-9


# --- notebooks ----------------------------------------------------------------------------------


def test_a_scheme_and_its_releases_show_themselves():
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, limits=[Limit("everyone", 0.9)])
    assert repr(scheme).startswith("Scheme(0 releases; everyone holds 0.0000 of 3.")
    first = scheme.release("income", party="<lab>", individual=0.2)
    scheme.release("age", party="b", utility="information", individual=0.1)
    assert "2 releases to <lab>, b;" in repr(scheme)
    assert repr(scheme).endswith("limits: everyone: 0.9 bits)")
    assert repr(first).startswith("Release('income' to '<lab>': 0.")
    assert "distortion, everyone holds 0.2000 bits" in repr(first)
    assert "bits of information" in repr(scheme.history[1])
    for page in (scheme._repr_html_(), first._repr_html_()):
        assert page.startswith("<table>")
        assert "&lt;lab&gt;" in page
        assert "<lab>" not in page
    assert first._repr_html_().count("<tr>") == 1 + first.p_rhat_given_r.shape[0]


# --- parties that come back ---------------------------------------------------------------------

VISIT_BITS = 0.08
SHARE_OF_LIMIT = 0.01
"""How far above the truth, in shares of a limit, what is held may be on these sequences."""


def visits(n_visits: int, **options: object) -> tacit.Scheme:
    """Two parties in turn, each told 0.08 bit more at every visit."""
    scheme = tacit.Scheme.from_counts(counts(1), ATTRIBUTES, **options)
    for visit in range(n_visits):
        for place, party in enumerate("ab"):
            asked = ATTRIBUTES[(place + visit) % 3]
            scheme.release(asked, party=party, individual=VISIT_BITS * (visit + 1))
    return scheme


@pytest.mark.parametrize("limits", [[], [Limit("everyone", 0.5)]])
def test_merged_views_cost_next_to_nothing_where_exact_history_is_affordable(limits, monkeypatch):
    monkeypatch.setattr("tacit.scheme.bounded_memory.MOST_LETTERS", 8)
    monkeypatch.setattr("tacit.scheme.bounded_memory.FEWEST_LETTERS", 8)
    exact, merged = visits(3, limits=limits), visits(3, limits=limits, memory=16)
    values = [np.mean([release.value for release in each.history]) for each in (exact, merged)]
    assert values[1] <= 1.01 * values[0]
    for party in "ab":
        truth, held = brute_leakage(merged, {party}), merged.leakage({party})
        limit = VISIT_BITS * 3
        assert truth - 1e-12 <= held <= truth + SHARE_OF_LIMIT * limit
        assert held <= limit + LIMIT_TOL
        assert merged.view({party}).n_letters <= 8
        assert not merged.is_exact({party})
        assert merged.law({party}) is None


def test_parties_that_keep_coming_back_stay_within_every_limit(monkeypatch):
    monkeypatch.setattr("tacit.scheme.bounded_memory.MOST_LETTERS", 8)
    monkeypatch.setattr("tacit.scheme.bounded_memory.FEWEST_LETTERS", 8)
    limits = [Limit("any 1", 0.3), Limit("any 2", 0.4)]
    scheme = tacit.Scheme.from_counts(counts(2), ATTRIBUTES, limits=limits, memory=8)
    for visit in range(15):
        scheme.release(ATTRIBUTES[visit % 3], party="abc"[visit % 3], gap_tol=1e-4)
        for size, bits in ((1, 0.3), (2, 0.4)):
            for parties in combinations(sorted(scheme.parties), size):
                assert scheme.leakage(parties) <= bits + LIMIT_TOL
                assert scheme.view(parties).n_letters <= 8
    assert scheme.view({"a"}).rise <= 0.01 * 0.3


@pytest.mark.parametrize("memory", [None, 32])
def test_a_coalition_with_nothing_left_is_told_nothing_new(memory: int | None) -> None:
    rng = np.random.default_rng(5)
    limits = [Limit("a+b", 0.3)]
    scheme = tacit.Scheme(rng.dirichlet(np.ones(8)), limits=limits, memory=memory)

    def ask(party: str) -> tacit.Release:
        answers = np.eye(3)[rng.integers(0, 3, size=8)]
        return scheme.release(answers, party=party, individual=1.0, gap_tol=0.1 * GAP_TOL)

    ask("a")
    ask("b")
    held = scheme.leakage({"a", "b"})
    assert held == pytest.approx(0.3, abs=GAP_TOL)
    ask("c")
    again = ask("a")
    assert again.solution.status is tacit.Status.OPTIMAL
    assert scheme.leakage({"a", "b"}) == pytest.approx(held, abs=LIMIT_TOL)
