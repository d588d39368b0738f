"""[TVC] Fig. 5, and many runs of an iteration at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.paper.algorithm3 import multiplier_grid
from tacit.paper.fig5 import draw_fig5, fig5, is_dominated, largest_gap_bits, on_envelope
from tacit.paper.table1 import JOINT, table1_problem
from tacit.solvers.iteration.blahut_arimoto import blahut_arimoto
from tacit.solvers.iteration.starts import iterate, measured, random_starts
from tests.oracles import leakage_bits, mutual_information_bits


def test_many_runs_are_the_single_runs() -> None:
    problem = table1_problem()
    mu = multiplier_grid(0.05, 0.5, 3)
    channel, steps = iterate(problem, mu, np.full((9, 2, 2, 2), 0.5), tol=1e-9)
    points = measured(problem, channel)
    for index, pair in enumerate(mu):
        run = blahut_arimoto(JOINT, mu=(pair[0], pair[1]))
        assert steps[index] == run.steps
        assert np.abs(np.moveaxis(channel[index], 0, -1) - run.channel).max() < 1e-12
        assert points.value[index] == pytest.approx(run.value, abs=1e-12)
        assert points.individual[index] == pytest.approx(run.individual_bits, abs=1e-12)
        assert points.collusion[index] == pytest.approx(run.collusion_bits, abs=1e-12)


def test_information_points_are_what_they_say() -> None:
    problem = table1_problem(utility="information")
    channel = random_starts(problem, 3, 3, np.random.default_rng(0))
    points = measured(problem, channel)
    for index in range(3):
        public = np.moveaxis(channel[index], 0, -1)
        p_rhat_r = public.reshape(-1, 3).T @ JOINT.reshape(-1, 2)
        assert points.value[index] == pytest.approx(mutual_information_bits(p_rhat_r), abs=1e-14)
        assert points.collusion[index] == pytest.approx(leakage_bits(JOINT, public, (0,)))
        assert points.individual[index] == pytest.approx(leakage_bits(JOINT, public, ()))


def test_fig5_time_sharing_fills_gaps(tmp_path: Path) -> None:
    figure = fig5(n_grid=8, n_starts=3, n_rounds=4, n_tries=150)
    assert len(figure.dual) == 64
    assert 0 < figure.n_kept < figure.n_tried == 600
    assert largest_gap_bits(figure.shared) < largest_gap_bits(figure.dual)
    # On the envelope nobody beats anybody, and every dual point is beaten or on it.
    assert on_envelope(figure.shared).all()
    assert is_dominated(figure.dual, figure.shared).all()
    assert [path.name for path in draw_fig5(tmp_path, figure)] == ["fig5.png"]
