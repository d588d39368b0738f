"""Results that are tables, as Arrow tables; and none that fills a screen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.estimation import NoisyColumn, crosstab, fit_linear

N = 600
MANY = 60
"""Levels of a column."""


@pytest.fixture(scope="module")
def column() -> NoisyColumn:
    letters = np.random.default_rng(0).integers(0, 2, N)
    return NoisyColumn(letters, np.array([[0.9, 0.1], [0.2, 0.8]]), ("no", "yes"))


def test_a_column(column: NoisyColumn) -> None:
    table = column.to_arrow()
    assert table.column_names == ["letter"]
    assert table["letter"].to_pylist() == column.letters.tolist()
    named = NoisyColumn(column.letters[:2], column.p_rhat_given_r, records=np.array(["a", "b"]))
    assert named.to_arrow()["record"].to_pylist() == ["a", "b"]


def test_a_cross_table(column: NoisyColumn) -> None:
    ward = np.arange(N) % 3
    found = crosstab({"ill": column}, {"ward": ward})
    table = found.to_arrow()
    assert table.column_names == ["ward", "ill", "rows", "share", "low", "high"]
    assert table["share"].to_pylist() == [cell.share for cell in found.cells]
    assert repr(found) == "CrossTable(ward x ill: 6 cells, 600 rows)"


def test_a_regression(column: NoisyColumn) -> None:
    x = np.random.default_rng(1).normal(size=N)
    found = fit_linear(column.scored((0, 1)), {"x": x})
    table = found.to_arrow()
    assert table["name"].to_pylist() == list(found.names)
    np.testing.assert_array_equal(table["low"].to_numpy(), found.intervals[:, 0])


def test_a_surface() -> None:
    problem = tacit.Problem(np.full((2, 2), 0.25), individual=0.1)
    surface = tacit.trace_surface(problem, individual=[0.0, 0.1], collusion=[0.1, 0.2, 0.3])
    table = surface.to_arrow()
    assert table.num_rows == 6
    assert table["individual"].to_pylist() == [0.0] * 3 + [0.1] * 3
    np.testing.assert_array_equal(table["value"].to_numpy(), surface.value.ravel())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tacit.Study:
    frame = pd.DataFrame({"id": range(3000), "code": [f"c{n % MANY}" for n in range(3000)]})
    study = tacit.Study.create(
        tmp_path_factory.mktemp("wide") / "study", frame, id="id", private="code", ledger="folder"
    )
    study.set_limit("lab", 2.0)
    return study


def test_no_result_fills_the_screen(study: tacit.Study, tmp_path: Path) -> None:
    certificate = study.release("lab", "code", bits=0.5, out=tmp_path / "lab.csv")
    estimate = tacit.estimate_file(tmp_path / "lab.csv")
    assert estimate.to_arrow()["level"].to_pylist() == [each.level for each in estimate.levels]
    assert len(estimate.levels) == MANY
    for result in (certificate, estimate, study, study.quote("lab", "code", bits=1.0)):
        assert len(repr(result)) < 400, repr(result)[:400]
    scheme = tacit.Scheme.from_counts(np.ones((MANY, 10)), ["code", "ward"])
    release = scheme.release("ward", party="lab", individual=0.1)
    for each in (scheme, release, release.solution, release.variable):
        assert len(repr(each)) < 400
