"""Columns as they are declared on the command line: ``age``, ``age:cut=30,45,60`` and the like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.tables import Column

_MAPPING_FORM = 'give {"flu": "infection", "*": "other"}, the group of each value'
_FORMS = "name, name:cut=30,45,60, name:quantiles=4 or name:map=groups.json"

_IN_SHELL = {
    "groups": ":map=groups.json",
    "cuts": ":cut=...",
    "quantiles": ":quantiles=...",
    "": "",
}
"""Arguments of ``Column`` -> what is written after the name."""


def parse_column(text: str) -> Column:
    """Read ``name`` or ``name:how=...``."""
    from tacit.tables import Column

    match = re.fullmatch(r"(?P<name>.+?):(?P<how>\w+)=(?P<value>.*)", text, re.DOTALL)
    if match is None:
        if not text.strip():
            raise InvalidInputError(f"an attribute without a name: give {_FORMS}")
        return Column(text)
    name, value = match["name"], match["value"]
    match match["how"]:
        case "cut":
            return Column(name, cuts=_read_cuts(name, value))
        case "quantiles":
            return Column(name, quantiles=_read_quantiles(name, value))
        case "map":
            return Column(name, groups=_read_mapping(name, value))
        case how:
            raise InvalidInputError(f"{how!r} in {text!r} is not known: give {_FORMS}")


@contextmanager
def columns_in_shell() -> Iterator[None]:
    """Say in the words of the command line how a column may be declared instead."""
    from tacit.tables.encoding.column import ColumnError

    try:
        yield
    except ColumnError as error:
        ways = " or ".join(f"{error.column}{_IN_SHELL[way]}" for way in error.ways)
        raise InvalidInputError(f"{error.seen}: use {ways}") from None


def _read_cuts(name: str, text: str) -> tuple[int | float, ...]:
    try:
        return tuple(map(_number, text.split(",")))
    except ValueError:
        raise InvalidInputError(
            f"{name}: cut={text} is not a list of numbers: give it as cut=30,45,60"
        ) from None


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else float(text)


def _read_quantiles(name: str, text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise InvalidInputError(f"{name}: quantiles={text} is not a whole number: give 2 or more")
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
