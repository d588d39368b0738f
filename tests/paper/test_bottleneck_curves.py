"""Representations of Adult and of digits: memory saved at equal relevance, tables and figures."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.paper.bottleneck_curves import (
    Case,
    Sweep,
    adult_case,
    digits_case,
    draw,
    largest_saving,
    least_at,
    memory_saved,
    sweep,
    table_of,
)


@pytest.mark.slow
def test_memory_is_saved_at_equal_relevance_on_adult():
    case = adult_case()
    mu1 = (0.01, 0.03, 0.07, 0.15)
    plain = sweep(case, 0.0, mu1, starts=4)
    frugal = sweep(case, 0.1, mu1, starts=4)
    assert memory_saved(plain, frugal, np.array([1.02]))[0] > 0.05


def test_memory_is_saved_at_equal_relevance_on_digits():
    case = digits_case(n_cells=16)
    assert case.counts.sum() == 1797
    case = Case(case.name, case.counts, {name: case.tasks[name] for name in ("parity", ">= 5")})
    mu1 = (0.02, 0.1, 0.3)
    plain = sweep(case, 0.0, mu1, first_mu=(0.1, 0.0), starts=4)
    frugal = sweep(case, 0.1, mu1, first_mu=(0.1, 0.0), starts=4)
    target = 0.9 * min(plain.relevance.max(), frugal.relevance.max())
    assert memory_saved(plain, frugal, np.array([target]))[0] > 0


def test_adult_case_counts_every_record_once():
    case = adult_case()
    assert case.counts.sum() == 48842
    assert len(case.counts) == 64
    over_50k = case.counts @ case.tasks["income"][:, 1]
    assert over_50k == pytest.approx(11687)


def test_least_at_follows_the_lower_hull():
    relevance, cost = np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0, 4.0])
    assert least_at(relevance, cost, 1.0) == 2.0  # the chord from 0 to 2 passes below the point
    assert least_at(relevance, cost, 2.0) == 4.0
    assert np.isnan(least_at(relevance, cost, 2.1))


def test_tables_and_figures_are_made(tmp_path):
    line = np.linspace(0.0, 1.0, 3)
    sweeps = [Sweep(mu2, line, 2 * line, (2 - mu2) * line, 0) for mu2 in (0.0, 0.5)]
    assert memory_saved(*sweeps, np.array([1.0])) == pytest.approx(0.5)
    assert largest_saving(*sweeps) == pytest.approx((0.5, 1.0))
    row = table_of(sweeps, (1.0,)).splitlines()[1]
    assert [float(cell) for cell in row.split()] == [1.0, 2.0, 2.0, 1.5, 2.0]
    case = Case("Toy", np.ones(2), {"a": np.eye(2), "b": np.eye(2)})
    files = draw(tmp_path, case, sweeps)
    assert [path.name for path in files] == ["bottleneck_toy.png"]
    assert all(path.stat().st_size > 0 for path in files)
