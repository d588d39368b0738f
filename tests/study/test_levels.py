"""The worst level, ceilings and analysable releases, from the request to the verification."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

import numpy as np
import pytest

from tacit.datasets import adult
from tacit.errors import CeilingError, InvalidInputError
from tacit.study import Certificate, Study, crosstab_files
from tacit.study.verification.verify import PROVED_NEAR
from tests.cli.clinic import write_rows
from tests.study.clinic import copy_clinic, intents_of, make_clinic, read_release
from tests.study.forging import forge_last
from tests.words import in_words

WORST = {"objective": "worst-level"}
CAPPED = {"ceilings": {"below HS": 0.6}}


def write_adult(table: Path) -> Path:
    """Every twentieth record of Adult."""
    known = adult()
    cells = [
        tuple(known.levels[axis][k] for axis, k in enumerate(cell))
        for cell in np.ndindex(known.counts.shape)
        for _ in range(int(known.counts[cell]) // 20 + 1)
    ]
    rows = [(f"p{k:05d}", *cell) for k, cell in enumerate(cells)]
    write_rows(table, rows, ("id", *known.attributes))
    return table


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a study is that is copied and never used itself."""
    place = tmp_path_factory.mktemp("kept")
    with Study.create(
        place / "clinic",
        str(write_adult(place / "adult.csv")),
        id="id",
        private=adult().attributes,
        ledger="folder",
        public_id=True,
    ) as made:
        for party in "abcd":
            made.set_limit(party, 0.3)
    return place


@pytest.fixture
def study(tmp_path: Path, kept: Path) -> Iterator[Study]:
    """Adult with four parties of 0.3 bit each."""
    with Study.open(copy_clinic(kept, tmp_path)) as opened:
        yield opened


def assert_proved(study: Study, releases: int) -> None:
    """Verify says nothing against any release, and proves each to be near the best."""
    found = study.verify()
    assert found.problems == ()
    assert len(found.proved_gaps) == releases
    assert max(found.proved_gaps.values()) < PROVED_NEAR
    assert [note for note in found.notes if "proved" in note] == []


# --- quotes --------------------------------------------------------------------------------------


def test_a_quote_names_the_level_that_would_be_lost_and_its_price(study: Study) -> None:
    quoted = study.quote("a", "education")
    errors = {each.level: each.error for each in quoted.levels}
    assert quoted.value == pytest.approx(0.412, abs=1e-3)
    assert errors["below HS"] == 1
    assert [each.level for each in quoted.levels if not each.is_released] == ["below HS"]
    records = np.array([each.records for each in quoted.levels])
    assert records @ list(errors.values()) / records.sum() == pytest.approx(quoted.value)
    [remark] = quoted.remarks
    assert (remark.code, remark.values["levels"]) == ("level_never_released", ["below HS"])
    worst = study.quote("a", "education", **WORST)
    assert worst.value == pytest.approx(0.436, abs=1e-3)
    assert remark.values["worst_level"] == pytest.approx(worst.value, abs=1e-9)
    assert [each.error for each in worst.levels] == pytest.approx([worst.value] * 4, abs=1e-4)
    assert worst.remarks == ()
    assert worst.blind == pytest.approx(0.75, abs=1e-9)  # one of four levels, at random


def test_a_ceiling_is_kept_at_the_least_mean(study: Study) -> None:
    quoted = study.quote("a", "education", **CAPPED)
    mean, worst = study.quote("a", "education"), study.quote("a", "education", **WORST)
    errors = {each.level: each.error for each in quoted.levels}
    assert errors["below HS"] == pytest.approx(0.6, abs=1e-6)
    assert mean.value < quoted.value < worst.value
    assert quoted.bound <= quoted.value < quoted.bound + 1e-5


def test_forms_are_shown_side_by_side(study: Study, tmp_path: Path) -> None:
    adaptive, analysable = study.quote("a", "education", **WORST).variants
    assert (adaptive.value, adaptive.half_width) == (analysable.value, analysable.half_width)
    study.release("a", "income", bits=0.3, out=tmp_path / "1.csv")
    study.release("b", "age", bits=0.3, out=tmp_path / "2.csv")
    quoted = study.quote("c", "education", bits=0.2, **WORST)
    adaptive, analysable = quoted.variants
    assert (adaptive.is_asked, analysable.is_asked) == (True, False)
    assert adaptive.value == quoted.value <= analysable.value + 1e-6
    other = study.quote("c", "education", bits=0.2, analysable=True, **WORST)
    assert other.variants[1].value == other.value == pytest.approx(analysable.value, abs=1e-9)
    assert other.variants[1].is_asked


