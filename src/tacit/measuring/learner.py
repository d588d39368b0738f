"""How well a learner guesses a secret of people that it was not trained on.

Counts in fine groups overfit: five columns of noise "tell" everybody's secret. What a learner finds
out of fold it would find about strangers, too, so it bounds what is told from below.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tacit.arrays import Array
from tacit.errors import TacitError
from tacit.measuring.files import Labels

MOST_PEOPLE = 50_000
"""More are drawn from; the figures are shares."""

SUREST = 0.05
"""Share of people that ``surest`` is about."""

_MOST_CATEGORIES = 255  # of a column of texts: scikit-learn's own limit
_PRIOR = 0.01  # share of the levels' own law in each prediction: a zero would cost infinite bits


def predict_out_of_fold(
    features: Sequence[tuple[Labels, bool]], level: Labels, n_levels: int
) -> Array:
    """p(level) of each person by a learner trained on the other half, [person, level].

    Args:
        features: of each column its labels, and whether these are in an order that means something.
        level: the secret of each person.
        n_levels: how many there are.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError as error:
        raise TacitError(
            "a learner needs the package scikit-learn, which is not installed: install tacit with "
            "its extra, tacit[measure], or pass --no-learner"
        ) from error
    half = np.random.default_rng(0).permutation(len(level)) % 2
    table = np.column_stack(
        [np.zeros(len(level)), *(_bounded(labels, is_ordered) for labels, is_ordered in features)]
    )
    is_category = [False, *(not is_ordered for _, is_ordered in features)]
    predicted = np.empty((len(level), n_levels))
    for fold in (0, 1):
        seen = level[half != fold]
        law = np.bincount(seen, minlength=n_levels) / max(1, len(seen))
        guessed = np.tile(law, (int(np.count_nonzero(half == fold)), 1))
        if np.count_nonzero(law) > 1:
            learner = HistGradientBoostingClassifier(
                max_iter=60,
                min_samples_leaf=20,
                early_stopping=False,
                categorical_features=is_category,
                random_state=0,
            )
            # Its threads wait by spinning: on a busy machine two of them take minutes, one seconds.
            with threadpool_limits(1):
                learner.fit(table[half != fold], seen)
                guessed[:] = 0.0
                guessed[:, learner.classes_] = learner.predict_proba(table[half == fold])
        floor = np.bincount(seen, minlength=n_levels) + 1.0
        predicted[half == fold] = (1 - _PRIOR) * guessed + _PRIOR * floor / floor.sum()
    return predicted


def right_among_surest(predicted: Array, level: Labels) -> float:
    """Share that is guessed right among the people that the learner is surest of."""
    n = max(1, round(SUREST * len(level)))
    surest = np.argsort(-predicted.max(axis=1), kind="stable")[:n]
    return float((predicted[surest].argmax(axis=1) == level[surest]).mean())


def _bounded(labels: Labels, is_ordered: bool) -> NDArray[np.float64]:
    """Labels as scikit-learn takes them: of texts the most frequent, all others are one."""
    if is_ordered:
        return np.where(labels > 0, labels, np.where(labels == 0, np.nan, -1.0))
    values, position, times = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(-times, kind="stable")] = np.arange(len(values))
    return np.minimum(rank, _MOST_CATEGORIES - 1)[position].astype(float)
