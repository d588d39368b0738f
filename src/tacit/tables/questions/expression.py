"""Requests in SQL, written anew from the parts that are allowed, over the levels of attributes.

The text that was given is never run. What is run is made here, node by node, of constants,
attributes by name, and operators and functions from short lists. Each of these computes a value
from its arguments and nothing else, and none makes a value much longer than its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tacit.errors import InvalidInputError
from tacit.similar_names import nearest_first, shown
from tacit.tables.connection import quote_name, quote_text
from tacit.tables.encoding.attribute import Attribute
from tacit.tables.questions.parser import Node, refused
from tacit.tables.questions.thresholds import MIRRORED, bins_sql, has_moments, undecided

_NUMBER = re.compile(r"-?(?=\.?\d)\d{0,38}(\.\d{0,38})?([eE][+-]?\d{1,3})?", re.ASCII)

MOST_JOINED = 20
"""Texts that an expression puts together, so that no result fills the memory."""

_EQUALITIES = ("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
_COMPARISONS = (*_EQUALITIES, *MIRRORED)
_MOMENTS = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMPNTZ")
_FUNCTIONS = {
    "abs": (1, 1),
    "ceil": (1, 1),
    "coalesce": (1, 100),
    "concat": (1, 100),
    "date_part": (2, 2),
    "day": (1, 1),
    "floor": (1, 1),
    "greatest": (1, 100),
    "if": (3, 3),
    "least": (1, 100),
    "left": (2, 2),
    "length": (1, 1),
    "lower": (1, 1),
    "ltrim": (1, 2),
    "month": (1, 1),
    "nullif": (2, 2),
    "right": (2, 2),
    "round": (1, 2),
    "rtrim": (1, 2),
    "sign": (1, 1),
    "starts_with": (2, 2),
    "substr": (2, 3),
    "substring": (2, 3),
    "trim": (1, 2),
    "upper": (1, 1),
    "year": (1, 1),
}
"""Functions -> the fewest and the most arguments."""

_TYPES = {
    "BIGINT": "BIGINT",
    "BOOLEAN": "BOOLEAN",
    "DATE": "DATE",
    "DOUBLE": "DOUBLE",
    "FLOAT": "DOUBLE",
    "INT": "INTEGER",
    "TEXT": "VARCHAR",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMPNTZ": "TIMESTAMP",
    "VARCHAR": "VARCHAR",
}
"""sqlglot's names of types -> DuckDB's."""


def value_name(attribute: Attribute) -> str:
    """SQL name of an attribute's value at a cell: NULL where missing, a text where binned."""
    return f"{quote_name(attribute.name)}.value"


def bin_name(attribute: Attribute) -> str:
    """SQL name of the number of an attribute's bin at a cell: NULL where missing."""
    return f"{quote_name(attribute.name)}.bin"


