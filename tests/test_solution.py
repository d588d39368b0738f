"""How a solution shows itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit import Problem, Solution, Status, solve

JOINT = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(2, 2, 3, 2)


def solution() -> Solution:
    law = np.ones((2, 2, 3, 1))
    views = {frozenset({"b", "a"}): (law, 0.2), "<auditor>": (law, 0.3)}
    return solve(Problem(JOINT, individual=0.1, coalitions={(0,): 1.0}, views=views))


def test_a_solution_is_shown_on_one_line() -> None:
    shown = repr(solution())
    assert "\n" not in shown
    found = solution()
    for part in (
        f"value {found.value:.6g}",
        f"bound {found.bound:.6g}",
        "gap ",
        "status OPTIMAL",
        "to the recipient alone at most 0.1",
        "to everyone at most ",
        "to the holders of releases 0 at most ",
        "to a + b at most ",
        "to <auditor> at most ",
    ):
        assert part in shown


def test_leakages_are_shown_rounded_up() -> None:
    found = replace(solution(), leakage={(): 0.1000001})
    assert "to the recipient alone at most 0.100001 bits" in repr(found)


def test_without_a_bound_there_is_no_gap_to_show() -> None:
    shown = repr(replace(solution(), bound=None))
    assert "bound" not in shown
    assert "gap" not in shown


def test_notebooks_get_a_table_in_which_names_are_escaped() -> None:
    shown = solution()._repr_html_()
    assert shown.startswith("<table>")
    assert "<tr><th>status</th><td>OPTIMAL</td></tr>" in shown
    assert "&lt;auditor&gt;" in shown
    assert "<auditor>" not in shown


def test_errors_at_every_level_are_read_off_the_channel() -> None:
    joint = np.array([[0.2, 0.0, 0.0], [0.1, 0.0, 0.7]])
    channel = np.array([[0.9, 0.1, 0.0], [0.3, 0.0, 0.7]])
    solution = Solution(Problem(joint), channel, 0.0, None, {}, {}, Status.FIXED, 0)
    low = (0.2 * np.array([0.9, 0.1, 0.0]) + 0.1 * np.array([0.3, 0.0, 0.7])) / 0.3
    np.testing.assert_allclose(solution.p_rhat_given_r[[0, 2]], [low, channel[1]], rtol=1e-14)
    np.testing.assert_allclose(solution.level_errors[[0, 2]], [1 - low[0], 0.3], rtol=1e-14)
    assert np.isnan(solution.level_errors[1])
