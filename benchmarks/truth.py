"""What coalitions truly hold after many releases, estimated from simulated records.

For a record with letters y of a coalition, p(x | y) follows from the releases: all states of the
memory are carried, nothing is merged. The mean of D(p(x | y) || p(x)) over records drawn from the
scheme is I(Y; X). What the merged letter w of the same record tells is subtracted, and its mean,
I(W; X), is added: the difference varies far less. Where a coalition was given a copy of letters, it
was followed again from the first release on, by merges that a scheme does not keep: w tells nothing
then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

import tacit
from tacit.limits import Parties
from tacit.scheme import BoundedMemory, CoalitionView, Step

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a coalition is said to hold, and what it holds.

    Attributes:
        parties: the coalition.
        held_bits: what it is said to hold.
        true_bits: an estimate of what it holds.
        error_bits: standard error of that.
    """

    parties: tuple[str, ...]
    held_bits: float
    true_bits: float
    error_bits: float


def estimate(
    scheme: tacit.Scheme,
    memory: int,
    coalitions: Collection[Collection[str]],
    *,
    n_records: int,
    seed: int = 0,
) -> list[Truth]:
    """The truth for coalitions that are carried beside a memory of so many states."""
    rng = np.random.default_rng(seed)
    x = rng.choice(len(scheme.p_x), size=n_records, p=scheme.p_x)
    letters = scheme.sample(x, rng)
    carried = [frozenset(each) for each in coalitions]
    merged = dict.fromkeys(
        (each for each in carried if not has_copy(scheme, each)),
        np.zeros(n_records, dtype=np.intp),
    )
    laws = dict.fromkeys(carried, np.repeat(scheme.p_x[:, None, None], n_records, axis=1))
    for step, own, before in _replay(scheme, memory, letters):
        for each in carried:
            laws[each] = _follow(laws[each], step, own if step.holders & each else None)
        for each in merged:
            view = before.view(each & before.present)
            assert view is not None, f"{sorted(each)} is not carried"
            merged[each] = _follow_merges(merged[each], view, each, step, own)
    return [_truth(scheme, each, laws[each], merged.get(each)) for each in carried]


def has_copy(scheme: tacit.Scheme, coalition: Parties) -> bool:
    """Whether a coalition has letters that none of its parties received when they were drawn."""
    return any(step.holders & coalition and step.party not in coalition for step in scheme.steps)


def estimate_everyone(scheme: tacit.Scheme, *, n_records: int, seed: int = 0) -> Truth:
    """The truth for everyone together: a record's own states are known."""
    rng = np.random.default_rng(seed)
    x = rng.choice(len(scheme.p_x), size=n_records, p=scheme.p_x)
    letters = scheme.sample(x, rng)
    state = np.zeros(n_records, dtype=np.intp)
    law = np.repeat(scheme.p_x[None], n_records, axis=0)
    for step, own in zip(scheme.steps, letters.T, strict=True):
        rows = step.table[state, :, own]
        law = law * rows[:, step.class_of_x]
        law /= law.sum(axis=1, keepdims=True)
        state = step.next_state[state, own]
    told = _told_bits(law, scheme.p_x)
    return Truth(("everyone",), scheme.leakage(), float(told.mean()), _error(told))


def _replay(
    scheme: tacit.Scheme, cap: int, letters: Codes
) -> Iterator[tuple[Step, Codes, BoundedMemory]]:
    """Every step, the records' letters, and the memory before it, as if nothing was copied."""
    nothing_told = np.zeros(len(scheme.p_x), dtype=np.intp)
    memory = BoundedMemory.start(scheme.p_x, cap, scheme.limits, nothing_told)
    for step, own in zip(scheme.steps, letters.T, strict=True):
        memory = memory.refine(step.class_of_x, scheme.p_x)
        yield step, own, memory
        merges = {
            each: labels
            for each, labels in step.transition.merges.items()
            if not has_copy(scheme, each)
        }
        made = replace(step.transition, merges=merges)
        memory, _ = memory.after(step.party, step.table, made)


def _follow(law: Array, step: Step, letters: Codes | None) -> Array:
    """p(y, m, x) of every record after a release, [x, record, m]; ``None`` if it is not told."""
    state, channel = step.next_state, step.channel
    moves = np.zeros((channel.shape[2], channel.shape[1], len(state), int(state.max()) + 1))
    m, letter = np.nonzero(state >= 0)
    moves[letter, :, m, state[m, letter]] = channel[m, :, letter]
    if letters is None:
        return law @ moves.sum(axis=0)
    after = np.empty((*law.shape[:2], moves.shape[3]))
    for letter in np.unique(letters):
        after[:, letters == letter] = law[:, letters == letter] @ moves[letter]
    return after / after.sum(axis=(0, 2))[:, None]


def _follow_merges(
    merged: Codes, view: CoalitionView, coalition: Parties, step: Step, letters: Codes
) -> Codes:
    """Every record's merged letter after a release."""
    is_told, n_rhat = step.party in coalition, step.table.shape[2]
    labels = step.transition.merges.get(coalition)
    if labels is None:
        if not is_told:
            return merged
        occurs = np.einsum("xym,mxa->ya", view.law, step.table, optimize=True).reshape(-1) > 0
        labels = np.cumsum(occurs) - 1
    return labels[merged * n_rhat + letters if is_told else merged]


def _truth(scheme: tacit.Scheme, coalition: Parties, law: Array, merged: Codes | None) -> Truth:
    view = scheme.view(coalition)
    assert view is not None, "followed above"
    told = _told_bits(law.sum(axis=2).T, scheme.p_x)
    if merged is None:
        held_by = tuple(sorted(coalition)), scheme.leakage(coalition)
        return Truth(*held_by, float(told.mean()), _error(told))
    held = view.held
    by_letter = _told_bits(held, held.sum(axis=0))
    difference = told - by_letter[merged]
    true_bits = tacit.mutual_information(held) + float(difference.mean())
    return Truth(tuple(sorted(coalition)), scheme.leakage(coalition), true_bits, _error(difference))


def _told_bits(law: Array, p_x: Array) -> Array:
    """D(p(x | row) || p(x)) of each row of p(row, x)."""
    posterior = law / law.sum(axis=1, keepdims=True)
    told = xlogy(posterior, posterior) - xlogy(posterior, np.where(p_x > 0, p_x, 1.0))
    return np.asarray(told.sum(axis=1) / np.log(2))


def _error(sample: Array) -> float:
    return float(sample.std(ddof=1) / np.sqrt(len(sample)))