def test_the_half_width_is_that_of_the_estimate(study: Study, tmp_path: Path) -> None:
    quoted = study.quote("a", "education", analysable=True, **WORST)
    study.release("a", "education", analysable=True, out=tmp_path / "a.csv", **WORST)
    [whole] = [each.half_width for each in quoted.variants if each.is_asked]
    cells = crosstab_files([tmp_path / "a.csv"]).cells
    # The true matrix and shares in the quote, drawn letters in the estimate.
    assert max(cell.high - cell.low for cell in cells) / 2 == pytest.approx(whole, rel=0.15)


# --- releases ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, WORST, CAPPED], ids=["mean", "worst", "ceiling"])
def test_releases_after_others_are_proved(
    study: Study, tmp_path: Path, options: dict[str, object]
) -> None:
    study.release("a", "income", bits=0.2, out=tmp_path / "1.csv")
    study.release("b", "education", bits=0.2, out=tmp_path / "2.csv", **options)
    wish = {"analysable": True, "out": tmp_path / "3.csv"}
    study.release("a", "education", bits=0.1, **wish, **options)
    assert Certificate.beside(tmp_path / "3.csv").is_analysable
    assert_proved(study, 3)
    assert study.verify().analysable == (10,)


def test_the_same_request_is_free_and_another_form_is_another(study: Study, tmp_path: Path) -> None:
    forms = [{}, WORST, CAPPED, {"analysable": True}]
    entries = [
        study.release("a", "education", bits=0.05, out=tmp_path / f"{k}.csv", **form).entry
        for k, form in enumerate(forms)
    ]
    again = [
        study.release("a", "education", bits=0.05, out=tmp_path / f"{k}.csv", **form).entry
        for k, form in enumerate(forms)
    ]
    assert again == entries == sorted(set(entries))
    assert study.quote("a", "education", bits=0.05, **WORST).answered_by == entries[1]


@pytest.mark.parametrize("options", [{}, WORST, CAPPED], ids=["mean", "worst", "ceiling"])
def test_a_copy_for_another_party_is_analysable_and_free(
    study: Study, tmp_path: Path, options: dict[str, object]
) -> None:
    study.release("a", "income", bits=0.2, out=tmp_path / "1.csv")
    first = study.release("b", "education", analysable=True, out=tmp_path / "2.csv", **options)
    study.release("a", "age", bits=0.05, out=tmp_path / "3.csv")
    before = intents_of(tmp_path / "clinic")[-1].body["everyone_bits"]
    copy = study.release("c", "education", analysable=True, out=tmp_path / "4.csv", **options)
    told = study.receipt(first.entry), study.receipt(copy.entry)
    assert read_release(tmp_path / "4.csv")[1] == read_release(tmp_path / "2.csv")[1]
    assert Certificate.beside(tmp_path / "4.csv").is_analysable
    assert told[1].everyone_bits == before
    assert told[1].value == pytest.approx(told[0].value, abs=1e-9)
    assert_proved(study, 4)


@pytest.mark.parametrize("cap", [inf, 3.5])
def test_a_copy_is_free_where_limits_and_caps_on_coalitions_bind(
    study: Study, tmp_path: Path, cap: float
) -> None:
    study.release("a", "income", bits=0.2, out=tmp_path / "1.csv")
    study.set_limit("any 2", 0.35)
    study.set_limit("everyone", 0.7, times=None if cap == inf else 2**cap)
    study.release("b", "education", analysable=True, out=tmp_path / "2.csv")
    copy = study.release("c", "education", analysable=True, out=tmp_path / "3.csv")
    [*_, drawn] = intents_of(tmp_path / "clinic")
    assert read_release(tmp_path / "3.csv")[1] == read_release(tmp_path / "2.csv")[1]
    assert Certificate.beside(tmp_path / "3.csv").is_analysable
    assert study.receipt(copy.entry).everyone_bits == drawn.body["everyone_bits"]
    assert_proved(study, 3)


