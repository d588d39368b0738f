"""Figures in words: what is shown never promises more than what is. Remarks of papers are data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInputError
from tacit.information.laws import bits_down, bits_up, limit_in_words
from tacit.remark import Remark
from tacit.study import Certificate, verify_study
from tacit.study.reports.receipts import certificate_path, value_in_words, worth_in_words
from tests.study.clinic import make_clinic

BITS = st.floats(0, 64, allow_nan=False)


@given(BITS, st.integers(1, 8))
def test_what_is_held_is_rounded_up_and_what_is_left_down(bits: float, digits: int) -> None:
    up, down = float(bits_up(bits, digits)), float(bits_down(bits, digits))
    assert down <= bits <= up
    assert up - down <= 1.01 * 10**-digits + 1e-12


def test_figures_that_are_whole_stay_as_they_are() -> None:
    assert (bits_up(0.0), bits_down(0.3), bits_down(0.0)) == ("0.0000", "0.3000", "0.0000")
    assert (bits_up(0.29999990), bits_down(0.29999999)) == ("0.3000", "0.2999")
    assert [limit_in_words(bits) for bits in (0.3, 2.0, 0.1234567)] == ["0.3", "2", "0.1234567"]


@pytest.mark.parametrize(
    ("value", "blind", "said"),
    [
        (0.3, 0.7, "about 7 of 10 values correct; a blind guess gets 3 of 10"),
        (0.35, 0.54, "about 65 of 100 values correct; a blind guess gets 46 of 100"),
        (0.42, 0.7, "about 58 of 100 values correct; a blind guess gets 30 of 100"),
        (0.004, 0.02, "about 996 of 1,000 values correct; a blind guess gets 980 of 1,000"),
        (0.541, 0.542, "about 459 of 1,000 values correct; a blind guess gets 458 of 1,000"),
        (1e-5, 0.5, "about 10,000 of 10,000 values correct; a blind guess gets 5,000 of 10,000"),
        (0.0, 0.5, "about 10 of 10 values correct; a blind guess gets 5 of 10"),
        (0.0, 0.0, "about 100 of 100 values correct; a blind guess gets 100 of 100"),
    ],
)
def test_shares_of_right_answers(value: float, blind: float, said: str) -> None:
    assert value_in_words("hamming", value, blind) == said


def test_shares_in_a_column_are_of_one_number() -> None:
    values = [0.684, 0.6, 0.5]
    said = [worth_in_words("hamming", value, 0.68, beside=values) for value in values]
    assert [words.split()[1:4] for words in said] == [
        ["316", "of", "1,000"],
        ["400", "of", "1,000"],
        ["500", "of", "1,000"],
    ]


def test_other_measures_in_words() -> None:
    said = {
        "absolute": "answers are off by 0.54 on average; a blind guess by 0.695",
        "squared": "answers are off, squared, by 0.54 on average; a blind guess by 0.695",
        "costs": "answers cost 0.54 on average; a blind guess costs 0.695",
        "information": "each answer tells 0.540 bits about what was asked; a blind guess tells "
        "none",
    }
    for kind, words in said.items():
        assert value_in_words(kind, 0.54, 0.695) == words
        assert words.startswith(worth_in_words(kind, 0.54, 0.695))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a release of an external column, and its papers, which say so."""
    place = tmp_path_factory.mktemp("told")
    with make_clinic(place, external=["outcome"]) as study:
        study.set_limit("lab", 0.9)
        released = study.release("lab", "outcome", bits=0.3, out=place / "lab.csv")
        receipt = study.receipt(released.entry)
        receipt.write(place / "receipt.json")
        (place / "receipt.html").write_text(receipt.as_html())
    return place


def papers(place: Path) -> list[Path]:
    return [place / "receipt.json", place / "receipt.html", certificate_path(place / "lab.csv")]


def test_a_remark_of_a_paper_is_its_kind_and_its_figures(told: Path) -> None:
    receipt, page, certificate = papers(told)
    for paper in (receipt, certificate):
        content = json.loads(paper.read_text())
        assert (content["format"], content["remarks"]) == (
            5,
            [{"code": "external_column", "column": "outcome"}],
        )
    assert "outcome is predicted from the private attributes" in page.read_text()
    for paper in (receipt, page, certificate):
        assert verify_study(told / "clinic", paper).problems == ()
    [remark] = Certificate.beside(told / "lab.csv").remarks
    assert remark == Remark("external_column", {"column": "outcome"})


def test_a_changed_figure_of_a_remark_is_named(told: Path, tmp_path: Path) -> None:
    for paper in papers(told):
        doctored = tmp_path / paper.name
        doctored.write_text(paper.read_text().replace("outcome", "income"))
        problems = verify_study(told / "clinic", doctored).problems
        fields = {each.values["field"] for each in problems if each.code == "paper_differs"}
        assert "remarks[0].column" in fields
        assert "paper_seal_wrong" in [each.code for each in problems]


NO_REMARKS = [
    '"outcome is predicted"',
    "7",
    "{}",
    '{"code": ["external_column"]}',
    '{"code": "external_column"}',
    '{"code": "external_column", "column": 7}',
    '{"code": "external_column", "column": "outcome", "more": 1}',
    '{"code": "out_of_time", "value": "0.1", "bound": null}',
    '{"code": "out_of_time", "value": 0.1, "bound": Infinity}',
    '{"code": "rows_left_out", "rows": "many"}',
]


@pytest.mark.parametrize("said", NO_REMARKS)
def test_what_is_no_remark_of_a_paper_is_refused(told: Path, tmp_path: Path, said: str) -> None:
    release = tmp_path / "lab.csv"
    content = json.loads(certificate_path(told / "lab.csv").read_text())
    content["remarks"] = [json.loads(said)]
    certificate_path(release).write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match="is no certificate of this version of tacit"):
        Certificate.beside(release)


@pytest.mark.parametrize("said", NO_REMARKS)
def test_a_page_with_what_is_no_remark_is_forged(told: Path, tmp_path: Path, said: str) -> None:
    page = (told / "receipt.html").read_text()
    remark = '{"code":"external_column","column":"outcome"}'
    assert remark in page
    (tmp_path / "receipt.html").write_text(page.replace(remark, said))
    problems = verify_study(told / "clinic", tmp_path / "receipt.html").problems
    assert "page_forged" in [each.code for each in problems]
    assert "paper_differs" in [each.code for each in problems]
