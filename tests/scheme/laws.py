"""What parties hold, from the steps of a scheme: every sequence of letters by itself."""

from collections.abc import Collection

import numpy as np

import tacit


def true_law(scheme: tacit.Scheme, parties: Collection[str]) -> np.ndarray:
    """p(y, x), [y, x]: all letters that parties hold, every state beside each."""
    law = scheme.p_x[None, :, None]  # [y, x, m]
    for step in scheme.steps:
        n_states = int(step.next_state.max()) + 1
        moves = np.zeros((step.table.shape[2], len(scheme.p_x), law.shape[2], n_states))
        for m, letter in zip(*np.nonzero(step.next_state >= 0), strict=True):
            moves[letter, :, m, step.next_state[m, letter]] = step.channel[m, :, letter]
        told = np.einsum("yxm,axmn->yaxn", law, moves, optimize=True)
        is_told = bool(step.holders & {*parties})
        law = told.reshape(-1, *told.shape[2:]) if is_told else told.sum(axis=1)
        law = law[law.any(axis=(1, 2))]
    return law.sum(axis=2)


def true_bits(scheme: tacit.Scheme, parties: Collection[str]) -> float:
    """I(Y; X) of what parties hold."""
    return tacit.mutual_information(true_law(scheme, parties))


def true_worst_answer(scheme: tacit.Scheme, parties: Collection[str]) -> float:
    """The largest log2 p(y | x) / p(y) of what parties hold."""
    law = true_law(scheme, parties)
    law = law[law.sum(axis=1) > 1e-12][:, scheme.p_x > 0]
    p_x = law.sum(axis=0)
    return max(0.0, float(np.log2((law / (law.sum(axis=1, keepdims=True) * p_x)).max())))
