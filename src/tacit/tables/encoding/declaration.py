"""What a custodian declares about a column, before anybody has looked at the data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from sys import float_info

from tacit.errors import InvalidInputError

MOST_LEVELS = 1_000
"""Of one column; more would make cells that hold nearly nobody."""

OTHERS = "*"
"""In a mapping: every value that it does not name."""

_MAPPING_FORM = 'give {"flu": "infection", "*": "other"}, the group of each value'
_FORMS = "name, name:cut=30,45,60, name:quantiles=4 or name:map=groups.json"


@dataclass(frozen=True, slots=True)
class Categorical:
    """Every value that occurs is a level."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Bins of numbers; a cut belongs to the bin below it."""

    cuts: tuple[int | float, ...]

    def __post_init__(self) -> None:
        shown = ", ".join(map(str, self.cuts))
        if not self.cuts or not all(abs(cut) <= float_info.max for cut in self.cuts):
            raise InvalidInputError(
                f"cuts [{shown}] are not all finite numbers: give them as cut=30,45,60"
            )
        if any(low >= high for low, high in pairwise(self.cuts)):
            raise InvalidInputError(
                f"cuts {shown} are out of order: give them in rising order, each once"
            )


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Bins of numbers that hold about the same number of records each."""

    n: int

    def __post_init__(self) -> None:
        if not 2 <= self.n <= MOST_LEVELS:
            raise InvalidInputError(f"quantiles={self.n}: give from 2 to {MOST_LEVELS:,} of them")


@dataclass(frozen=True, slots=True)
class Grouped:
    """Values brought together: the text of a value -> its group."""

    groups: Mapping[str, str]

    def __post_init__(self) -> None:
        if not self.groups:
            raise InvalidInputError("the mapping is empty: give a group for every value")


Rule = Categorical | Cut | Quantiles | Grouped


@dataclass(frozen=True, slots=True)
class Declared:
    """A column of the table and how its values become levels."""

    name: str
    rule: Rule = Categorical()


def parse(text: str) -> Declared:
    """Read ``name`` or ``name:how=...`` as it is given on the command line."""
    match = re.fullmatch(r"(?P<name>.+?):(?P<how>\w+)=(?P<value>.*)", text, re.DOTALL)
    if match is None:
        if not text.strip():
            raise InvalidInputError(f"an attribute without a name: give {_FORMS}")
        return Declared(text)
    how, value = match["how"], match["value"]
    if how not in _READERS:
        raise InvalidInputError(f"{how!r} in {text!r} is not known: give {_FORMS}")
    try:
        return Declared(match["name"], _READERS[how](value))
    except InvalidInputError as error:
        raise InvalidInputError(f"{match['name']}: {error}") from None


def _read_cut(text: str) -> Cut:
    try:
        cuts = tuple(map(_number, text.split(",")))
    except ValueError:
        raise InvalidInputError(
            f"cut={text} is not a list of numbers: give it as cut=30,45,60"
        ) from None
    return Cut(cuts)


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else float(text)


def _read_quantiles(text: str) -> Quantiles:
    if not re.fullmatch(r"\d+", text):
        raise InvalidInputError(f"quantiles={text} is not a whole number: give 2 or more")
    return Quantiles(int(text))


def _read_mapping(text: str) -> Grouped:
    path = Path(text)
    try:
        mapping = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_each_key_once)
    except OSError as error:
        raise InvalidInputError(f"the mapping {text} cannot be read: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InvalidInputError(f"the mapping {text} is not JSON: {_MAPPING_FORM}") from None
    if not isinstance(mapping, dict):
        raise InvalidInputError(f"the mapping {text} is no JSON object: {_MAPPING_FORM}")
    for value, group in mapping.items():
        if not isinstance(group, str):
            raise InvalidInputError(
                f"the mapping {text} takes {value!r} to {group!r}, which is no text: "
                f"{_MAPPING_FORM}"
            )
    return Grouped(mapping)


def _each_key_once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    mapping: dict[str, object] = {}
    for key, value in pairs:
        if key in mapping:
            raise InvalidInputError(f"the mapping names {key!r} twice: give each value one group")
        mapping[key] = value
    return mapping


_READERS: dict[str, Callable[[str], Rule]] = {
    "cut": _read_cut,
    "quantiles": _read_quantiles,
    "map": _read_mapping,
}
