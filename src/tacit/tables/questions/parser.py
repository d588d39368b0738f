"""SQL text as a tree of the few kinds of expressions that a request may be made of.

sqlglot parses the text, with the operators and constants of SQL and none of its functions, clauses
and statements; whatever in its answer is not known here is refused. Where SQL engines read a text
in different ways, brackets are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from tacit.errors import InvalidInputError
from tacit.tables.connection import shortened

MOST_CHARACTERS = 10_000
MOST_NESTED = 100

_TYPES = {
    *("BIGINT", "BOOL", "BOOLEAN", "DATE", "DOUBLE", "DOUBLE PRECISION", "FLOAT", "INT"),
    *("INTEGER", "STRING", "TEXT", "TIME", "TIMESTAMP", "VARCHAR"),
}
_WORDS = _TYPES | {
    *("AND", "OR", "NOT", "IN", "IS", "ISNULL", "NOTNULL", "LIKE", "ILIKE", "BETWEEN", "AS"),
    *("NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END"),
}
"""All words of SQL that mean something here; any other word is a name."""

_SIGNS = {
    *("(", ")", ",", ".", "+", "-", "*", "/", "//", "%", "||", "::"),
    *("=", "==", "<>", "!=", "<", "<=", ">", ">="),
}
_FREE = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Is: "IS",
    exp.In: "IN",
    exp.Between: "BETWEEN",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
}
_OPERATORS: dict[type[exp.Expr], str] = _COMPARISONS | {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.Neg: "-",
    exp.Not: "NOT",
    exp.And: "AND",
    exp.Or: "OR",
}
_OPERANDS = ("this", "expression", "low", "high", "expressions")
_REMARKS = ("negate", "safe", "typed")
"""What else sqlglot says of an operator: that it is negated, and how other engines compute it."""

_PARTS: dict[type[exp.Expr], set[str]] = {
    exp.Anonymous: {"this", "expressions"},
    exp.Boolean: {"this"},
    exp.Case: {"this", "ifs", "default"},
    exp.Cast: {"this", "to"},
    exp.Column: {"this"},
    exp.Literal: {"this", "is_string"},
    exp.Null: set(),
    exp.Paren: {"this"},
    exp.TryCast: {"this", "to", "safe"},
    **{kind: {*_OPERANDS, *_REMARKS} for kind in _OPERATORS},
}
"""Kinds of expressions -> the parts that each may have."""

_NAMES_OF_OTHERS: dict[type[exp.Expr], str] = {
    exp.Column: "names something inside a table or a value",
    exp.Dot: "names something inside a table or a value",
    exp.Star: "is all columns at once",
}


@dataclass(frozen=True, slots=True)
class Node:
    """An expression.

    Attributes:
        kind: ``column``, ``operator``, ``call``, ``case``, ``cast``, ``try_cast``, or the sort of a
            constant: ``number``, ``text``, ``boolean``, ``null``.
        name: which column, operator, function or type, or the text of a constant.
        children: what it is applied to; of a ``case``: condition, result, condition, ..., else.
    """

    kind: str
    name: str
    children: tuple[Node, ...] = ()


def refused(what: str, why: str) -> InvalidInputError:
    """What to raise for a part that a request may not have."""
    return InvalidInputError(
        f"{what} {why}: a request is one plain expression over the private attributes"
    )


def parse_expression(text: str) -> Node:
    """The tree of a text that is one expression."""
    if not 0 < len(text.strip()) <= len(text) <= MOST_CHARACTERS:
        raise refused("SQL", f"has {len(text):,} characters, not 1 to {MOST_CHARACTERS:,}")
    if not text.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise refused("SQL", "has characters that are not Unicode")
    # A thread begins with an empty stack: how deep a text may be nested is the same everywhere.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_parse, text).result()


class _Tokenizer(DuckDB.Tokenizer):
    KEYWORDS: ClassVar = {
        word: kind
        for word, kind in DuckDB.Tokenizer.KEYWORDS.items()
        if word in _WORDS or not word[0].isalpha()
    }


class _Parser(DuckDB.Parser):  # type: ignore[misc, valid-type]
    """Takes every function for a name with arguments, whatever sqlglot knows of it."""

    # Until version 30, sqlglot's % bound no tighter than +.
    TERM: ClassVar = {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub}
    FACTOR: ClassVar = {
        TokenType.STAR: exp.Mul,
        TokenType.SLASH: exp.Div,
        TokenType.DIV: exp.IntDiv,
        TokenType.MOD: exp.Mod,
    }
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": DuckDB.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
    FUNCTION_PARSERS: ClassVar = {
        name: DuckDB.Parser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")
    }


def _parse(text: str) -> Node:
    try:
        tokens = _Tokenizer(dialect="duckdb").tokenize(text)
        _check(tokens)
        [tree] = _Parser(dialect="duckdb").parse_into(exp.Condition, tokens, text)
        return _node(tree, 0)
    except RecursionError:
        raise refused("SQL", "is nested too deeply") from None
    except SqlglotError as error:
        places = error.errors if isinstance(error, ParseError) else []
        place = shortened(places[0]["highlight"] or "") if places else ""
        at = f" at {place!r}" if place else ""
        is_word = place.upper() in _WORDS
        hint = f'; where that is the name of an attribute, write "{place}"' if is_word else ""
        raise refused("SQL", f"cannot be read{at}{hint}") from None


def _check(tokens: Sequence[Token]) -> None:
    """Refuse signs without a meaning here, and constants that sqlglot reads otherwise."""
    for token in tokens:
        is_known = token.text in _SIGNS or " ".join(token.text.upper().split()) in _WORDS
        if not is_known and token.token_type not in _FREE:
            raise refused(repr(shortened(token.text)), "is not allowed")
    text = TokenType.STRING
    for first, second in pairwise(tokens):
        if first.token_type == second.token_type == text:
            raise refused("SQL", f"cannot be read at {shortened(second.text)!r}")
    for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
        # DuckDB converts 2020-01-31 to a date, and this to a text; sqlglot the other way round.
        is_typed = first.text.upper() in _TYPES and second.token_type == text
        if is_typed and third.text == "::":
            raise refused(
                "SQL", f"converts {first.text} {second.text!r} further: put brackets around it"
            )


def _node(tree: exp.Expr | None, depth: int) -> Node:
    if tree is None:
        raise refused("SQL", "cannot be read")
    given = {part for part, value in tree.args.items() if value}
    if type(tree) not in _PARTS or not given <= _PARTS[type(tree)]:
        shown = shortened(tree.sql("duckdb", unsupported_level=ErrorLevel.IGNORE))
        raise refused(repr(shown), _NAMES_OF_OTHERS.get(type(tree), "is not allowed"))
    if depth > MOST_NESTED:
        raise refused("SQL", "is nested too deeply")

    def inner(parts: Iterable[exp.Expr]) -> tuple[Node, ...]:
        return tuple(_node(part, depth + 1) for part in parts)

    match tree:
        case exp.Paren():
            return _node(tree.this, depth)
        case exp.Column() | exp.Null():
            return Node(tree.key, tree.name)
        case exp.Boolean():
            return Node("boolean", str(tree.this).lower())
        case exp.Literal():
            return Node("text" if tree.is_string else "number", tree.name)
        case exp.Neg(this=exp.Literal(is_string=False)):
            return Node("number", f"-{tree.name}")
        case exp.Anonymous():
            return Node("call", tree.name.lower(), inner(tree.expressions))
        case exp.Cast(to=to):
            kind = "try_cast" if isinstance(tree, exp.TryCast) else "cast"
            return Node(kind, str(to) if to.expressions else to.this.name, inner([tree.this]))
        case exp.Case():
            return Node("case", "", inner(_branches(tree)))
        case exp.Connector():  # a and b and c is one, however many there are
            return Node("operator", _OPERATORS[type(tree)], inner(tree.flatten(unnest=False)))
    return _operator(tree, inner)


def _branches(tree: exp.Case) -> Iterator[exp.Expr]:
    """Condition, result, condition, result, ..., else; ``case a when b`` is ``when a = b``."""
    for branch in tree.args["ifs"]:
        condition = branch.this
        if tree.this:
            condition = exp.EQ(this=exp.Paren(this=tree.this), expression=exp.Paren(this=condition))
        yield from (condition, branch.args["true"])
    yield tree.args.get("default") or exp.Null()


def _operator(tree: exp.Expr, inner: Callable[[Iterable[exp.Expr]], tuple[Node, ...]]) -> Node:
    name = _OPERATORS[type(tree)]
    operands = [tree.args[part] for part in _OPERANDS[:-1] if tree.args.get(part)]
    for operand in operands:
        # SQL's grammars differ on a < b < c, a = b is null and a = not b.
        is_chain = type(tree) in _COMPARISONS and type(operand) in _COMPARISONS
        if is_chain or (isinstance(operand, exp.Not) and not isinstance(tree, exp.Not)):
            raise refused("SQL", f"has {name} beside another comparison: put one into brackets")
    children = inner([*operands, *tree.expressions])
    match tree:
        case exp.Is(expression=exp.Null()):
            node = Node("operator", "IS NULL", children[:1])
        case exp.Is(expression=exp.Boolean()):  # of numbers, too
            is_true = Node("cast", "BOOLEAN", children[:1])
            node = Node("operator", "IS NOT DISTINCT FROM", (is_true, children[1]))
        case exp.Is() | exp.In(expressions=[]):
            raise refused("SQL", f"cannot be read at {name!r}")
        case _:
            node = Node("operator", name, children)
    return Node("operator", "NOT", (node,)) if tree.args.get("negate") else node
