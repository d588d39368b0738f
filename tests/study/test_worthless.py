"""Answers that are hardly better than a blind guess, and bits that a limit cuts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.errors import InfeasibleError
from tacit.study import Study, verify_study
from tests.study.clinic import make_clinic, read_release, releases_of, write_patients


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with make_clinic(tmp_path) as made:
        made.set_limit("lab-a", 0.5)
        made.set_limit("lab-b", 0.5)
        yield made


def test_a_release_that_comes_less_than_2_per_cent_of_the_way_is_refused(
    study: Study, tmp_path: Path
) -> None:
    """What a few bits buy grows with them: the least that is answered is 2 % of the way."""
    least, most, said = 0.0, 0.1, ""
    while most - least > 1e-4:
        bits = (least + most) / 2
        try:
            quoted = study.quote("lab-a", "diagnosis", bits=bits)
        except InfeasibleError as refusal:
            said, least = f"{refusal.coalition}: {refusal}", bits
            continue
        assert quoted.blind is not None
        assert 1 - quoted.value / quoted.blind >= 0.02
        most = bits
    assert said.startswith("('lab-a',): ")
    assert "buy lab-a only 1.9 % of the way from a blind guess to the truth (about " in said
    assert said.endswith(": ask for more")
    with pytest.raises(InfeasibleError, match="ask for more") as refused:
        study.release("lab-a", "diagnosis", bits=least, out=tmp_path / "no.csv")
    assert releases_of(tmp_path / "clinic") == []
    [more] = refused.value.suggestions
    assert least < more.arguments["bits"] <= 2 * least
    assert study.quote(**more.arguments)


def test_more_bits_are_suggested_only_where_they_buy_an_answer(study: Study) -> None:
    study.set_limit("everyone", 0.0005)
    with pytest.raises(InfeasibleError, match="only if limits are raised") as refused:
        study.quote("lab-a", "diagnosis", bits=0.0002)
    assert [each.action for each in refused.value.suggestions] == ["set_limit"]


def test_no_limit_is_blamed_for_what_private_columns_do_not_predict(tmp_path: Path) -> None:
    lines = (f"{n},{'yn'[n % 2]},{'abbb'[n // 2 % 4]}\n" for n in range(80))
    (tmp_path / "coins.csv").write_text("id,ill,coin\n" + "".join(lines))
    with Study.create(
        tmp_path / "coins",
        tmp_path / "coins.csv",
        id="id",
        private="ill",
        external="coin",
        ledger="folder",
    ) as study:
        study.set_limit("a", 0.5)
        for asked in ({}, {"bits": 0.1}, {"bits": 0.9}, {"utility": "information"}):
            with pytest.raises(
                InfeasibleError, match=r"no limit helps: .* predict coin"
            ) as refused:
                study.quote("a", "coin", **asked)  # type: ignore[arg-type]
            assert refused.value.suggestions == ()


def test_the_limit_that_makes_an_answer_worthless_is_named(study: Study, tmp_path: Path) -> None:
    study.release("lab-a", "age", bits=0.2, out=tmp_path / "a.csv")
    study.set_limit("lab-a+lab-b", 0.201)
    with pytest.raises(
        InfeasibleError, match=r"0\.2000 of 0\.201 bits \(the limit on lab-a \+ lab-b\)"
    ):
        study.release("lab-b", "smoker", out=tmp_path / "b.csv")


def test_an_answer_that_adds_nothing_to_what_is_held_goes_out(study: Study, tmp_path: Path) -> None:
    study.set_limit("lab-a+lab-b", 0.2001)
    study.release("lab-a", "age", bits=0.2, out=tmp_path / "a.csv", accept=["disclosure"])
    quoted = study.quote("lab-b", "age", bits=0.2)
    [pair] = [each for each in quoted.coalitions if len(each.parties) == 2]
    assert pair.added < 1e-6
    assert study.release("lab-b", "age", bits=0.2, out=tmp_path / "b.csv", accept=["disclosure"])


def test_fewer_bits_than_asked_name_the_limit_that_cuts_them(study: Study, tmp_path: Path) -> None:
    study.release("lab-a", "age", bits=0.2, out=tmp_path / "a.csv", accept=["disclosure"])
    assert [each.code for each in study.quote("lab-b", "smoker", bits=0.3).remarks] == []
    study.set_limit("lab-a+lab-b", 0.3)
    quoted = study.quote("lab-b", "smoker", bits=0.3)
    [cut] = [each for each in quoted.remarks if each.code == "bits_cut"]
    assert (cut.values["coalition"], cut.values["limit"]) == ("lab-a + lab-b", 0.3)
    assert cut.values["bits"] == pytest.approx(0.3 - quoted.own.added, abs=1e-9)
    assert quoted.own.added < 0.2
    made = study.release("lab-b", "smoker", bits=0.3, out=tmp_path / "b.csv", accept=["disclosure"])
    assert study.remarks_on(made.entry) == (cut,)
    assert cut in study.receipt(made.entry).remarks  # type: ignore[union-attr]
    assert "lab-a" not in (tmp_path / "b.csv.certificate.json").read_text()


def test_a_cohort_with_nothing_left_holds_up_no_other(study: Study, tmp_path: Path) -> None:
    """All of lab-a's bits are used in the first cohort, and none in the second."""
    study.release("lab-a", "age", out=tmp_path / "a.csv", accept=["disclosure"])
    with pytest.raises(InfeasibleError, match="nothing is left to it"):
        study.release("lab-a", "smoker", out=tmp_path / "no.csv")
    study.extend(str(write_patients(tmp_path / "new.csv", 120, seed=1, first=200)))
    before = study.status().cohorts[0].parties
    made = study.release("lab-a", "smoker", out=tmp_path / "b.csv", accept=["disclosure"])
    [beside] = study.receipts_beside(made.entry)
    assert beside.value < (beside.blind or 0) / 2
    assert {answer for _, answer in read_release(tmp_path / "b.csv")[1]} == {"false"}
    after = study.status().cohorts[0].parties
    assert [each.held for each in after] == pytest.approx([each.held for each in before], abs=1e-9)
    assert verify_study(tmp_path / "clinic").problems == ()
    with pytest.raises(InfeasibleError, match="cohort 1"):
        study.release("lab-a", "diagnosis", out=tmp_path / "no.csv", cohort=1)
