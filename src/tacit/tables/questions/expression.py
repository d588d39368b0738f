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
from tacit.tables.questions.syntax import Node, refused
from tacit.tables.questions.thresholds import MIRRORED, bins_sql, has_moments, undecided

_NUMBER = re.compile(r"-?(?=\.?\d)\d{0,38}(\.\d{0,38})?([eE][+-]?\d{1,3})?", re.ASCII)

MOST_JOINED = 20
"""Texts that an expression puts together, so that no result fills the memory."""

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "IS DISTINCT FROM",
    "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}
_EQUALITIES = ("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
_NUMBERS = ("INTEGER", "NUMERIC")
_TEXTS = ("STRING",)
_MOMENTS = ("DATE", "TIME", "TIMESTAMP")
_IS_NULL = {"OPERATOR_IS_NULL": "IS NULL", "OPERATOR_IS_NOT_NULL": "IS NOT NULL"}
_CONJUNCTIONS = {"CONJUNCTION_AND": " AND ", "CONJUNCTION_OR": " OR "}
_INFIX = {
    **{sign: sign for sign in ("+", "-", "*", "/", "//", "%", "||")},
    "~~": "LIKE",
    "!~~": "NOT LIKE",
    "~~*": "ILIKE",
    "!~~*": "NOT ILIKE",
}
_FUNCTIONS = {
    "abs": (1, 1),
    "ceil": (1, 1),
    "concat": (1, 100),
    "date_part": (2, 2),
    "day": (1, 1),
    "floor": (1, 1),
    "greatest": (1, 100),
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

_ALLOWED = ", ".join((*_FUNCTIONS, "if"))

_TYPES = {
    "BIGINT": "BIGINT",
    "BOOLEAN": "BOOLEAN",
    "DATE": "DATE",
    "DOUBLE": "DOUBLE",
    "FLOAT": "DOUBLE",
    "INTEGER": "INTEGER",
    "TEXT": "VARCHAR",
    "TIMESTAMP": "TIMESTAMP",
    "VARCHAR": "VARCHAR",
}


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
            case "COLUMN_REF", _:
                return value_name(self.attribute(node))
            case "CASE", _:
                return self.case(node.children, self.result)
            case "FUNCTION", "if":
                return self.case(_arguments(node, 3, 3), self.result)
            case "OPERATOR", "OPERATOR_COALESCE":
                return f"coalesce({', '.join(map(self.result, node.children))})"
            case _:
                return self.sql(node)

    def sql(self, node: Node) -> str:
        """An expression that is computed with: bins may only be compared with numbers."""
        match node.kind:
            case "CONSTANT":
                return _constant_sql(node)
            case "COLUMN_REF":
                return self.column(node)
            case "COMPARISON":
                return self.comparison(node)
            case "CONJUNCTION":
                return f"({_CONJUNCTIONS[node.name].join(map(self.sql, node.children))})"
            case "OPERATOR":
                return self.operator(node)
            case "BETWEEN":
                return self.between(node)
            case "CASE":
                return self.case(node.children, self.sql)
            case "CAST":
                return self.cast(node)
            case _:
                return self.function(node)

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
        return node.kind == "COLUMN_REF" and bool(self.attribute(node).cuts)

    def column(self, node: Node) -> str:
        if self.is_binned(node):
            raise undecided(self.attribute(node))
        return value_name(self.attribute(node))

    def comparison(self, node: Node) -> str:
        operator = _COMPARISONS[node.name]
        left, right = node.children
        if self.is_binned(left):
            return self.threshold(left, operator, right)
        if self.is_binned(right):
            return self.threshold(right, MIRRORED.get(operator, operator), left)
        if operator in _EQUALITIES:
            self.check_levels(left, [right])
            self.check_levels(right, [left])
        return f"({self.sql(left)} {operator} {self.sql(right)})"

    def check_levels(self, column: Node, others: Sequence[Node]) -> None:
        """Refuse to compare an attribute of texts with a text that is none of its levels."""
        if column.kind != "COLUMN_REF" or self.attribute(column).level_type != "VARCHAR":
            return
        attribute = self.attribute(column)
        for other in others:
            is_text = other.kind == "CONSTANT" and other.name == "STRING"
            if is_text and "\0" not in other.text and other.text not in attribute.texts:
                raise _no_level(attribute, other.text)

    def between(self, node: Node) -> str:
        value, low, high = node.children
        if self.is_binned(value):
            above, below = self.threshold(value, ">=", low), self.threshold(value, "<=", high)
            return f"({above} AND {below})"
        return f"({self.sql(value)} BETWEEN {self.sql(low)} AND {self.sql(high)})"

    def threshold(self, column: Node, operator: str, other: Node) -> str:
        """A binned attribute compared with a constant: a number, or the text of a date or time."""
        attribute = self.attribute(column)
        has_texts = has_moments(attribute)
        if has_texts and other.kind == "CAST" and other.name.upper() in _MOMENTS:
            [other] = other.children  # as in date '2020-12-31'
        kinds = _TEXTS if has_texts else _NUMBERS
        if operator not in MIRRORED or other.kind != "CONSTANT" or other.name not in kinds:
            raise undecided(attribute)
        constant = other.text if has_texts else _constant_sql(other)
        return f"({bin_name(attribute)} {bins_sql(attribute, operator, constant)})"

    def operator(self, node: Node) -> str:
        if node.name in _IS_NULL and self.is_binned(node.children[0]):
            return f"({bin_name(self.attribute(node.children[0]))} {_IS_NULL[node.name]})"
        operands = list(map(self.sql, node.children))
        if node.name in _IS_NULL:
            return f"({operands[0]} {_IS_NULL[node.name]})"
        match node.name:
            case "OPERATOR_NOT":
                return f"(NOT {operands[0]})"
            case "OPERATOR_COALESCE":
                return f"coalesce({', '.join(operands)})"
            case "COMPARE_IN":
                self.check_levels(node.children[0], node.children[1:])
                return f"({operands[0]} IN ({', '.join(operands[1:])}))"
            case _:
                raise refused(node.shown, "is not allowed")

    def case(self, parts: Sequence[Node], result: Callable[[Node], str]) -> str:
        """Condition, result, condition, result, ..., else."""
        *checks, otherwise = parts
        branches = (
            f"WHEN {self.sql(condition)} THEN {result(then)}"
            for condition, then in zip(checks[::2], checks[1::2], strict=True)
        )
        return f"(CASE {' '.join(branches)} ELSE {result(otherwise)} END)"

    def cast(self, node: Node) -> str:
        if node.name.upper() not in _TYPES:
            raise refused(node.shown, f"converts to a type that is none of {', '.join(_TYPES)}")
        verb = "TRY_CAST" if node.text else "CAST"
        return f"{verb}({self.sql(node.children[0])} AS {_TYPES[node.name.upper()]})"

    def infix(self, node: Node) -> str:
        fewest = 1 if node.name in ("+", "-") else 2
        operands = list(map(self.sql, _arguments(node, fewest, 2)))
        return f"({' '.join((*operands[:-1], _INFIX[node.name], operands[-1]))})"

    def function(self, node: Node) -> str:
        if node.name == "if":
            return self.case(_arguments(node, 3, 3), self.sql)
        if node.name in _INFIX:
            return self.infix(node)
        if node.name not in _FUNCTIONS:
            raise refused(node.shown, f"uses {node.name!r}, which is none of {_ALLOWED}")
        arguments = map(self.sql, _arguments(node, *_FUNCTIONS[node.name]))
        return f"{node.name}({', '.join(arguments)})"


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
    is_joining = node.kind == "FUNCTION" and node.name in ("||", "concat")
    own = len(node.children) - 1 if is_joining else 0
    return own + sum(map(_n_joints, node.children))


def _arguments(node: Node, fewest: int, most: int) -> tuple[Node, ...]:
    if not fewest <= len(node.children) <= most:
        raise refused(node.shown, f"gives {len(node.children)} arguments to {node.name!r}")
    return node.children


def _constant_sql(node: Node) -> str:
    match node.name:
        case "NULL_LITERAL":
            return "NULL"
        case "BOOLEAN" if node.text in ("true", "false"):
            return node.text
        case "STRING" if "\0" not in node.text:
            return quote_text(node.text)
        case name if name in _NUMBERS:
            number = node.text.replace("_", "")
            if _NUMBER.fullmatch(number):
                return number
    raise refused(node.shown, "is a constant that is not allowed")