def expression_sql(node: Node, attributes: Sequence[Attribute]) -> str:
    """The expression in SQL over ``value_name`` and ``bin_name`` of the attributes."""
    if _n_joints(node) >= MOST_JOINED:
        raise refused("SQL", f"joins more than {MOST_JOINED} texts")
    return _Writer({attribute.name.casefold(): attribute for attribute in attributes}).result(node)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes nodes over attributes, which are found by their names in lower case."""

    attributes: Mapping[str, Attribute]

    def result(self, node: Node) -> str:
        """An expression whose value is handed on as it is: bins stand for their labels."""
        match node.kind, node.name:
            case "column", _:
                return value_name(self.attribute(node))
            case ("case", _) | ("call", "if"):
                return self.case(node, self.result)
            case "call", "coalesce":
                return f"coalesce({', '.join(map(self.result, _arguments(node)))})"
            case _:
                return self.sql(node)

    def sql(self, node: Node) -> str:
        """An expression that is computed with: bins may only be compared with numbers."""
        match node.kind, node.name:
            case "column", _:
                return self.column(node)
            case ("case", _) | ("call", "if"):
                return self.case(node, self.sql)
            case "call", _:
                return f"{node.name}({', '.join(map(self.sql, _arguments(node)))})"
            case "operator", _:
                return f"({self.operator(node)})"
            case "cast" | "try_cast", type_name:
                if type_name not in _TYPES:
                    known = ", ".join(dict.fromkeys(_TYPES.values()))
                    raise refused("SQL", f"converts to a type that is none of {known}")
                return f"{node.kind}({self.sql(node.children[0])} AS {_TYPES[type_name]})"
            case _:
                return _constant_sql(node)

    def attribute(self, node: Node) -> Attribute:
        found = self.attributes.get(node.name.casefold())
        if found is None:
            names = [attribute.name for attribute in self.attributes.values()]
            raise InvalidInputError(
                f"{node.name!r} is no private attribute of this study, which has "
                f"{nearest_first(node.name, names)}; a text is written in single quotes"
            )
        return found

    def is_binned(self, node: Node) -> bool:
        return node.kind == "column" and bool(self.attribute(node).cuts)

    def column(self, node: Node) -> str:
        if self.is_binned(node):
            raise undecided(self.attribute(node))
        return value_name(self.attribute(node))

    def operator(self, node: Node) -> str:
        """Its SQL without brackets; a comparison of bins with numbers is one of their places."""
        name, (first, *others) = node.name, node.children
        match name:
            case "IS NULL" if self.is_binned(first):
                return f"{bin_name(self.attribute(first))} IS NULL"
            case "BETWEEN" if self.is_binned(first):
                low, high = others
                above, below = self.threshold(first, ">=", low), self.threshold(first, "<=", high)
                return f"{above} AND {below}"
            case _ if name in _COMPARISONS and self.is_binned(first):
                return self.threshold(first, name, others[0])
            case _ if name in _COMPARISONS and self.is_binned(others[0]):
                return self.threshold(others[0], MIRRORED.get(name, name), first)
        if name == "IN" or name in _EQUALITIES:
            self.check_levels(first, others)
        if name in _EQUALITIES:
            self.check_levels(others[0], [first])
        operands = list(map(self.sql, node.children))
        match name:
            case "IS NULL":
                return f"{operands[0]} IS NULL"
            case "IN":
                return f"{operands[0]} IN ({', '.join(operands[1:])})"
            case "BETWEEN":
                return f"{operands[0]} BETWEEN {operands[1]} AND {operands[2]}"
        return f" {name} ".join(operands) if others else f"{name} {operands[0]}"

    def check_levels(self, column: Node, others: Sequence[Node]) -> None:
        """Refuse to compare an attribute of texts with a text that is none of its levels."""
        if column.kind != "column" or self.attribute(column).level_type != "VARCHAR":
            return
        attribute = self.attribute(column)
        for other in others:
            is_text = other.kind == "text" and "\0" not in other.name
            if is_text and other.name not in attribute.texts:
                raise _no_level(attribute, other.name)

    def threshold(self, column: Node, operator: str, other: Node) -> str:
        """A binned attribute compared with a constant: a number, or the text of a date or time."""
        attribute = self.attribute(column)
        has_texts = has_moments(attribute)
        if has_texts and other.kind == "cast" and other.name in _MOMENTS:
            [other] = other.children  # as in date '2020-12-31'
        if operator not in MIRRORED or other.kind != ("text" if has_texts else "number"):
            raise undecided(attribute)
        constant = other.name if has_texts else _constant_sql(other)
        return f"{bin_name(attribute)} {bins_sql(attribute, operator, constant)}"

    def case(self, node: Node, result: Callable[[Node], str]) -> str:
        """Condition, result, condition, result, ..., else."""
        *checks, otherwise = _arguments(node) if node.kind == "call" else node.children
        branches = (
            f"WHEN {self.sql(condition)} THEN {result(then)}"
            for condition, then in zip(checks[::2], checks[1::2], strict=True)
        )
        return f"(CASE {' '.join(branches)} ELSE {result(otherwise)} END)"


def _no_level(attribute: Attribute, text: str) -> InvalidInputError:
    """What to say about a text that an attribute never is."""
    levels = [level for level in attribute.texts if level is not None]
    is_missing = attribute.has_missing and text == attribute.labels[-1]
    hint = f"; a missing value is found by {attribute.name} is null" if is_missing else ""
    return InvalidInputError(
        f"{attribute.name} has no level {shown(text)}: it has {nearest_first(text, levels)}{hint}"
    )


def _n_joints(node: Node) -> int:
    """Where one text is put after another: only that makes texts longer than those there are."""
    is_joining = node.kind in ("operator", "call") and node.name in ("||", "concat")
    own = len(node.children) - 1 if is_joining else 0
    return own + sum(map(_n_joints, node.children))


def _arguments(node: Node) -> tuple[Node, ...]:
    """What a function that is allowed is called with, if it can be."""
    if node.name not in _FUNCTIONS:
        raise refused("SQL", f"uses {shown(node.name)}, which is none of {', '.join(_FUNCTIONS)}")
    fewest, most = _FUNCTIONS[node.name]
    if not fewest <= len(node.children) <= most:
        raise refused("SQL", f"gives {len(node.children)} arguments to {node.name!r}")
    return node.children


def _constant_sql(node: Node) -> str:
    match node.kind:
        case "null":
            return "NULL"
        case "boolean":
            return node.name
        case "text" if "\0" not in node.name:
            return quote_text(node.name)
        case "number" if _NUMBER.fullmatch(node.name.replace("_", "")):
            return node.name.replace("_", "")
    raise refused("SQL", "has a constant that is not allowed")
