"""[TVC] Tables I and II: printed digits, and what is not the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.paper.fig3 import leaked_bits
from tacit.paper.table1 import JOINT
from tacit.paper.table2 import EARLY_TOL, HALF_DIGIT, PRINTED, early_stop, table2, table2_text
from tacit.solvers.iteration.blahut_arimoto import blahut_arimoto
from tests.oracles import mutual_information_bits

GAP_TOL = 1e-7
"""What tacit.solve is asked for."""


def test_table_1_is_a_law() -> None:
    assert JOINT.sum() == pytest.approx(1.0, abs=1e-15)
    assert leaked_bits() == pytest.approx(mutual_information_bits(JOINT.sum(axis=-1)), abs=1e-15)
    assert leaked_bits() == pytest.approx(0.00276188, abs=1e-8)


def test_tables_2a_and_2b_match_to_the_printed_digits() -> None:
    for comparison in table2()[:2]:
        assert comparison.run.gap is not None
        assert comparison.run.gap < 1e-9
        assert np.array_equal(np.round(comparison.run.channel, 3), comparison.printed)
        assert comparison.matches


def test_table_2c_is_not_the_optimum() -> None:
    """Always releasing 0 is, with a proof; and a printed row does not sum to 1."""
    comparison = table2()[2]
    run = comparison.run
    assert run.gap is not None
    assert run.gap < 1e-8
    assert run.objective == pytest.approx(0.495809, abs=1e-6)
    assert not comparison.matches
    assert comparison.printed_row_error == pytest.approx(0.003, abs=1e-9)


def test_table_2c_is_an_early_stop() -> None:
    """Its digits, with 0.370 for the misprinted 0.367, where a step moves less than 0.001."""
    early = early_stop()
    printed = PRINTED[5.0, 5.0][..., 0].copy()
    printed[1, 0] = 0.370
    assert early.is_converged
    assert early.steps == 8
    assert np.abs(early.channel[..., 0] - printed).max() <= HALF_DIGIT
    assert early.objective - 0.495809 == pytest.approx(0.013, abs=1e-4)
    # The printed channel itself moves less than that in a step.
    start = np.stack([printed, 1 - printed], axis=-1)
    assert blahut_arimoto(JOINT, mu=(5.0, 5.0), start=start, tol=EARLY_TOL).steps == 1


def test_table_2_text_shows_both() -> None:
    text = table2_text()
    assert "0.041  0.959       0.041  0.959" in text
    assert "still 0.0130 above the optimum" in text
