"""Adult's counts against the published figures, other bins, and bins that are refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tacit.datasets import EDUCATION_GROUPS, adult
from tacit.errors import InvalidInputError
from tacit.information import entropy

FOUR_DECIMALS = 5e-5  # the published entropies are rounded to four
ALL_LEVELS = [level for levels in EDUCATION_GROUPS.values() for level in levels]


def marginal(counts, axis):
    return counts.sum(axis=tuple(other for other in range(counts.ndim) if other != axis))


@pytest.mark.parametrize(
    ("axis", "name", "expected", "bits"),
    [
        (0, "education", [6408, 15784, 14540, 12110], 1.9303),
        (1, "income", [37155, 11687], 0.7938),
        (2, "age", [15793, 18505, 10938, 3606], 1.8182),
    ],
)
def test_default_marginals(axis, name, expected, bits):
    table = adult()
    assert table.attributes[axis] == name
    assert marginal(table.counts, axis).tolist() == expected
    assert len(table.levels[axis]) == len(expected)
    assert entropy(expected) == pytest.approx(bits, abs=FOUR_DECIMALS)


def test_default_table_as_a_whole():
    table = adult()
    assert table.counts.shape == (4, 2, 4)
    assert table.counts.sum() == 48_842
    assert table.counts.dtype == np.int64
    assert entropy(table.counts) == pytest.approx(4.3706, abs=FOUR_DECIMALS)
    assert table.levels[1:] == (("<=50K", ">50K"), ("<=30", "31-45", "46-60", ">60"))


def test_raw_levels_are_in_order_of_schooling_and_of_years():
    table = adult(education=None, age_cuts=None)
    assert table.counts.shape == (16, 2, 74)
    assert table.counts.sum() == 48_842
    assert list(table.levels[0]) == ALL_LEVELS
    assert list(table.levels[2]) == [str(year) for year in range(17, 91)]
    of_level = dict(zip(table.levels[0], marginal(table.counts, 0).tolist(), strict=True))
    assert of_level["Preschool"] == 83
    assert of_level["HS-grad"] == 15_784
    assert of_level["Doctorate"] == 594


def test_bins_are_sums_of_raw_levels():
    raw = adult(education=None, age_cuts=None)
    years = np.array([int(year) for year in raw.levels[2]])
    groups = {"schooled": ALL_LEVELS[1:], "not": ALL_LEVELS[:1]}  # order of the mapping, not ours
    table = adult(education=groups, age_cuts=[18, 19, 65])
    assert table.levels[0] == ("schooled", "not")
    assert table.levels[2] == ("<=18", "19", "20-65", ">65")
    expected = raw.counts[:1][:, :, (years > 19) & (years <= 65)].sum(axis=(0, 2))
    assert table.counts[1, :, 2].tolist() == expected.tolist()
    assert table.counts.sum() == 48_842


def test_no_cut_is_one_bin():
    table = adult(age_cuts=())
    assert table.levels[2] == ("any age",)
    assert table.counts.shape == (4, 2, 1)


def test_tables_cannot_be_changed():
    table = adult(education=None, age_cuts=None)
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0, 0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.levels = ()


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ((45, 30), r"age_cuts is \(45, 30\): give the years in rising order, each once"),
        ((30, 30), r"age_cuts is \(30, 30\): give the years in rising order, each once"),
        ((30.5,), r"age_cuts is \(30.5,\): give a sequence of whole years"),
        (("thirty",), r"age_cuts is \('thirty',\): give a sequence of whole years"),
        (30, r"age_cuts is 30: give a sequence of whole years"),
        ((float("nan"),), r"age_cuts is \(nan,\): give a sequence of whole years"),
        ((float("inf"),), r"age_cuts is \(inf,\): give a sequence of whole years"),
        ((16, 30), r"leaves a bin empty: ages run from 17 to 90, so cut from 17 to 89"),
        ((30, 90), r"leaves a bin empty: ages run from 17 to 90, so cut from 17 to 89"),
    ],
)
def test_unusable_cuts_are_refused(cuts, message):
    with pytest.raises(InvalidInputError, match=message):
        adult(age_cuts=cuts)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"all": [*ALL_LEVELS, "Kindergarten"]}, r"education\['all'\] names 'Kindergarten', which"),
        (
            {"all": ALL_LEVELS, "top": ["Doctorate"]},
            r"education puts 'Doctorate' into 'all' and into 'top': name every level once",
        ),
        ({"all": ALL_LEVELS[2:]}, r"education has no group for Preschool, 1st-4th: put every"),
        ({"all": ALL_LEVELS, "none": []}, r"education\['none'\] is \[\]: give the group a list of"),
        ({"HS-grad": "school"}, r"education\['HS-grad'\] is 'school': give the group a list of"),
        ({"HS-grad": 3}, r"education\['HS-grad'\] is 3: give the group a list of"),
        ([ALL_LEVELS], r"education is a list: give a mapping from the name of each group"),
    ],
)
def test_unusable_groups_are_refused(groups, message):
    with pytest.raises(InvalidInputError, match=message):
        adult(education=groups)