def test_a_receipt_says_the_error_of_each_level(study: Study, tmp_path: Path) -> None:
    number = study.release("a", "education", out=tmp_path / "a.csv", **CAPPED).entry
    receipt = study.receipt(number)
    assert receipt.level_errors["below HS"] == pytest.approx(0.6, abs=1e-6)
    assert (receipt.objective, receipt.ceilings) == ("mean", CAPPED["ceilings"])
    page = tmp_path / "receipt.html"
    page.write_text(receipt.as_html(), encoding="utf-8")
    assert study.verify(page).problems == ()
    page.write_text(receipt.as_html().replace("below HS", "above HS"), encoding="utf-8")
    assert study.verify(page).problems != ()


# --- what is refused -----------------------------------------------------------------------------


def test_a_ceiling_that_cannot_be_kept_is_refused_with_one_that_can(
    study: Study, tmp_path: Path
) -> None:
    wish = {"ceilings": {"below HS": 0.2, "HS-grad": 0.2, "bachelor and above": 0.2}}
    with pytest.raises(CeilingError, match="at level '") as refused:
        study.release("a", "education", out=tmp_path / "a.csv", **wish)
    [suggestion] = refused.value.suggestions
    arguments = dict(suggestion.arguments)
    party, asked = arguments.pop("party"), arguments.pop("asked")
    assert study.release(party, asked, out=tmp_path / "a.csv", **arguments).entry == 6


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"objective": "best"}, "objective 'best' is unknown"),
        ({"ceilings": {"below": 0.6}}, "'below' is of no level of education"),
        ({"ceilings": {"below HS": -1}}, "the ceiling of 'below HS' is -1"),
        ({"utility": "information", **WORST}, "information has no error at each level"),
    ],
)
def test_what_makes_no_sense_is_refused(study: Study, wish: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        study.quote("a", "education", **wish)


def test_an_external_column_cannot_be_analysable(tmp_path: Path) -> None:
    with make_clinic(tmp_path, external=["outcome"]) as clinic:
        clinic.set_limit("a", 0.3)
        with pytest.raises(InvalidInputError, match="outcome is an external column"):
            clinic.quote("a", "outcome", analysable=True)
        assert clinic.quote("a", "outcome", **WORST).variants == ()
        clinic.release("a", "outcome", out=tmp_path / "a.csv", **WORST)
        assert_proved(clinic, 1)


# --- what verify finds ---------------------------------------------------------------------------


def test_a_ceiling_that_was_not_kept_is_found(study: Study, tmp_path: Path) -> None:
    study.release("a", "education", out=tmp_path / "a.csv", **CAPPED)
    forge_last(
        tmp_path / "clinic",
        "intent",
        lambda body: body["measure"].update(ceilings={"HS-grad": 0.1}),
    )
    found = in_words(study.verify().problems)
    assert any("cost more at HS-grad than the ceiling of 0.1" in each for each in found)


def test_an_adaptive_release_is_not_taken_for_an_analysable_one(
    study: Study, tmp_path: Path
) -> None:
    study.release("a", "income", bits=0.3, out=tmp_path / "1.csv")
    study.release("b", "education", bits=0.1, out=tmp_path / "2.csv")
    forge_last(tmp_path / "clinic", "intent", lambda body: body.update(analysable=True))
    found = in_words(study.verify().problems)
    assert any("answers depend on more than what was asked" in each for each in found)


@pytest.mark.parametrize("forged", [{"HS-grad": 1e9}, {"below HS": 3.0, "nothing": 1.0}, {}])
def test_forged_multipliers_are_found(
    study: Study, tmp_path: Path, forged: dict[str, float]
) -> None:
    study.release("a", "education", out=tmp_path / "a.csv", **WORST)
    assert study.verify().is_whole
    forge_last(tmp_path / "clinic", "intent", lambda body: body.update(level_multipliers=forged))
    found = in_words(study.verify().problems)
    assert [each.partition(": ")[2] for each in found] == [
        "the price of a level is recorded wrongly"
    ]
