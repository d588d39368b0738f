"""Sequential release: limits hold for every coalition, whatever the memory forgets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.scheme.memory import BoundedMemory, ExactHistory, merge_states

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
    for release in scheme.history:
        walks = {
            (*letters, letter): (
                mass * release.channel[state, :, letter],
                release.next_state[state, letter],
            )
            for letters, (mass, state) in walks.items()
            for letter in range(release.channel.shape[2])
            if (mass * release.channel[state, :, letter]).sum() > 0
        }
    shape = tuple(release.channel.shape[2] for release in scheme.history)
    law = np.zeros((*shape, len(scheme.p_x)))
    for letters, (mass, _) in walks.items():
        law[letters] = mass
    return law


def brute_leakage(scheme: tacit.Scheme, parties: set[str]) -> float:
    law = law_of_letters(scheme)
    unseen = tuple(k for k, r in enumerate(scheme.history) if r.party not in parties)
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
    assert again.distortion == pytest.approx(first.distortion, abs=2 * GAP_TOL)
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
    assert both.request.p_r_given_x.shape == (12, 4)

    def is_old_and_rich(education: int, income: int, age: int) -> bool:
        return income == 1 and age == 1

    asked = scheme.release(is_old_and_rich, party="b", individual=0.2)
    assert asked.request.letters == (False, True)
    assert asked.request.p_r_given_x[:, 1].sum() == 3  # one cell per level of education
    noisy = np.full((12, 2), 0.5)
    assert scheme.release(noisy, party="c", individual=0.2).distortion == pytest.approx(0.5)


def test_information_and_matrix_utilities_reach_the_engine():
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES)
    told = scheme.release("income", party="a", utility="information", individual=0.1)
    assert 0 < told.distortion <= 0.1 + LIMIT_TOL
    matrix = np.array([[0.0, 1.0], [5.0, 0.0], [0.4, 0.4]])
    asked = scheme.release("age", party="b", utility=matrix, individual=0.2)
    assert asked.channel.shape[2] == 3


# --- policies -----------------------------------------------------------------------------------


def test_any_two_parties_stay_within_their_limit():
    policy = tacit.Policy(everyone=0.5, any_size=2, bits=0.25)
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, policy=policy)
    for asked, party in [("education", "a"), ("income", "b"), ("age", "c"), ("education", "d")]:
        scheme.release(asked, party=party, individual=0.2)
    for pair in combinations("abcd", 2):
        assert brute_leakage(scheme, set(pair)) <= 0.25 + LIMIT_TOL
    assert scheme.leakage() <= 0.5 + LIMIT_TOL


def test_groups_are_limited_as_their_members_arrive():
    policy = tacit.Policy(groups={("a", "c"): 0.22})
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, policy=policy)
    for asked, party in [("education", "a"), ("income", "b"), ("age", "c")]:
        scheme.release(asked, party=party, individual=0.2)
    assert brute_leakage(scheme, {"a", "c"}) <= 0.22 + LIMIT_TOL
    assert scheme.leakage({"a", "b"}) > 0.3  # nobody asked to limit these


def test_limits_on_several_sizes_stand_together():
    policy = tacit.Policy(sizes={3: 0.4, 2: 0.3})
    assert policy == tacit.Policy(sizes={2: 0.3}, any_size=3, bits=0.4)
    for memory in (None, 4):
        scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, policy=policy, memory=memory)
        for asked, party in [("education", "a"), ("income", "b"), ("age", "c"), ("income", "d")]:
            scheme.release(asked, party=party, individual=0.2)
        for size, bits in policy.sizes.items():
            held = [brute_leakage(scheme, set(each)) for each in combinations("abcd", size)]
            assert bits - 0.01 < max(held) <= bits + LIMIT_TOL


def test_a_policy_says_which_limit_binds():
    policy = tacit.Policy(0.9, sizes={2: 0.5, 4: 0.8}, groups={("a", "b"): 0.3, ("c", "d"): 0.5})
    whom = {
        who: [limit.in_words for limit in policy.binding_on(who)] for who in ("ab", "cd", "abc")
    }
    assert whom == {"ab": ["a + b"], "cd": ["any 2 parties", "c + d"], "abc": ["any 4 parties"]}
    assert policy.in_words == (
        "everyone: 0.9 bits; any 2 parties: 0.5 bits; any 4 parties: 0.8 bits; "
        "a + b: 0.3 bits; c + d: 0.5 bits"
    )
    assert tacit.Policy().in_words == "none"
    assert tacit.Policy(any_size=1, bits=0.2).in_words == "any single party: 0.2 bits"


def test_coalitions_whose_names_join_to_the_same_text_keep_their_own_limits():
    """x and "y+z" are not "x+y" and z."""
    groups = {("p", "x", "y+z"): 0.35, ("p", "x+y", "z"): 0.9}
    scheme = tacit.Scheme([1] * 8, policy=tacit.Policy(groups=groups))
    for place, party in enumerate(["x", "y+z", "x+y", "z", "p"]):
        bit = np.eye(2)[np.arange(8) >> place % 3 & 1]
        scheme.release(bit, party=party, individual=0.3)
    assert brute_leakage(scheme, {"p", "x", "y+z"}) <= 0.35 + LIMIT_TOL
    assert brute_leakage(scheme, {"p", "x+y", "z"}) <= 0.9 + LIMIT_TOL


def test_policy_lists_exactly_the_coalitions_that_a_release_feeds():
    policy = tacit.Policy(everyone=0.9, any_size=2, bits=0.5, groups={("a", "d"): 0.3})
    assert policy.limits_on("d", {"a", "b"}) == {
        frozenset("ad"): 0.3,
        frozenset("bd"): 0.5,
        frozenset("abd"): 0.9,
    }
    assert policy.limits_on("a", ()) == {frozenset("a"): 0.3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"everyone": -1.0}, "everyone is -1.0"),
        ({"any_size": 2}, "go together"),
        ({"any_size": 0, "bits": 0.1}, "any 0 parties: a coalition has 1 party or more"),
        ({"sizes": {2: 0.3, 0: 0.1}}, "any 0 parties: a coalition has 1 party or more"),
        ({"sizes": {1: -0.1}}, "the limit on any single party is -0.1"),
        ({"any_size": 2, "bits": float("nan")}, "the limit on any 2 parties is nan"),
        ({"groups": {"ab": 0.1}}, "no tuple of party names"),
        ({"groups": {("a",): -0.1}}, "groups"),
    ],
)
def test_bad_policies_are_named(options, message):
    with pytest.raises(tacit.InvalidInputError, match=message):
        tacit.Policy(**options)


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
        (np.ones((3, 2)), {}, "one row per x"),
        (np.ones((12, 2)), {}, "no law"),
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
    policy = tacit.Policy(any_size=2, bits=0.25)
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, policy=policy, memory=memory)
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
        assert mine.distortion == pytest.approx(theirs.distortion, abs=1e-5)


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_merging_keeps_the_mass_and_the_cap(seed, n_states, n_x, cap):
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(n_states * n_x, 0.5)).reshape(n_states, n_x)
    mass[rng.random(n_states) < 0.2] = 0.0
    labels = merge_states(mass, cap)
    assert ((labels >= 0) == (mass.sum(axis=1) > 1e-15)).all()
    assert labels.max(initial=-1) < cap


def after_two_rare_letters(next_state: list[list[int]] | None) -> BoundedMemory:
    """A memory after a release with two letters that are rare and mean opposite things."""
    memory = BoundedMemory.start(np.array([0.5, 0.5]), 8, tacit.Policy())
    rare = 2.0**-50
    channel = np.array([[[1 - 3 * rare, 2 * rare, rare], [1 - 3 * rare, rare, 2 * rare]]])
    state = None if next_state is None else np.array(next_state)
    return memory.after("a", channel, state)[0]


def test_rare_states_with_other_posteriors_are_kept_apart_below_the_cap():
    memory = after_two_rare_letters(None)
    assert len(memory.mass) == 3
    assert memory.is_sufficient


def test_merging_rare_states_loses_though_hardly_any_information_on_average():
    memory = after_two_rare_letters([[0, 1, 1]])
    assert tacit.mutual_information(memory.mass) < 1e-14
    assert not memory.is_sufficient
    blind, _ = memory.after("b", np.ones((2, 2, 1)))
    assert not blind.is_sufficient  # what is lost stays lost


def test_merging_joins_equal_posteriors_first():
    law = np.array([[0.1, 0.2], [0.2, 0.1], [0.05, 0.1], [0.15, 0.1]])
    labels = merge_states(law, 3)
    assert labels[0] == labels[2]
    assert len(set(labels.tolist())) == 3


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


# --- letters that tell the same, and schemes resumed ---------------------------------------


def random_channel(rng, n_m, n_x, n_rhat):
    return rng.dirichlet(np.full(n_rhat, 0.7), size=(n_m, n_x))


@given(st.integers(0, 2**32 - 1))
def test_letters_in_proportion_become_one_history(seed):
    rng = np.random.default_rng(seed)
    p_x = rng.dirichlet(np.ones(4))
    split = random_channel(rng, 1, 4, 3)
    split = np.concatenate([split[..., :2], split[..., 2:] * 0.25, split[..., 2:] * 0.75], axis=-1)
    memory, state = ExactHistory.start(p_x).after("a", split)
    assert len(memory.mass) == 3
    assert state[0, 2] == state[0, 3]
    second = random_channel(rng, 3, 4, 2)
    memory, _ = memory.after("b", second)
    # The reference tells the two letters apart all along.
    by_letter = p_x[:, None, None] * np.einsum("xa,axb->xab", split[0], second[[0, 1, 2, 2]])
    for parties, law in {
        frozenset({"a"}): by_letter.sum(axis=2).T,
        frozenset({"b"}): by_letter.sum(axis=1).T,
        frozenset({"a", "b"}): by_letter.reshape(4, -1).T,
    }.items():
        held = memory.held(parties)
        assert tacit.mutual_information(held) == pytest.approx(
            tacit.mutual_information(law), abs=1e-12
        )


def test_letters_that_differ_in_one_history_stay_apart():
    p_x = np.array([0.5, 0.5])
    memory, _ = ExactHistory.start(p_x).after("a", np.array([[[0.7, 0.3], [0.2, 0.8]]]))
    channel = np.full((2, 2, 2), 0.5)
    channel[1, 0] = [0.4, 0.6]
    memory, state = memory.after("b", channel)
    assert len(memory.mass) == 4
    assert (np.sort(state.reshape(-1)) == np.arange(4)).all()


def test_histories_are_kept_however_rare():
    rare = np.array([[[1 - 1e-6, 1e-6], [1 - 2e-6, 2e-6]]])
    memory = ExactHistory.start(np.array([0.5, 0.5]))
    for party in "abcd":
        memory, state = memory.after(party, np.repeat(rare, len(memory.mass), axis=0))
    assert len(memory.mass) == 16
    assert (state >= 0).all()
    assert memory.mass[-1] == pytest.approx([0.5e-24, 8e-24])
    never = np.repeat([[[1.0, 0.0], [1.0, 0.0]]], 16, axis=0)
    memory, state = memory.after("e", never)
    assert len(memory.mass) == 16
    assert (state[:, 1] == -1).all()


@pytest.mark.parametrize("memory", [None, 5])
def test_a_scheme_resumed_is_the_same_scheme(memory):
    policy = tacit.Policy(everyone=1.2, any_size=2, bits=0.8)
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, policy=policy, memory=memory)
    for name, party in zip(ATTRIBUTES, "aba", strict=False):
        scheme.release(name, party=party, individual=0.3)
    start = tacit.Scheme(scheme.p_x, policy=policy, memory=memory)._memory
    for step in scheme.steps:
        start, _ = start.after(step.party, step.channel, step.next_state)
    again = tacit.Scheme.resume(scheme.p_x, start, scheme.steps, policy)
    for parties in (None, {"a"}, {"b"}, {"a", "b"}):
        assert again.leakage(parties) == scheme.leakage(parties)
    law = scheme.history[0].request.p_r_given_x
    designs = [each.design(law, party="c", individual=0.2) for each in (again, scheme)]
    assert np.array_equal(designs[0].channel, designs[1].channel)
    assert again.n_states == scheme.n_states


def test_a_design_changes_nothing_and_leaves_the_reserve():
    policy = tacit.Policy(everyone=0.3)
    scheme = tacit.Scheme(counts().reshape(-1), policy=policy, reserve=0.05)
    design = scheme.design(np.eye(counts().size), party="a", individual=0.2)
    assert scheme.steps == ()
    told = design.solution.leakage[design.keys[frozenset({"a"})]]
    assert told == pytest.approx(0.15, abs=1e-6)


def test_a_named_group_is_carried_among_many_parties():
    policy = tacit.Policy(groups={("a", "c", "e"): 0.6})
    scheme = tacit.Scheme.from_counts(counts(), ATTRIBUTES, policy=policy, memory=8)
    for party in "abcde":
        scheme.release("education", party=party, individual=0.15)
    assert scheme.is_exact({"a", "c", "e"})
    assert not scheme.is_exact({"a", "b"})
    assert scheme.leakage({"a", "c", "e"}) <= 0.6 + 1e-9
