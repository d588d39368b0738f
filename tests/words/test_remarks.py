"""Every remark of the library has words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tacit.remark import Remark
from tacit.words.remarks import _WORDS, remark_in_words, remarks_for_machines

SOURCE = Path(__file__).parents[2] / "src" / "tacit"


def codes_made() -> set[str]:
    """Codes of remarks that the library makes, as its source says."""
    made = re.compile(r'(?:Remark|\.remarks|\._blame|\._note)\(\s*"(\w+)"')
    texts = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    return {code for text in texts for code in made.findall(text)}


def test_every_code_has_words_and_no_others_have() -> None:
    assert codes_made() == set(_WORDS)


@pytest.mark.parametrize(
    ("code", "values", "words"),
    [
        (
            "limit_too_high",
            {"limited_by": "a", "bits": 1.0, "entropy_bits": 0.5},
            "the limit on a, 1 bit, protects nothing: a record has only 0.5000 bits to learn",
        ),
        (
            "limit_below_own",
            {"limited_by": "any 2 parties", "bits": 0.3, "parties": ["a", "b"]},
            (
                "the limit on any 2 parties, 0.3 bits, is below the own limit of a, b and holds "
                "for each of them, too"
            ),
        ),
        (
            "loose_bounds",
            {"coalitions": 3, "most": "a + b", "slack": 0.00201, "slack_share": 0.00402},
            (
                "what 3 coalitions hold is a bound that may be above the truth, because similar "
                "answers count as one: by at most 0.0021 bits, most for a + b (0.40% of the limit)"
            ),
        ),
        (
            "loose_caps",
            {"coalitions": 1, "most": "a + b", "slack": 1.0},
            (
                "what is said of the worst answer of a + b is a bound that may be above the truth, "
                "because similar answers count as one: by a factor of at most 2"
            ),
        ),
        (
            "unused_values",
            {"column": "icd", "values": 1200, "example": "A00"},
            "the mapping of icd names 1,200 values that no record has, such as 'A00'",
        ),
        (
            "error_cells",
            {"column": "age", "records": 1, "example": "#N/A"},
            "1 cell of age is an error, such as #N/A, and counts as missing",
        ),
        (
            "error_cells",
            {"column": "age", "records": 1200, "example": "#DIV/0!"},
            "1,200 cells of age are errors, such as #DIV/0!, and count as missing",
        ),
        (
            "entry_lost",
            {"state": "5-ab"},
            (
                "the ledger has lost entries, the state 5-ab is of a release that it lacks: verify "
                "the study"
            ),
        ),
        (
            "small_groups",
            {"rows": 1},
            (
                "a group has only 1 row: intervals are for large groups, and in this one their "
                "confidence is only nearly what it says"
            ),
        ),
        (
            "cap_below_own",
            {"limited_by": "everyone", "times": 4.0, "parties": ["q", "r"]},
            (
                "the limit on everyone, 4 times, is below the own limit of q, r and holds for each "
                "of them, too"
            ),
        ),
        (
            "few_rows",
            {"rows": 70},
            (
                "70 rows are few: intervals are for many rows, and here their confidence is only "
                "nearly what it says"
            ),
        ),
        (
            "outside_shares",
            {"shares": 1},
            (
                "1 share is estimated below 0 or above 1, where no share can be: estimates are "
                "right on average, and noise may take them there; read it as 0 or 1 and rely on "
                "its interval, but take sums and means of estimates as they are"
            ),
        ),
        (
            "wide_bounds",
            {"bounds": 30, "of": 32},
            (
                "30 of 32 bounds are 0 and 1, which is true of any share and says nothing: ask the "
                "custodian for an analysable release, or take larger groups"
            ),
        ),
        ("counted_by_a_toy", {}, "counted by a toy"),
        ("of_an_engine", {"rows": 3}, "of an engine: rows 3"),
    ],
)
def test_words(code: str, values: dict[str, object], words: str) -> None:
    assert remark_in_words(Remark(code, values)) == words
    [shown] = remarks_for_machines([Remark(code, values)])
    assert shown == {"code": code, **values, "in_words": words}
