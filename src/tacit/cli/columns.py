"""Columns as they are declared on the command line: ``age``, ``age:cut=30,45,60`` and the like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.tables import Column
    from tacit.tables.encoding.column import Cut, Stray

_MAPPING_FORM = 'give {"flu": "infection", "*": "other"}, the group of each value'
_FORMS = (
    "name, name:cut=30,45,60, name:quantiles=4, name:map=groups.json, name:by=year or name:top=20"
)

_IN_SHELL = {
    "groups": ":map=groups.json",
    "cuts": ":cut=...",
    "quantiles": ":quantiles=...",
    "by": ":by=year",
    "top": ":top=20",
    "": "",
}
"""Arguments of ``Column`` -> what is written after the name."""


def parse_column(text: str, stray: Stray = "refuse") -> Column:
    """Read ``name`` or ``name:how=...``."""
    from tacit.tables import Column

    match = re.fullmatch(r"(?P<name>.+?):(?P<how>\w+)=(?P<value>.*)", text, re.DOTALL)
    if match is None:
        if not text.strip():
            raise InvalidInputError(f"an attribute without a name: give {_FORMS}")
        return Column(text, stray=stray)
    name, value = match["name"], match["value"]
    match match["how"]:
        case "cut":
            return Column(name, cuts=_read_cuts(name, value), stray=stray)
        case "quantiles":
            return Column(name, quantiles=_read_count(name, "quantiles", value), stray=stray)
        case "map":
            return Column(name, groups=_read_mapping(name, value), stray=stray)
        case "by":
            return Column(name, by=value, stray=stray)  # type: ignore[arg-type]  # checked there
        case "top":
            return Column(name, top=_read_count(name, "top", value), stray=stray)
        case how:
            raise InvalidInputError(f"{how!r} in {text!r} is not known: give {_FORMS}")


@contextmanager
def columns_in_shell() -> Iterator[None]:
    """Say in the words of the command line how a column may be declared instead."""
    from tacit.tables.encoding.column import ColumnError

    try:
        yield
    except ColumnError as error:
        spelled = _IN_SHELL | ({"cuts": f":cut={error.cuts}"} if error.cuts else {})
        ways = " or ".join(f"{error.column}{spelled[way]}" for way in error.ways)
        raise InvalidInputError(f"{error.seen}: use {ways}") from None


def _read_cuts(name: str, text: str) -> tuple[Cut, ...]:
    try:
        return tuple(map(_read_cut, text.split(",")))
    except ValueError:
        raise InvalidInputError(
            f"{name}: cut={text} is not a list of numbers, or of ISO dates or times: give it as "
            "cut=30,45,60 or cut=2019-12-31,2020-12-31"
        ) from None


def _read_cut(text: str) -> Cut:
    from tacit.tables.encoding.attribute import moment_of

    if re.fullmatch(r"\s*[+-]?\d+\s*", text):
        return int(text)
    if re.match(r"\s*\d+[-:]", text):
        return moment_of(text)
    number = float(text)
    if not isfinite(number) or Decimal(str(number)) == Decimal(text.strip()):
        return number
    return Decimal(text.strip())  # with more digits than a float has


def _read_count(name: str, option: str, text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise InvalidInputError(f"{name}: {option}={text} is not a whole number: give 2 or more")
    return int(text)


def _read_mapping(name: str, text: str) -> dict[str, str]:
    shown = f"{name}: the mapping {text}"
    try:
        mapping = json.loads(
            Path(text).read_text(encoding="utf-8"), object_pairs_hook=_each_key_once
        )
    except OSError as error:
        raise InvalidInputError(f"{shown} cannot be read: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InvalidInputError(f"{shown} is not JSON: {_MAPPING_FORM}") from None
    except _TwiceError as error:
        raise InvalidInputError(
            f"{shown} names {error.args[0]!r} twice: give each value one group"
        ) from None
    if not isinstance(mapping, dict):
        raise InvalidInputError(f"{shown} is no JSON object: {_MAPPING_FORM}")
    return mapping


class _TwiceError(Exception):
    """A key stands twice in a JSON object."""


def _each_key_once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    mapping: dict[str, object] = {}
    for key, value in pairs:
        if key in mapping:
            raise _TwiceError(key)
        mapping[key] = value
    return mapping
