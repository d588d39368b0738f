"""Adult: education, income and age of 48,842 people, counted.

Source: Becker, B. and Kohavi, R. (1996), *Adult*, UCI Machine Learning Repository,
DOI 10.24432/C5XW20, licensed CC BY 4.0. Both files of the original are counted together; README.md
beside this module says what else was changed.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInputError

Counts = NDArray[np.int64]

EDUCATION_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "below HS": (
            "Preschool",
            "1st-4th",
            "5th-6th",
            "7th-8th",
            "9th",
            "10th",
            "11th",
            "12th",
        ),
        "HS-grad": ("HS-grad",),
        "some college or associate": ("Some-college", "Assoc-voc", "Assoc-acdm"),
        "bachelor and above": ("Bachelors", "Masters", "Prof-school", "Doctorate"),
    }
)
"""The default groups of education: name of a group -> its levels, in order of schooling."""


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """How many records fall into each cell.

    Attributes:
        counts: integers, one axis for each attribute; read-only.
        attributes: names of the axes.
        levels: for each axis, the names of its letters, in order.
    """

    counts: Counts
    attributes: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]


def adult(
    *,
    education: Mapping[str, Collection[str]] | None = EDUCATION_GROUPS,
    age_cuts: Sequence[int] | None = (30, 45, 60),
) -> CountTable:
    """Counts of Adult's records, ``counts[education, income, age]``.

    Args:
        education: name of a group -> its levels of education; every one of the 16 levels in exactly
            one group. None keeps the levels apart.
        age_cuts: rising whole years; a bin ends with the year of its cut, so that the default is
            up to 30, 31 to 45, 46 to 60, over 60. None keeps the years 17 to 90 apart.
    """
    raw = _raw_table()
    levels, incomes, ages = raw.levels
    groups, group_of_level = _group_levels(education, levels)
    bins, bin_of_age = _bin_ages(age_cuts, [int(age) for age in ages])
    counts = np.zeros((len(groups), len(incomes), len(bins)), dtype=np.int64)
    every_income = np.arange(len(incomes))
    np.add.at(counts, np.ix_(group_of_level, every_income, bin_of_age), raw.counts)
    counts.setflags(write=False)
    return CountTable(counts, raw.attributes, (groups, incomes, bins))


@cache
def _raw_table() -> CountTable:
    """The shipped file: every level of education, every income, every year of age."""
    text = (files("tacit.datasets") / "adult.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    levels = tuple(dict.fromkeys(row[0] for row in rows))  # the file is in order of schooling
    incomes = tuple(sorted({row[1] for row in rows}))
    ages = tuple(sorted({row[2] for row in rows}, key=int))
    counts = np.zeros((len(levels), len(incomes), len(ages)), dtype=np.int64)
    for level, income, age, count in rows:
        counts[levels.index(level), incomes.index(income), ages.index(age)] = int(count)
    return CountTable(counts, tuple(header[:3]), (levels, incomes, ages))


def _group_levels(
    groups: Mapping[str, Collection[str]] | None, levels: tuple[str, ...]
) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Names of the groups, and the group of each level."""
    if groups is None:
        return levels, np.arange(len(levels))
    if not isinstance(groups, Mapping):
        raise InvalidInputError(
            f"education is a {type(groups).__name__}: give a mapping from the name of each group "
            "to a list of its levels, or None to keep the levels apart"
        )
    group_of_level: dict[str, str] = {}
    for group, members in groups.items():
        for level in _checked_members(group, members, levels):
            if level in group_of_level:
                raise InvalidInputError(
                    f"education puts {level!r} into {group_of_level[level]!r} and into {group!r}: "
                    "name every level once"
                )
            group_of_level[level] = group
    missing = [level for level in levels if level not in group_of_level]
    if missing:
        raise InvalidInputError(
            f"education has no group for {', '.join(missing)}: put every level into a group"
        )
    names = tuple(groups)
    return names, np.array([names.index(group_of_level[level]) for level in levels])


def _checked_members(group: str, members: object, levels: tuple[str, ...]) -> Collection[str]:
    if isinstance(members, str) or not isinstance(members, Collection) or len(members) == 0:
        raise InvalidInputError(
            f"education[{group!r}] is {members!r}: give the group a list of one or more levels"
        )
    for level in members:
        if level not in levels:
            raise InvalidInputError(
                f"education[{group!r}] names {level!r}, which is no level of education: "
                f"the levels are {', '.join(levels)}"
            )
    return members


def _bin_ages(
    cuts: Sequence[int] | None, ages: Sequence[int]
) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Names of the bins, and the bin of each age."""
    if cuts is None:
        return tuple(str(age) for age in ages), np.arange(len(ages))
    checked = _checked_cuts(cuts, ages)
    if not checked:
        return ("any age",), np.zeros(len(ages), dtype=np.intp)
    inner = (
        f"{low + 1}-{high}" if low + 1 < high else f"{high}" for low, high in pairwise(checked)
    )
    names = (f"<={checked[0]}", *inner, f">{checked[-1]}")
    return names, np.searchsorted(checked, ages, side="left")


def _checked_cuts(cuts: Sequence[int], ages: Sequence[int]) -> list[int]:
    try:
        checked = [int(cut) for cut in cuts]
        is_whole = all(cut == given for cut, given in zip(checked, cuts, strict=True))
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise InvalidInputError(
            f"age_cuts is {cuts!r}: give a sequence of whole years, as in (30, 45, 60), or None"
        )
    if any(low >= high for low, high in pairwise(checked)):
        raise InvalidInputError(f"age_cuts is {cuts!r}: give the years in rising order, each once")
    if checked and not (ages[0] <= checked[0] and checked[-1] < ages[-1]):
        raise InvalidInputError(
            f"age_cuts is {cuts!r}, which leaves a bin empty: ages run from {ages[0]} to "
            f"{ages[-1]}, so cut from {ages[0]} to {ages[-1] - 1}"
        )
    return checked
