"""SQL text as a tree of the few kinds of expressions that a request may be made of.

DuckDB parses the text and runs nothing. Whatever in its answer is not known here is refused.

DuckDB itself parses, and not another library, because then a text means here what it means to the
engine that evaluates it, and no second parser stands between a request and the whitelist. The shape
of its answer is not documented and changed from 1.5 to 2.0, so DuckDB is capped in pyproject.toml
and the answers to fixed texts are checked before the first request is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import duckdb

from tacit.errors import InvalidInputError
from tacit.tables.connection import connect_memory

DUCKDB_VERSIONS = ">=2.0.0,<2.1"
"""Those whose answers are understood here; the same in pyproject.toml."""

MOST_CHARACTERS = 10_000
MOST_NESTED = 100
_MOST_SHOWN = 80

Raw = Mapping[str, Any]
"""A part of DuckDB's answer."""

_BEFORE, _AFTER = "SELECT (\n", "\n)"  # a comment at the end of the text ends with its line

_PLAIN_QUERY = {
    "type": "SELECT_NODE",
    "cte_map": {},
    "from_table": {"type": "EMPTY"},
    "aggregate_handling": "STANDARD_HANDLING",
}
_PLACE = {"query_location", "query_location_length"}
_PLAIN_CALL = {"distinct": False, "export_state": False, "order_bys": {"type": "ORDER_MODIFIER"}}

_PARTS = {
    "BETWEEN": {"input", "lower", "upper"},
    "CASE": {"case_checks", "else_expr"},
    "CAST": {"child", "try_cast", "type_expr"},
    "COLUMN_REF": {"column_names"},
    "COMPARISON": {"left", "right"},
    "CONJUNCTION": {"children"},
    "CONSTANT": {"literal"},
    "FUNCTION": {"function_name", "qualified_name", "arguments", "is_operator", *_PLAIN_CALL},
    "OPERATOR": {"children"},
}
"""Kinds of expressions -> the parts that each may have."""

PROBE = (
    "CASE WHEN abs(a) BETWEEN -1 AND 2.5 OR NOT b = 'x' THEN TRY_CAST(a AS DATE) "
    "WHEN a IN (1, 2) AND b LIKE '%' THEN CAST(true AS INT) ELSE coalesce(NULL, \"c d\") END"
)
"""A text with every kind of expression, and what its tree must be."""

_PROBE_TREE = (
    "CASE CASE_EXPR(CONJUNCTION CONJUNCTION_OR(BETWEEN COMPARE_BETWEEN(FUNCTION abs(COLUMN_REF a), "
    "CONSTANT INTEGER:-1, CONSTANT NUMERIC:2.5), OPERATOR OPERATOR_NOT(COMPARISON COMPARE_EQUAL("
    "COLUMN_REF b, CONSTANT STRING:x))), CAST DATE:try(COLUMN_REF a), CONJUNCTION CONJUNCTION_AND("
    "OPERATOR COMPARE_IN(COLUMN_REF a, CONSTANT INTEGER:1, CONSTANT INTEGER:2), FUNCTION ~~("
    "COLUMN_REF b, CONSTANT STRING:%)), CAST INTEGER(CONSTANT BOOLEAN:true), OPERATOR "
    "OPERATOR_COALESCE(CONSTANT NULL_LITERAL, COLUMN_REF c d))"
)

REFUSED_PROBES = (
    "abs(DISTINCT a)",
    "abs(a) FILTER (WHERE b)",
    "abs(a ORDER BY b)",
    "abs(a) OVER ()",
    "main.abs(a)",
    "abs(x := a)",
    "a.b",
    "a::DECIMAL(3, 1)",
    "a COLLATE nocase",
    "(SELECT 1)",
    "*",
    "?",
    "a), (b",
    "a) LIMIT (1",
    "a) FROM (SELECT 1",
)
"""Texts that must not be taken for plain expressions."""

_NAMES_OF_OTHERS = {
    "COLLATE": "a collation",
    "LAMBDA": "a function of its own",
    "PARAMETER": "a parameter",
    "STAR": "all columns at once",
    "SUBQUERY": "a query inside",
    "WINDOW": "a function over many rows",
}


