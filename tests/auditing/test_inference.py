"""What coalitions can tell about single attributes, beside the whole record."""

from __future__ import annotations

import json
from math import log2

import numpy as np
import pytest

from tacit.auditing import audit, text
from tacit.auditing.inference import WHOLE, Inference, infer, infer_whole
from tacit.information.measures import Bounds
from tacit.scheme import Scheme, Variable
from tests.auditing.chains import brute_law, released

ROUNDING = 1e-9
"""Sums of some hundred doubles."""

SIDE = Variable("side", np.eye(2), ("heads", "tails"))


def coin_law(wrong: float, p_heads: float = 0.5) -> np.ndarray:
    """p(y, x) of a binary symmetric channel."""
    channel = np.array([[1 - wrong, wrong], [wrong, 1 - wrong]])
    return channel * np.array([p_heads, 1 - p_heads])


def loose(law: np.ndarray) -> Bounds:
    """Bounds on a law that are its own figures."""
    exposure = infer_whole(law).exposure
    return Bounds(
        law.sum(axis=0),
        exposure.mutual_information,
        exposure.maximal_leakage,
        exposure.pointwise_max,
        exposure.local_dp_epsilon,
    )


@pytest.mark.parametrize("wrong", [0.5, 0.3, 0.01])
def test_a_symmetric_answer_about_a_fair_coin(wrong: float) -> None:
    told = infer(SIDE, coin_law(wrong))
    assert told.exposure.guess_before == pytest.approx(0.5, abs=ROUNDING)
    assert told.exposure.guess_after == pytest.approx(1 - wrong, abs=ROUNDING)
    assert told.gain == pytest.approx(0.5 - wrong, abs=ROUNDING)
    assert told.times_as_likely == pytest.approx(2 * (1 - wrong), abs=ROUNDING)


def test_the_worst_answer_of_an_unfair_coin_is_about_the_rarer_side() -> None:
    told = infer(SIDE, coin_law(0.1, p_heads=0.2))
    assert told.times_as_likely == pytest.approx(0.9 / (0.9 * 0.2 + 0.1 * 0.8), abs=ROUNDING)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_on_the_record_bound_every_variable(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(24, 0.3)).reshape(4, 6)
    rows = (
        rng.dirichlet(np.full(3, 0.3), size=6) if seed % 2 else np.eye(3)[rng.integers(3, size=6)]
    )
    variable = Variable("r", rows, (0, 1, 2))
    exact, bound = infer(variable, law), infer(variable, loose(law))
    assert exact.exposure.is_exact
    assert not bound.exposure.is_exact
    for name, figure in exact.exposure.figures.items():
        assert figure <= bound.exposure.figures[name] + ROUNDING, name
    assert exact.times_as_likely <= bound.times_as_likely + ROUNDING
    assert (
        bound.times_as_likely <= 1 / (law.sum(axis=0) @ rows)[exact_levels(law, rows)].min() + 1e-6
    )


def exact_levels(law: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return (law.sum(axis=0) @ rows) > 0


def test_an_audit_tells_every_attribute_and_the_whole_record() -> None:
    counts = np.array([[40, 10], [5, 45]])
    scheme = Scheme.from_counts(counts, ("income", "age"))
    scheme.release("income", party="lab", individual=0.2)
    scheme.release("age", party="city", individual=0.1)
    report = audit(scheme, records=200, table_records=100)
    law = brute_law(scheme.p_x, scheme.steps, {"lab"}).reshape(-1, 2, 2)
    income, age, whole = report.of("lab").told
    assert [income.about, age.about, whole.about] == ["income", "age", WHOLE]
    by_hand = law.sum(axis=2).max(axis=1).sum()
    assert income.exposure.guess_after == pytest.approx(by_hand, abs=ROUNDING)
    assert age.exposure.guess_after == pytest.approx(
        law.sum(axis=1).max(axis=1).sum(), abs=ROUNDING
    )
    assert whole.exposure is report.of("lab").exposure
    read = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    told = read["findings"][0]["inferences"]
    assert [each["about"] for each in told] == ["income", "age", WHOLE]
    assert read["table_records"] == 100
    # Everyone guesses income no better than the lab alone: the smaller coalition is named.
    assert report.everyone.inferences[0].gain == pytest.approx(income.gain, abs=ROUNDING)
    assert read["strongest_inference"]["name"] == "lab"
    shown = report.as_text().splitlines()
    assert shown[1].startswith("The strongest inference: lab can guess income right for ")
    assert max(map(len, shown)) <= text.WIDTH


def test_a_rare_group_that_is_told_exactly_is_said_first() -> None:
    counts = np.array([[900, 60], [23, 17]])
    scheme = Scheme.from_counts(counts, ("income", "age"))
    scheme.release(lambda income, age: bool(income and age), party="lab")
    report = audit(scheme, records=200, table_records=1_000)
    said = " ".join(report.as_text().split()).partition("! ")[2]
    assert said.startswith("lab can name 17 of the 40 with income = 1, 100 % sure. ! lab can name")
    assert report.as_dict()["disclosures"][0] == {
        "column": "income",
        "level": "1",
        "people": pytest.approx(17, abs=1e-4),
        "of": 40,
        "sure": pytest.approx(1, abs=1e-6),
        "whom": ("lab",),
        "cohort": None,
    }
    said = " ".join(audit(scheme, records=200).as_text().split())
    assert "! of 1,000,000 records, lab can name 17,000 of the 40,000 with income = 1" in said


def test_an_audit_in_which_nothing_is_guessed_better_says_so() -> None:
    """A cap of 0.1 bits moves no guess: the public counts are too uneven."""
    scheme = Scheme.from_counts(np.array([[90, 2], [5, 3]]), ("income", "age"))
    scheme.release("income", party="lab", objective="worst-level", cap=0.1)
    said = " ".join(audit(scheme, records=200).as_text().split())
    assert "The strongest inference" not in said
    assert (
        "Nothing can be guessed better than by the public counts; the worst single answer to lab "
        "makes a level 1.08 times as likely."
    ) in said
    scheme = Scheme.from_counts(np.array([[90, 2], [5, 3]]), ("income", "age"))
    scheme.release("income", party="lab", objective="worst-level", cap=0)
    said = " ".join(audit(scheme, records=200).as_text().split())
    assert "than by the public counts, and no answer makes a level likelier." in said


def test_a_bounded_audit_marks_what_it_can_only_bound() -> None:
    scheme = released(memory=2)
    variable = Variable("parity", np.eye(2)[np.arange(len(scheme.p_x)) % 2], ("even", "odd"))
    report = audit(scheme, records=200, about=[variable])
    told: Inference = report.everyone.inferences[0]
    assert not told.exposure.is_exact
    law = brute_law(scheme.p_x, scheme.steps, scheme.parties)
    exact = infer(variable, law)
    assert exact.exposure.guess_after <= told.exposure.guess_after + ROUNDING
    assert exact.exposure.mutual_information <= told.exposure.mutual_information + ROUNDING
    assert log2(exact.times_as_likely) <= log2(told.times_as_likely) + ROUNDING
    table = report.as_text().partition("On average:")[0]
    assert "≤" in table.rpartition("everyone")[2]
