"""What pages say about a study whose table grew: every cohort, and which figures are of which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import httpx
import pytest

from tacit.service.access import PARTY
from tests.service.server import Server, ask, ended, serving
from tests.study.clinic import make_clinic, write_patients


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic of two cohorts; lab-a has a release about each."""
    place = tmp_path_factory.mktemp("grown")
    later = write_patients(place / "later.csv", n_records=60, seed=1, first=900)
    with make_clinic(place, everyone=0.9) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.4)
        study.extend(str(later))
        study.release("lab-a", "age", bits=0.1, out=place / "lab-a.csv")
    with serving(place / "clinic", None, "--workers", "1") as running:
        yield running


@pytest.fixture(scope="module")
def browser(grown: Server) -> Iterator[httpx.Client]:
    with grown.browser() as client:
        yield client


def words_of(page: httpx.Response) -> str:
    """What a page shows, without its tags."""
    assert page.status_code == 200, page.text
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.text)).split())


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/study", "2 cohorts: 200 records (patients.csv), 60 records (later.csv). Figures are of"),
        ("/study", "lab-a age, cohort 2 about 52 of 100 values correct"),
        ("/study/release", "Cohort only for its records all 1 2"),
        ("/study/records", "1 patients.csv 200 0 3.3436 1 2 later.csv 60 0 3.4285 1"),
        ("/study/ledger", "60 records of later.csv join as a cohort of their own"),
        ("/study/ledger", "age for lab-a, cohort 2: about 52 of 100 values correct"),
        ("/study/ledger", "lab-a age --bits 0.1 --cohort 2 --out"),
        ("/study/cells", "Cohort Levels Records 1 <=40, dementia, false 4"),
        ("/study/cells", "2 <=40, dementia, true 1"),
        ("/study/limits", "lab-a lab-a 0.1000 0.4 0.3000"),
        ("/study/risk?parties=lab-a", "38.34 -> 52.20 of 100"),  # they hold most of cohort 2
    ],
)
def test_pages_tell_cohorts_apart(browser: httpx.Client, path: str, said: str) -> None:
    assert said in words_of(browser.get(path))


@pytest.mark.parametrize(
    ("path", "order", "said"),
    [
        ("audits", {"records": 100}, ["Cohort 1 Every", "Cohort 2, of which everyone holds most"]),
        (
            "plans",
            {"asked": ["smoker"], "parties": 2},
            [
                "in this order, cohort 1 Who",
                "in this order, cohort 2 Who",
                "what bits buy, cohort 2",
            ],
        ),
        (
            "surfaces",
            {"party": "lab-b", "asked": ["smoker"]},
            ["in cohort 1, where it is worth least: about 87", "In cohort 2: about 86"],
        ),
        (
            "quotes",
            {"party": "lab-b", "asked": ["smoker"], "bits": 0.1},
            ["an answer is right or wrong, about cohort 1."],
        ),
        ("verifications", {}, ["everything is as recorded"]),
    ],
)
def test_results_tell_cohorts_apart(
    grown: Server, browser: httpx.Client, path: str, order: dict[str, object], said: list[str]
) -> None:
    with grown.custodian() as client:
        job = ended(client, ask(client, f"/api/study/{path}", **order))
    assert job["state"] == "done", job
    shown = words_of(browser.get(f"/jobs/{job['id']}"))
    assert [each for each in said if each not in shown] == [], shown


def test_a_party_sees_the_cohort_of_each_file(grown: Server) -> None:
    with grown.browser(grown.access.issue_token(PARTY, "lab-a")) as own:
        shown = words_of(own.get("/own"))
    assert "5 age about 55 of 100 values" in shown
    assert "6 age, cohort 2 about 52 of 100 values" in shown
