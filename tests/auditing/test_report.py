"""What an audit shows, in text, JSON and pictures."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit import plots
from tacit.auditing import Audit, Exposure, audit, text
from tacit.errors import InvalidInputError
from tacit.information.measures import (
    MEASURES,
    AuditTable,
    Bounds,
    LeakageMeasure,
    Unit,
)
from tacit.scheme import Scheme
from tests.auditing.chains import (
    NAMES,
    RECORDS,
    ROUNDING,
    SURE,
    Array,
    brute_law,
)
from tests.pictures import assert_is_png

# --- who is audited -----------------------------------------------------------------------------


def test_one_party_is_everyone() -> None:
    scheme = Scheme([1, 1, 2])
    scheme.release(np.eye(3), party="lab", individual=0.2)
    report = audit(scheme, records=100)
    assert [finding.name for finding in report.findings] == ["lab"]
    assert report.everyone.parties == ("lab",)


# --- what is shown ------------------------------------------------------------------------------


VERDICT = "Every coalition is within its limits; every attack went as predicted."


def with_figures(exposure: Exposure, **figures: float) -> Exposure:
    return replace(exposure, figures={**exposure.figures, **figures})


def tables(shown: str) -> list[list[str]]:
    """The lines of each table, from its heading on."""
    lines = shown.splitlines()
    heads = [index for index, line in enumerate(lines) if line.startswith("who")]
    ends = [lines.index("", head) if "" in lines[head:] else len(lines) for head in heads]
    return [lines[head:end] for head, end in zip(heads, ends, strict=True)]


def test_text_begins_with_a_verdict_and_marks_bounds(bounded_audit: Audit) -> None:
    shown = bounded_audit.as_text()
    assert shown.splitlines()[0] == VERDICT
    assert "Audit of 4 releases about 6 combinations of levels (" in shown
    assert max(map(len, shown.splitlines())) <= text.WIDTH
    averages, worst, attacks = tables(shown)
    for table in (averages, worst, attacks):
        assert [row[: len("everyone")].strip() for row in table[1:]] == NAMES
        assert len(set(map(len, table))) == 1
        assert ["≤" in row for row in table] == [False] * len(NAMES) + [True]
    assert "≤ marks an upper bound" in shown
    assert attacks[-1].endswith("within")


def test_the_verdict_names_who_is_above_a_limit_or_not_as_predicted(bounded_audit: Audit) -> None:
    first, *others = bounded_audit.findings
    held = bounded_audit.findings[0].exposure.mutual_information
    above = replace(bounded_audit, findings=(replace(first, limit_bits=0.01), *others))
    assert not above.is_within_limits
    assert above.verdict == (
        f"ABOVE THE LIMIT: a ({text.figure_up(held)} of 0.01 bits); every attack went as predicted."
    )
    wrong = replace(first, attack=replace(first.attack, predicted=1.0))
    surprised = replace(bounded_audit, findings=(wrong, *others))
    assert surprised.verdict == (
        "Every coalition is within its limits; NOT AS PREDICTED: the attack of a. "
        "Do not rely on these figures."
    )
    assert "DIFFERS" in surprised.as_text()
    free = [replace(finding, limit_bits=None) for finding in bounded_audit.findings]
    assert replace(bounded_audit, findings=tuple(free)).verdict.startswith("No limits stand; ")
    some = replace(bounded_audit, coalitions_left_out=1)
    assert some.verdict.startswith("Every listed coalition is within its limits; ")


WIDE = "東京大学医学部附属病院データセンター"


@pytest.mark.parametrize(
    "name",
    [
        " + ".join(f"laboratory-{number}" for number in range(12)),
        "Institut für angewandte Sozialforschung und Statistik, Abteilung Nord-West",
        f"{WIDE} + lab",
        "x" * 300,
        "e\u0301" * 21,
    ],
)
def test_long_and_wide_names_stand_above_their_figures(bounded_audit: Audit, name: str) -> None:
    long = replace(bounded_audit.findings[0], name=name)
    shown = replace(bounded_audit, findings=(long, *bounded_audit.findings[1:])).as_text()
    assert max(map(text.width_of, shown.splitlines())) <= text.WIDTH
    joined = "".join(line.strip() for line in shown.splitlines()).replace(" ", "")
    assert joined.count(name.replace(" ", "")) == 3  # whole, in every table
    assert not any(len(line.strip()) == 1 for line in shown.splitlines())


def test_wide_signs_take_two_columns_and_accents_none() -> None:
    assert text.width_of("lab-a") == 5
    assert text.width_of("東京") == 4
    assert text.width_of("e\u0301") == 1


def test_infinity_is_drawn_everywhere(tmp_path: Path, bounded_audit: Audit) -> None:
    endless = with_figures(
        bounded_audit.findings[0].exposure,
        **{name: math.inf for name, row in MEASURES.items() if row.table is AuditTable.WORST},
    )
    first = replace(bounded_audit.findings[0], exposure=endless, limit_bits=math.inf)
    report = replace(bounded_audit, findings=(first, *bounded_audit.findings[1:]))
    averages, worst, _ = tables(report.as_text())
    assert worst[1].split() == ["a", *"∞∞∞∞∞"]
    assert averages[1].split()[:2] == ["a", "∞"]
    assert "inf" not in " ".join([*averages[1:], *worst])
    assert plots.svg_of(plots.audit_figure(report)).count(">∞</text>") > 1


def test_printed_bits_are_rounded_up(exact_scheme: Scheme) -> None:
    report = audit(exact_scheme, records=100)
    row = tables(report.as_text())[0][-1]
    bits = report.everyone.exposure.mutual_information
    assert bits - ROUNDING <= float(row.split()[2]) <= bits + 1e-4
    assert "≤" not in report.as_text()


@pytest.mark.parametrize(
    ("figure", "bits", "percent"),
    [
        (0.30001, "0.3001", "30.01"),
        (0.3, "0.3000", "30.00"),
        (0.1 + 0.2, "0.3000", "30.00"),
        (0.30009, "0.3001", "30.01"),
        (1.0, "1.0000", "100.00"),
        (0.0, "0.0000", "0.00"),
    ],
)
def test_figures_are_rounded_up_where_a_smaller_one_would_mislead(
    figure: float, bits: str, percent: str
) -> None:
    assert text.figure_up(figure) == bits
    assert text.figure_up(figure, "≤") == f"≤{bits}"
    assert text._percent_up(figure) == percent


def test_printed_chances_are_never_below_what_they_bound(bounded_audit: Audit) -> None:
    for finding in bounded_audit.findings:
        for after in np.linspace(0.3, 0.301, 30):
            exposure = with_figures(finding.exposure, guess_after=float(after))
            (_, row) = text.attack_lines([replace(finding, exposure=exposure)])
            printed = row.removeprefix(finding.name).replace("≤", "").split()[:5]
            _, told, _, low, high = (float(chance) / 100 for chance in printed)
            assert after - ROUNDING <= told < after + 1e-4
            assert low <= finding.attack.low + ROUNDING
            assert high >= finding.attack.high - ROUNDING


def test_text_says_what_is_not_listed(bounded_audit: Audit) -> None:
    shown = replace(bounded_audit, coalitions_left_out=7).as_text()
    assert "7 more coalitions are limited but not listed." in shown
    assert "hold less" not in shown  # members that hold less may together hold more


def test_dictionary_is_json_and_says_infinity_in_words(bounded_audit: Audit) -> None:
    silly = with_figures(bounded_audit.everyone.exposure, local_dp_epsilon=math.inf)
    worst = replace(bounded_audit.everyone, exposure=silly)
    report = replace(bounded_audit, findings=(*bounded_audit.findings[:-1], worst))
    read = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert read["releases"] == 4
    assert read["is_consistent"] is True
    assert read["is_within_limits"] is True
    assert [finding["name"] for finding in read["findings"]] == NAMES
    single, everyone = read["findings"][0], read["findings"][-1]
    assert single["mutual_information"] == report.findings[0].exposure.mutual_information
    assert set(single["pointwise_maximal_leakage"]) == {"0.5", "0.95", "0.99", "max"}
    assert single["limit_bits"] == 1.5
    assert everyone["parties"] == ["a", "b", "c"]
    assert everyone["is_exact"] is False
    assert everyone["attack"]["is_bound"] is True
    assert everyone["local_dp_epsilon"] == "inf"


def test_plots_are_written(tmp_path: Path, bounded_audit: Audit) -> None:
    picture = tmp_path / "audit.png"
    plots.audit_figure(bounded_audit, "title", path=picture)
    assert_is_png(picture)


def test_findings_are_looked_up_by_parties(bounded_audit: Audit) -> None:
    assert bounded_audit.of(("c", "b", "a")) is bounded_audit.everyone
    assert bounded_audit.of(("b", "a")).name == "a + b"
    assert bounded_audit.of("a").parties == ("a",)
    with pytest.raises(InvalidInputError, match=r"\['d'\] was not audited: ask for one of a, b, c"):
        bounded_audit.of("d")


def test_same_seed_same_audit(bounded_scheme: Scheme, bounded_audit: Audit) -> None:
    again = audit(bounded_scheme, records=RECORDS, confidence=SURE)
    assert again.as_dict() == bounded_audit.as_dict()


def test_an_audit_shows_itself(bounded_audit: Audit) -> None:
    assert repr(bounded_audit) == f"Audit(4 releases, 5 findings: {VERDICT})"
    assert bounded_audit._repr_html_().startswith(f"<pre>{VERDICT}")


def test_a_figure_that_no_measure_has_is_no_attribute(bounded_audit: Audit) -> None:
    exposure = copy.deepcopy(bounded_audit.everyone.exposure)
    assert exposure.maximal_leakage == exposure.figures["maximal_leakage"]
    assert exposure.pointwise_quantiles[0.95] == exposure.pointwise_95
    with pytest.raises(AttributeError, match="an exposure has no 'entropy': it has mutual_info"):
        _ = exposure.entropy


# --- a new measure ------------------------------------------------------------------------------


def total_variation(joint_xy: Array) -> float:
    """Mean distance of the posterior of X from its prior."""
    apart = joint_xy.sum(axis=1, keepdims=True) * joint_xy.sum(axis=0)
    return float(np.abs(joint_xy - apart).sum()) / 2


def pinsker(bounds: Bounds) -> float:
    return min(1.0, math.sqrt(bounds.information_bits * math.log(2) / 2))


@pytest.mark.parametrize("table", [AuditTable.AVERAGE, AuditTable.WORST])
def test_a_new_measure_is_one_row(
    bounded_scheme: Scheme, table: AuditTable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = LeakageMeasure(
        name="total_variation",
        unit=Unit.CHANCE,
        of_joint=total_variation,
        bound=pinsker,
        words="total variation",
        heading=("total", "var."),
        table=table,
    )
    monkeypatch.setitem(MEASURES, row.name, row)
    report = audit(bounded_scheme, records=100)
    found = [each["total_variation"] for each in report.as_dict()["findings"]]
    assert found == [finding.exposure.total_variation for finding in report.findings]
    law = brute_law(bounded_scheme.p_x, bounded_scheme.steps, {"a"})
    assert found[0] == pytest.approx(total_variation(law.T), abs=ROUNDING)
    everyone = brute_law(bounded_scheme.p_x, bounded_scheme.steps, bounded_scheme.parties)
    assert total_variation(everyone.T) <= found[-1] < 1  # a bound, by Pinsker's inequality
    shown = report.as_text()
    column = tables(shown)[[AuditTable.AVERAGE, AuditTable.WORST].index(table)]
    assert column[0].split()[-1] == "var."
    assert column[-1].endswith(f"≤{text._percent_up(found[-1])} %")
    assert max(map(len, shown.splitlines())) <= text.WIDTH
    monkeypatch.setitem(MEASURES, row.name, replace(row, unit=Unit.BITS))
    assert "total variation" in plots.svg_of(plots.audit_figure(report))


# --- refusals -----------------------------------------------------------------------------------


def test_a_scheme_without_releases_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no releases yet: release something, then audit"):
        audit(Scheme([1, 1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"records": 0}, "records is 0: attack at least one"),
        ({"confidence": 1.0}, "confidence is 1.0: give a number between 0 and 1"),
        ({"confidence": 0.0}, "confidence is 0.0"),
        ({"confidence": math.nan}, "confidence is nan"),
    ],
)
def test_arguments_out_of_range_are_refused(
    exact_scheme: Scheme, options: dict, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        audit(exact_scheme, **options)
