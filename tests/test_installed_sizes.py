"""What tacit takes on the disk, and whether the page on installing says so."""

from __future__ import annotations

import re

import pytest

from scripts.installed_sizes import EXTRAS, Size, size_of
from tests.pages import page

NEAR = 0.1
"""By how much of itself a size may differ from the page's: packages change from version to
version."""


@pytest.mark.parametrize(("extra", "megabytes"), [("", 200), ("recipient", 300), ("all", 800)])
def test_sizes_stay_below_their_limits(extra: str, megabytes: float) -> None:
    assert size_of(extra).megabytes < megabytes


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_page_says_how_large_an_extra_is(extra: str) -> None:
    size = size_of(extra)
    name = f"`{extra}`" if extra else "none"
    row = re.search(
        rf"^\| {name} \|.*\| (\d+) \| (\d+) MB \|$", page("install").read_text(), re.MULTILINE
    )
    assert row is not None
    assert int(row[1]) == pytest.approx(len(size.packages), rel=NEAR)
    assert int(row[2]) == pytest.approx(size.megabytes, rel=NEAR)


def test_a_package_that_several_extras_share_counts_once() -> None:
    parts = [size_of(each) for each in ("cli", "plots", "study", "postgresql", "service", "excel")]
    whole = size_of("all")
    assert whole.packages == {name: size for part in parts for name, size in part.packages.items()}
    assert whole.megabytes < sum(part.megabytes for part in parts)


def test_bytecode_is_not_counted_with_the_packages() -> None:
    assert Size({"a": 2_000_000, "b": 500_000}, 7_000_000).megabytes == 2.5
    assert size_of("").bytecode > 0