@dataclass(frozen=True, slots=True)
class Node:
    """An expression.

    Attributes:
        kind: one of ``_PARTS``.
        name: which operator, function, column, type or sort of constant.
        text: the value of a constant.
        children: what it is applied to; of a CASE: condition, result, condition, ..., else.
        shown: as it stands in the request.
    """

    kind: str
    name: str
    text: str
    children: tuple[Node, ...]
    shown: str

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.children))
        text = f":{self.text}" if self.text else ""
        return f"{self.kind} {self.name}{text}" + (f"({inside})" if inside else "")


def refused(shown: str, why: str) -> InvalidInputError:
    """What to raise for a part that a request may not have."""
    return InvalidInputError(
        f"{shown} {why}: a request is one plain expression over the private attributes"
    )


def shortened(text: str) -> str:
    """SQL as it is quoted in a message: in one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}..."


def parse_expression(
    connection: duckdb.DuckDBPyConnection, text: str, names: Collection[str] = ()
) -> Node:
    """The tree of a text that is one expression.

    Args:
        names: what may be named in it. One that is a word of SQL, such as ``union``, is taken for
            a name where the text cannot be read otherwise.
    """
    _check_duckdb()
    if not 0 < len(text.strip()) <= len(text) <= MOST_CHARACTERS:
        raise refused("SQL", f"has {len(text):,} characters, not 1 to {MOST_CHARACTERS:,}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise refused("SQL", "has characters that are not Unicode") from None
    try:
        return _parse(partial(_serialise, connection), text)
    except InvalidInputError as error:
        keywords = [place for place in _keywords(text) if place[1].casefold() in names]
        if not keywords:
            raise
        try:
            return _parse(partial(_serialise, connection), _with_quotes(text, keywords))
        except InvalidInputError:
            raise _ambiguous(keywords[0][1], error) from None


def _keywords(text: str) -> Iterator[tuple[int, str]]:
    """Words of SQL in a text, and the byte at which each begins."""
    encoded = text.encode()
    for place, kind in duckdb.tokenize(text):
        word = re.match(rb"\w+", encoded[place:])
        if kind == duckdb.token_type.keyword and word is not None:
            yield place, word[0].decode()


def _with_quotes(text: str, words: Sequence[tuple[int, str]]) -> str:
    """The text with these words in double quotes, which makes names of them."""
    encoded = text.encode()
    for place, word in reversed(words):
        end = place + len(word)
        encoded = encoded[:place] + f'"{word}"'.encode() + encoded[end:]
    return encoded.decode()


def _ambiguous(word: str, error: InvalidInputError) -> InvalidInputError:
    return InvalidInputError(
        f"{error}; {word} is a word of SQL, too: where the attribute is meant, "
        f'write it as "{word}", in double quotes'
    )


@cache
def _check_duckdb() -> None:
    """Once in a process: whether this DuckDB answers as expected."""
    with connect_memory() as connection:
        check_shape(partial(_serialise, connection))


def check_shape(serialise: Callable[[str], str]) -> None:
    """Raise unless the trees of fixed texts are those that this module is written for.

    Args:
        serialise: a query -> its tree in JSON, as DuckDB's ``json_serialize_sql`` gives it.
    """
    accepted = [text for text in REFUSED_PROBES if _outline(serialise, text) is not None]
    if accepted or _outline(serialise, PROBE) != _PROBE_TREE:
        raise InvalidInputError(
            f"DuckDB {duckdb.__version__} describes SQL in another way than tacit reads it, so "
            f"no expression can be asked for: install the package duckdb{DUCKDB_VERSIONS}, or ask "
            "for attributes by their names"
        )


def _outline(serialise: Callable[[str], str], text: str) -> str | None:
    """The tree of a text in one line; ``None`` if it is refused or not understood."""
    try:
        return str(_parse(serialise, text))
    except (InvalidInputError, LookupError, TypeError, AttributeError):
        return None


def _parse(serialise: Callable[[str], str], text: str) -> Node:
    query = _BEFORE + text + _AFTER
    return _Reader(query.encode()).node(_only_expression(_parsed(serialise(query))), 0)


def _serialise(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """DuckDB's tree of a query, in JSON."""
    [(answer,)] = connection.execute(
        "SELECT json_serialize_sql(?, skip_null := true, skip_empty := true)", [query]
    ).fetchall()
    return str(answer)


def _parsed(answer: str) -> list[Raw]:
    """The statements in DuckDB's answer."""
    try:
        parsed = json.loads(answer)
    except RecursionError:
        raise refused("SQL", "is nested too deeply") from None
    except json.JSONDecodeError:  # DuckDB's answer to some constants that are not quite text
        raise refused("SQL", "cannot be read") from None
    if parsed["error"]:
        why = shortened(parsed["error_message"].partition(". ")[0])
        raise refused("SQL", f"cannot be read ({why})")
    statements: list[Raw] = parsed["statements"]
    return statements


def _only_expression(statements: list[Raw]) -> Raw:
    """The expression of ``SELECT (expression)``, if there is nothing else."""
    query = dict(statements[0]["node"])
    expressions = query.pop("select_list", [])
    is_plain = _without_places(query) == _PLAIN_QUERY
    if not is_plain or len(statements) != 1 or len(expressions) != 1:
        raise refused("SQL", "is more than an expression")
    expression: Raw = expressions[0]
    return expression


def _without_places(raw: Raw) -> Raw:
    return {
        key: _without_places(value) if isinstance(value, dict) else value
        for key, value in raw.items()
        if key not in _PLACE
    }


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns DuckDB's answer about a query into nodes."""

    query: bytes

    def node(self, raw: Raw, depth: int) -> Node:
        kind, shown = raw["class"], self.shown(raw)
        if depth > MOST_NESTED:
            raise refused("SQL", "is nested too deeply")
        if kind not in _PARTS:
            raise refused(shown, f"is {_NAMES_OF_OTHERS.get(kind, 'not allowed')}")
        if not set(raw) <= _PARTS[kind] | _PLACE | {"class", "type"}:
            raise refused(shown, "has parts that are not allowed")
        name, text = _name(raw, shown)
        children = tuple(self.node(child, depth + 1) for child in _children(raw, shown))
        return Node(kind, name, text, children, shown)

    def shown(self, raw: Raw) -> str:
        """The part of the request that is meant, as far as DuckDB says."""
        start, length = raw["query_location"], raw["query_location_length"]
        part = self.query[start : start + length].decode(errors="replace")
        return repr(shortened(part)) if part.strip() else str(raw["class"]).lower()


def _name(raw: Raw, shown: str) -> tuple[str, str]:
    """Name and text of a node."""
    match raw["class"]:
        case "CONSTANT":
            return raw["literal"]["kind"], raw["literal"].get("text", "")
        case "COLUMN_REF":
            if len(raw["column_names"]) != 1:
                raise refused(shown, "names something inside a table or a value")
            return raw["column_names"][0], ""
        case "CAST":
            return _type_name(raw["type_expr"], shown), "try" if raw["try_cast"] else ""
        case "FUNCTION":
            name = raw["function_name"]
            is_plain = all(raw.get(key) == value for key, value in _PLAIN_CALL.items())
            if not is_plain or raw["qualified_name"] != {"path": [name]}:
                raise refused(shown, "is not a plain call of a function")
            return name, ""
        case _:
            return raw["type"], ""


def _type_name(raw: Raw, shown: str) -> str:
    """The name of a type that has nothing but a name."""
    name = str(raw.get("type_name", ""))
    plain = {"class": "TYPE", "type": "TYPE", "type_name": name, "qualified_name": {"path": [name]}}
    if _without_places(raw) != plain:
        raise refused(shown, "converts to a type that is not allowed")
    return name


def _children(raw: Raw, shown: str) -> Iterator[Raw]:
    match raw["class"]:
        case "COMPARISON":
            yield from (raw["left"], raw["right"])
        case "BETWEEN":
            yield from (raw["input"], raw["lower"], raw["upper"])
        case "CAST":
            yield raw["child"]
        case "CASE":
            for check in raw["case_checks"]:
                yield from (check["when_expr"], check["then_expr"])
            yield raw["else_expr"]
        case "FUNCTION":
            for argument in raw.get("arguments", ()):
                if set(argument) != {"expression"}:
                    raise refused(shown, "names an argument")
                yield argument["expression"]
        case _:
            yield from raw.get("children", ())
