"""Requests over cells: SQL against plain Python, comparisons finer than bins, and attacks."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.errors import InvalidInputError
from tacit.tables.encoding.attribute import (
    Attribute,
    Bins,
    Categories,
    Periods,
    label_of,
    labels_of,
)
from tacit.tables.questions.cells import Cells, Question
from tests.tables.samples import AGE, DIAGNOSIS, INCOME, KIDS, WARD

CELLS = Cells((AGE, DIAGNOSIS, KIDS, INCOME, WARD))
SMALL = Cells((AGE, DIAGNOSIS, KIDS))

Value = bool | int | str | None
Row = Mapping[str, Value]


def values(question: Question) -> list[str]:
    """The letter at each cell."""
    return [question.labels[r] for r in question.r_of_x]


# --- attributes by name -------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", CELLS.attributes, ids=lambda attribute: attribute.name)
def test_an_attribute_is_its_levels(attribute: Attribute) -> None:
    function = CELLS.of_attributes([attribute.name])
    axis = CELLS.attributes.index(attribute)
    assert function.name == attribute.name
    assert function.labels == attribute.labels
    assert function.numbers == attribute.numbers
    levels = np.unravel_index(np.arange(len(function.r_of_x)), CELLS.shape)
    assert function.r_of_x.tolist() == levels[axis].tolist()


def test_several_attributes_are_their_combinations() -> None:
    function = SMALL.of_attributes(["kids", "age"])
    assert function.name == "kids,age"
    assert len(function.labels) == 20
    assert function.labels[0] == "-1 + <=30"
    assert function.labels[-1] == "missing + missing"
    age, _, kids = np.unravel_index(np.arange(80), SMALL.shape)
    assert function.r_of_x.tolist() == (kids * 5 + age).tolist()
    assert function.numbers is None


def test_combinations_that_read_alike_are_told_apart() -> None:
    def category(name: str, *texts: str) -> Attribute:
        coding = Categories(texts=texts)
        return Attribute(name=name, sql_type="VARCHAR", coding=coding, has_missing=False)

    cells = Cells((category("a", "x", "x + y"), category("b", "y + z", "z")))
    letters = cells.of_attributes(["a", "b"]).labels
    assert len(set(letters)) == 4
    assert letters[1] == '["x", "z"]'


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "name one, or several different ones"),
        (["age", "age"], "name one, or several different ones"),
        (["ages"], "'ages' is no private attribute of this study: it has 'age', "),
        (["patient_id"], "is no private attribute"),
    ],
)
def test_attributes_that_are_not_there(names: list[str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        CELLS.of_attributes(names)


# --- SQL against plain Python -------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """The same expression twice."""

    sql: str
    python: Callable[[Row], Value]


def applied(sql: str, function: Callable[..., Value]) -> Callable[..., Term]:
    """What makes a term of terms: they take the places of {} in ``sql``."""
    return lambda *terms: Term(
        sql.format(*(term.sql for term in terms)),
        lambda row: function(*(term.python(row) for term in terms)),
    )


def strictly(function: Callable[..., Value]) -> Callable[..., Value]:
    """The function, but missing when an argument is."""
    return lambda *given: None if None in given else function(*given)


def both(left: Value, right: Value) -> Value:
    if left is False or right is False:
        return False
    return None if None in (left, right) else True


def either(left: Value, right: Value) -> Value:
    if left is True or right is True:
        return True
    return None if None in (left, right) else False


def is_between(value: Value, low: Value, high: Value) -> Value:
    at_least, at_most = strictly(operator.ge), strictly(operator.le)
    return both(at_least(value, low), at_most(value, high))


AGES = {"<=30": (-5, 30), "31-45": (31, 45), "46-60": (46, 60), ">60": (61, 120), None: (None,)}
"""Ages at the ends of each bin: what can be asked must not tell them apart."""

CUTS = {
    "age > {}": (operator.gt, 0),
    "age <= {}": (operator.le, 0),
    "{} < age": (operator.gt, 0),
    "age >= {}": (operator.ge, 1),
    "AGE < {}": (operator.lt, 1),
    "{}.0 > age": (operator.lt, 1),
    '"age" > {}.5': (operator.gt, 0),
}
"""Comparisons that bins can decide -> the operator, and how far past a cut its number is."""

AGE_CONDITIONS = st.builds(
    lambda sql, cut: Term(
        sql.format(cut + CUTS[sql][1]),
        lambda row: strictly(CUTS[sql][0])(row["age"], cut + CUTS[sql][1]),
    ),
    st.sampled_from([*CUTS]),
    st.sampled_from([30, 45, 60]),
)
WORDS = st.sampled_from(["dementia", "flu", "née", "", "DEMENTIA", "it''s", "x"])
TEXTS = st.deferred(
    lambda: (
        st.just(Term("diagnosis", lambda row: row["diagnosis"]))
        | WORDS.map(lambda word: Term(f"'{word}'", lambda _: word.replace("''", "'")))
        | st.builds(applied("upper({})", strictly(str.upper)), TEXTS)
        | st.builds(applied("substring({}, 2, 2)", strictly(lambda text: text[1:3])), TEXTS)
        | st.builds(applied("({} || {})", strictly(operator.add)), TEXTS, TEXTS)
        | choices(TEXTS)
    )
)
INTEGERS = st.deferred(
    lambda: (
        st.just(Term("kids", lambda row: row["kids"]))
        | st.integers(-3, 3).map(lambda number: Term(str(number), lambda _: number))
        | st.builds(applied("({} + {})", strictly(operator.add)), INTEGERS, INTEGERS)
        | st.builds(applied("({} - {})", strictly(operator.sub)), INTEGERS, INTEGERS)
        | st.builds(applied("(- {})", strictly(operator.neg)), INTEGERS)
        | st.builds(applied("length({})", strictly(len)), TEXTS)
        | choices(INTEGERS)
    )
)
CONDITIONS = st.deferred(
    lambda: (
        AGE_CONDITIONS
        | st.builds(applied("({} = {})", strictly(operator.eq)), TEXTS, TEXTS)
        | st.builds(applied("({} < {})", strictly(operator.lt)), TEXTS, TEXTS)
        | st.builds(applied("({} <> {})", strictly(operator.ne)), INTEGERS, INTEGERS)
        | st.builds(applied("({} BETWEEN {} AND {})", is_between), INTEGERS, INTEGERS, INTEGERS)
        | st.builds(
            applied("({} IN ('flu', ''))", strictly(lambda text: text in ("flu", ""))), TEXTS
        )
        | st.builds(applied("({} NOT LIKE '%e%')", strictly(lambda text: "e" not in text)), TEXTS)
        | st.builds(applied("({} IS NULL)", lambda value: value is None), TEXTS | INTEGERS)
        | st.builds(applied("({} IS NOT DISTINCT FROM {})", operator.eq), TEXTS, TEXTS)
        | st.builds(applied("(NOT {})", strictly(operator.not_)), CONDITIONS)
        | st.builds(applied("({} AND {})", both), CONDITIONS, CONDITIONS)
        | st.builds(applied("({} OR {})", either), CONDITIONS, CONDITIONS)
    )
)


def choices(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    case = applied(
        "CASE WHEN {} THEN {} ELSE {} END",
        lambda condition, then, otherwise: then if condition is True else otherwise,
    )
    first = applied("coalesce({}, {})", lambda left, right: right if left is None else left)
    return st.builds(case, CONDITIONS, terms, terms) | st.builds(first, terms, terms)


def python_values(term: Term) -> list[set[str]]:
    """What the term is at each cell; a set, because a cell has several ages."""

    def label(value: Value) -> str:
        return "missing" if value is None else label_of(value)

    return [
        {label(term.python({"age": age, "diagnosis": word, "kids": kids})) for age in AGES[bin_]}
        for bin_, word, kids in product(AGE.letters, DIAGNOSIS.letters, KIDS.letters)
    ]


UNKNOWN_LEVEL = re.compile(
    r"diagnosis (=|IS NOT DISTINCT FROM|IN) \(?('flu', )?'(|DEMENTIA|it''s|x)'"
    r"|'(|DEMENTIA|it''s|x)' (=|IS NOT DISTINCT FROM) diagnosis"
)
"""Comparisons of diagnosis itself with a text that is none of its levels."""


@pytest.mark.slow
@given(CONDITIONS | TEXTS | INTEGERS)
def test_sql_is_what_plain_python_makes_of_it(term: Term) -> None:
    assume(term.sql.count("||") < 20)  # more would be refused
    if UNKNOWN_LEVEL.search(term.sql):
        with pytest.raises(InvalidInputError, match="diagnosis has no level"):
            SMALL.evaluate(term.sql)
        return
    expected = python_values(term)
    if len(set.union(*expected)) == 1:
        with pytest.raises(InvalidInputError, match="is the same at every cell"):
            SMALL.evaluate(term.sql)
        return
    function = SMALL.evaluate(term.sql)
    assert [{value} for value in values(function)] == expected
    assert len(set(function.labels)) == len(function.labels)


@pytest.mark.parametrize(
    ("sql", "letters", "numbers"),
    [
        ("age", AGE.letters, AGE.numbers),
        ("diagnosis", DIAGNOSIS.letters, None),
        ("kids", KIDS.letters, KIDS.numbers),
        ("ward", WARD.letters, None),  # in the order of the mapping
        ("age > 60", (False, True, None), None),
        ("age is null", (False, True), None),
        ("age is not null and ward = 'south'", (False, True), None),
        ("case when age <= 45 then 'young' else age end", ("young", "46-60", ">60", None), None),
        ("case when kids = 0 then age end", AGE.letters, AGE.numbers),
        ("case when age > 30 and age <= 60 then age end", ("31-45", "46-60", None), (1, 2, None)),
        ("coalesce(age, 'unknown')", ("unknown", *AGE.letters[:-1]), None),
        ("if(age > 60, age, diagnosis)", (">60", *DIAGNOSIS.letters), None),
        ("-kids", (-2, 0, 1, None), (-2.0, 0.0, 1.0, None)),
        ("kids / 4", (-0.25, 0.0, 0.5, None), (-0.25, 0.0, 0.5, None)),
        ("round(kids * 1.26, 1)", (-1.3, 0.0, 2.5, None), (-1.3, 0.0, 2.5, None)),
        ("kids::varchar", ("-1", "0", "2", None), None),
        ("cast(diagnosis = 'flu' as int)", (0, 1, None), (0.0, 1.0, None)),
        ("try_cast(diagnosis || kids as int) is null", None, None),
        ("date '2020-01-30' + kids::int", ("2020-01-29", "2020-01-30", "2020-02-01", None), None),
        ("year(date '2019-12-31' + kids::int)", (2019, 2020, None), (2019.0, 2020.0, None)),
        ("kids % 2", (-1, 0, None), (-1.0, 0.0, None)),
        ("greatest(kids, 1)", (1, 2), (1.0, 2.0)),
        ("nullif(diagnosis, 'flu')", ("dementia", "née", None), None),
        ("diagnosis ilike 'FL%' -- a remark", (False, True, None), None),
        ("income > 0 and 20.5 >= income", (False, True), None),
        ("income > -0.0", (False, True), None),
        ("kids in (0, 1, null)", (True, None), None),
        ("age between 31 and 60", (False, True, None), None),
        ("coalesce(kids, 5) + 1", (0, 1, 3, 6), (0.0, 1.0, 3.0, 6.0)),
    ],
)
def test_letters_and_their_order(
    sql: str, letters: tuple[Value | float, ...] | None, numbers: tuple[float | None, ...] | None
) -> None:
    if letters is None:
        with pytest.raises(InvalidInputError, match="is the same at every cell"):
            CELLS.evaluate(sql)
        return
    function = CELLS.evaluate(sql)
    assert function.labels == labels_of(letters)
    assert function.numbers == numbers
    assert function.name == function.sql == sql
    assert set(function.r_of_x) == set(range(len(letters)))


def test_values_keep_their_types() -> None:
    def category(name: str, sql_type: str, *texts: str) -> Attribute:
        coding = Categories(texts=texts)
        return Attribute(name=name, sql_type=sql_type, coding=coding, has_missing=False)

    cells = Cells(
        (
            category("day", "DATE", "1999-12-31", "2020-01-02"),
            category("price", "DECIMAL(10,2)", "0.50", "10.00"),
            category("is_new", "BOOLEAN", "false", "true"),
            category("size", "DOUBLE", "-1.5", "inf"),
        )
    )
    assert cells.evaluate("day > '2000-01-01'").labels == ("false", "true")
    assert cells.evaluate("day").labels == ("1999-12-31", "2020-01-02")
    assert cells.evaluate("price * 2").labels == ("1", "20")
    assert cells.evaluate("price * 2").numbers == (1.0, 20.0)
    assert cells.evaluate("price").labels == cells.of_attributes(["price"]).labels
    assert cells.evaluate("is_new and price > 1").labels == ("false", "true")
    assert cells.evaluate("size - size").labels == ("0", "missing")  # inf - inf is no number


def test_names_may_be_anything() -> None:
    names = ['we"ird; --', "select", "levels_0", "level", "value", "bin", "x"]
    coding = Categories(texts=("0", "1"))
    cells = Cells(
        tuple(
            Attribute(name=name, sql_type="BIGINT", coding=coding, has_missing=False)
            for name in names
        )
    )
    sql = '64*"we""ird; --" + 32*"select" + 16*levels_0 + 8*level + 4*value + 2*bin + x'
    assert values(cells.evaluate(sql)) == list(map(str, range(128)))


def test_a_name_that_is_a_keyword_needs_no_quotes() -> None:
    coding = Categories(texts=("0", "1"))
    for name in ("union", "order", "group", "Table", "desc", "default", "with", "from", "café"):
        cells = Cells(
            tuple(
                Attribute(name=each, sql_type="BIGINT", coding=coding, has_missing=False)
                for each in (name, "select")
            )
        )
        assert values(cells.evaluate(f"2*{name} + length('é') * select")) == [
            "0",
            "1",
            "2",
            "3",
        ], name
        assert values(cells.evaluate(f'{name.upper()} = 1 and "select" > 0')) == [
            *("false", "false", "false"),
            "true",
        ]


@pytest.mark.parametrize("name", ["and", "null"])
def test_a_name_that_cannot_be_told_from_its_keyword_is_to_be_quoted(name: str) -> None:
    attribute = Attribute(
        name=name, sql_type="BIGINT", coding=Categories(texts=("0", "1")), has_missing=True
    )
    cells = Cells((attribute,))
    with pytest.raises(InvalidInputError, match=r"cannot be read|is the same at every cell"):
        cells.evaluate(f"{name} in (0) and {name} is not null")
    assert len(cells.evaluate(f'"{name}" in (0) and "{name}" is not null').labels) == 2


def test_the_quotes_that_make_a_name_of_a_keyword_are_suggested() -> None:
    with pytest.raises(InvalidInputError, match=r'where that is the name .* write "and"'):
        SMALL.evaluate("kids = 0 and and > 1")


# --- levels that are not there ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("diagnosis = 'dementa'", "diagnosis has no level 'dementa': it has 'dementia', "),
        ("'flux' <> diagnosis", "diagnosis has no level 'flux': it has 'flu', "),
        ("diagnosis in ('flu', 'Née')", "diagnosis has no level 'Née': it has 'née', "),
        ("age > 60 and not diagnosis not in ('flue')", "no level 'flue': it has 'flu', "),
        ("case diagnosis when 'fl' then 1 else 0 end", "no level 'fl': it has 'flu', "),
        ("diagnosis is distinct from 'FLU'", "no level 'FLU': it has 'flu', "),
        ("ward = 'sooth'", "ward has no level 'sooth': it has 'south', 'north'$"),
        ("ward = 's1'", "ward has no level 's1'"),
        ("diagnosis = 'missing'", "; a missing value is found by diagnosis is null$"),
        ("ward = 'missing'", "it has 'north', 'south'$|it has 'south', 'north'$"),
    ],
)
def test_a_level_that_is_not_there_is_refused_with_the_nearest(sql: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        CELLS.evaluate(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "diagnosis like 'dementa%' or diagnosis = 'flu'",
        "upper(diagnosis) = 'FLU'",
        "diagnosis < 'e'",
        "diagnosis between 'd' and 'f'",
        "coalesce(diagnosis, 'none') = 'none'",
        "case when kids = 0 then 'nobody' else diagnosis end",
        "kids in (0, 7)",
        "kids <> 5 or diagnosis = 'flu'",
        "kids = '2'",
        "diagnosis in ('flu', null)",
    ],
)
def test_what_is_no_comparison_with_a_level_stays_as_it_was(sql: str) -> None:
    assert len(CELLS.evaluate(sql).labels) > 1


# --- finer than bins ----------------------------------------------------------------------------

ONLY_CUTS = "age is known in steps of 30, 45, 60 here and can only be compared with these numbers"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("age >= 65", "steps of 30, 45, 60 here; the nearest that can be asked is age > 60"),
        ("age > 61", "the nearest that can be asked is age > 60"),
        ("age < 35", "the nearest that can be asked is age <= 30"),
        ("age <= 44.9", "the nearest that can be asked is age <= 45"),
        ("65 <= age", "the nearest that can be asked is age > 60"),
        ("not (1 > 2 or age >= 65)", "age > 60"),
        ("age > 1e30", "age > 60"),
        ("age > -5", "age > 30"),
        ("age between 30 and 45", "age > 30"),
        ("age between 31 and 44", "age <= 45"),
        ("income >= 0", "income is known in steps of 0, 20.5 here; .* income > 0$"),
        ("income < 20.5", "income <= 20.5$"),
        ("income > 20.50000001", "income > 20.5$"),
        ("income > 1e400", "income > 20.5$"),
        ("age = 60", ONLY_CUTS),
        ("age <> 60", ONLY_CUTS),
        ("age in (60)", ONLY_CUTS),
        ("age is distinct from 60", ONLY_CUTS),
        ("age is not distinct from null", ONLY_CUTS),
        ("age > null", ONLY_CUTS),
        ("age > '60'", ONLY_CUTS),
        ("age > 30 + 30", ONLY_CUTS),
        ("age > 60::integer", ONLY_CUTS),
        ("age > kids::integer", ONLY_CUTS),
        ("age > kids", ONLY_CUTS),
        ("age > age", ONLY_CUTS),
        ("age > income", ONLY_CUTS),
        ("60 between age and 70", ONLY_CUTS),
        ("age between kids and 45", ONLY_CUTS),
        ("age + 1 > 61", ONLY_CUTS),
        ("-age < -60", ONLY_CUTS),
        ("abs(age) > 60", ONLY_CUTS),
        ("age = '<=30'", ONLY_CUTS),
        ("age like '%'", ONLY_CUTS),
        ("upper(age)", ONLY_CUTS),
        ("age || ''", ONLY_CUTS),
        ("age::varchar", ONLY_CUTS),
        ("case age when 30 then 1 end", ONLY_CUTS),
        ("case when age then 1 end", ONLY_CUTS),
        ("coalesce(age, 'x') > 'a'", ONLY_CUTS),
        ("(case when true then age end) = '<=30'", ONLY_CUTS),
        ("length(if(true, age, age))", ONLY_CUTS),
        ("not age", ONLY_CUTS),
        ("nullif(age, '<=30')", ONLY_CUTS),
        ("concat(age, 'x')", ONLY_CUTS),
    ],
)
def test_nothing_finer_than_bins_can_be_asked(sql: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        CELLS.evaluate(sql)
    assert len(str(raised.value).splitlines()) == 1


# --- attacks ------------------------------------------------------------------------------------

REFUSED = {
    "is nested too deeply": [
        "(" * 3000 + "1" + ")" * 3000,
        "not " * 150 + "true",
        "not " * 900 + "true",
        "1 + " * 200 + "kids",
        "case when true then " * 120 + "1" + " end" * 120,
    ],
    "characters": [
        "",
        "  \n",
        "a" * 10_001,
        "\ud800 = diagnosis",
    ],
    "joins more than": [
        " || ".join(["diagnosis"] * 21),
        f"concat({', '.join(['diagnosis'] * 21)})",
        f"length(concat({', '.join(['diagnosis'] * 15)})) + length({'||'.join(['ward'] * 9)})",
    ],
    "cannot be computed at all cells": [
        "kids + diagnosis",
        "diagnosis > 5",
        "diagnosis::int",
        "1 // kids",
        "kids % 0",
        "kids * 9223372036854775807",
        "left(diagnosis, 9223372036854775807)",
        "date 'now' > '2020-01-01'",
        "timestamp 'today' is null",
        "case when diagnosis then 1 else 2 end",
    ],
    "is the same at every cell": [
        "1",
        "null",
        "'x'",
        "true or age > 60",
        "case when age > 60 then null end",
        "diagnosis = 'flu' and false",
        "left(diagnosis, 0) || 'x' is not null or true",
    ],
    "is no private attribute": [
        "patient_id",
        "rowid",
        "current_date",
        "current_timestamp",
        "current_user",
        "user",
        "bin",
        "level",
        "staged",
        'diagnosis = "flu"',
        "diagnosis = ’flu’",
        "age\0 > 60",
        "diag\u200bnosis = 'flu'",
        "default",
    ],
    "names something inside": [
        "t.*",
        "diagnosis.x",
        "levels_0.value",
        "age.bin > 2",
        '"age"."level"',
        "main.levels_0.value",
        "main.lower(diagnosis)",
        "system.main.lower(diagnosis)",
        "diagnosis.upper()",
    ],
    "is all columns at once": [
        "count(*)",
        "*",
        "columns(*)",
        "kids + columns(*)",
    ],
    "converts to a type": [
        "diagnosis::json",
        "diagnosis::blob",
        "diagnosis::uuid",
        "diagnosis::timestamptz",
        "diagnosis::enum('a')",
        "kids::decimal(38, 10)",
        "kids::bignum",
        "cast(diagnosis as struct(x int))",
        "cast(diagnosis as map(int, int))",
        "cast(diagnosis as main.mood)",
        "diagnosis::regclass",
    ],
    "has a constant that is not allowed": [
        "diagnosis = 'a\0b'",
        "kids = 1e9999",
        "kids = " + "9" * 39,
        "kids = 0." + "9" * 39,
    ],
    "uses '": [
        "values (1)",
        "xmlparse(kids)",
        "random() > 0.5",
        "uuid()",
        "gen_random_uuid()",
        "now()",
        "today()",
        "get_current_time()",
        "getenv('HOME')",
        "getvariable('x')",
        "current_setting('threads')",
        "current_database()",
        "current_query()",
        "version()",
        "txid_current()",
        "nextval('s')",
        "read_text('/etc/passwd')",
        "read_blob('/etc/passwd')",
        "read_csv('/etc/passwd')",
        "read_parquet('x')",
        "glob('/*')",
        "sniff_csv('/etc/passwd')",
        "query('select 1')",
        "query_table('levels_0')",
        "duckdb_settings()",
        "pragma_version()",
        "json_serialize_sql('select 1')",
        "json_execute_serialized_sql('{}')",
        "sum(kids)",
        "first(diagnosis)",
        "string_agg(diagnosis, '')",
        "generate_series(1, 1000000000)",
        "range(1000000000)",
        "repeat('a', 1000000000)",
        "lpad('a', 1000000000, 'b')",
        "rpad('a', 1000000000, 'b')",
        "bar(kids, 0, 1, 1000000000)",
        "printf('%1000000000d', kids)",
        "format('{:1000000000}', diagnosis)",
        "replace(replace('aaaa', 'a', 'aaaaaaaa'), 'a', 'aaaaaaaa')",
        "translate(diagnosis, 'a', 'b')",
        "regexp_replace(diagnosis, '(a+)+$', 'b')",
        "regexp_matches(diagnosis, '(a+)+$')",
        "row(1, 2)",
        "factorial(20)",
        "hash(diagnosis)",
        "md5(diagnosis)",
        "typeof(diagnosis)",
        "alias(diagnosis)",
        "error('x')",
        "sleep_ms(100000)",
        "write_log('x')",
        "enum_range(null)",
        "struct_extract(row(1), 1)",
        "contains(diagnosis, 'a')",
        "columns('a.*')",
        "grouping(kids)",
        "try(kids)",
    ],
    "arguments to": [
        "nullif(kids)",
        "left(diagnosis)",
        "lower()",
        "if(true)",
        "concat()",
        "round(1, 2, 3)",
    ],
    "put one into brackets": [
        "1 < 2 < 3",
    ],
    "is not allowed": [
        "(from levels_0)",
        "(table levels_0)",
        "diagnosis = any(['flu'])",
        "kids = 1; drop table levels_0",
        "kids;",
        "select 1; select 2",
        "kids -- x\n; drop table levels_0",
        "x: kids",
        "1); select (2",
        "unnest([1, 2])",
        "diagnosis ~ 'a'",
        "list_aggregate([1], 'sum')",
        "[1, 2]",
        "map {'a': 1}",
        "(1, 2)",
        "()",
        "kids at time zone 'utc'",
        "2 ** 100000",
        "2 ^ 100000",
        "20!",
        "kids << 60",
        "kids & 1",
        "~kids",
        "diagnosis->>'a'",
        "kids in diagnosis",
        "list_transform([1], x -> x)",
        "apply([1], lambda x: x + 1)",
        "[x for x in [1]]",
        "x -> x",
        "diagnosis->'a'",
        "$1",
        "?",
        "$name",
        "{'a': 1}",
        "lower(x := diagnosis)",
        "struct_pack(a := 1)",
        "diagnosis::varchar[]",
        "diagnosis[1]",
        "diagnosis[1:2]",
    ],
    "cannot be read": [
        "select 1",
        "(select 1)",
        "with a as (select 1) select 1",
        "exists(select 1)",
        "kids > all(select 1)",
        "diagnosis in (select 'x')",
        "(select content from read_text('/etc/passwd'))",
        "describe levels_0",
        "kids as x",
        "kids from levels_0",
        "kids limit 1",
        "kids where true",
        "distinct kids",
        "1) from duckdb_settings() (",
        "attach 'x' as y",
        "pragma database_list",
        "copy levels_0 to 'x'",
        "set threads = 1",
        "install httpfs",
        "load httpfs",
        "call pragma_version()",
        "explain select 1",
        "create macro m(a) as a",
        "import database 'x'",
        "pivot levels_0 on level",
        "'open",
        '"open',
        "/* open",
        "$$open",
        ")",
        "(",
        "age > 60 and",
        "('a' 'b')",
        "x'0\u6046' = diagnosis",
        "1) union select (2",
        "1) from levels_0 where (true",
        "1) limit (1",
        "1), (2",
        "1) as x, (2",
        "1) order by (2",
        "1) group by (2",
        "1) using sample (2",
        "diagnosis similar to 'a'",
        "diagnosis glob '*'",
        "diagnosis like 'a!%' escape '!'",
        "kids, age",
        "interval '1' day",
        "sum(kids) over ()",
        "row_number() over (order by kids)",
        "diagnosis collate nocase",
        "lower(diagnosis) filter (where true)",
        "lower(distinct diagnosis)",
        "lower(diagnosis order by 1)",
        "inet '1.2.3.4'",
        "x'00' = diagnosis",
    ],
}


@pytest.mark.parametrize(
    ("sql", "message"),
    [(sql, message) for message, attacks in REFUSED.items() for sql in attacks],
    ids=lambda text: text[:40].encode("unicode-escape").decode(),
)
def test_what_is_no_plain_expression_is_refused(sql: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        CELLS.evaluate(sql)
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 600


def test_what_is_just_allowed() -> None:
    twenty = CELLS.evaluate(" || ".join(["diagnosis"] * 20)).labels
    assert twenty == ("dementia" * 20, "flu" * 20, "née" * 20, "missing")
    assert CELLS.evaluate(f"concat({', '.join(['diagnosis'] * 20)})").labels == ("", *twenty[:-1])
    assert CELLS.evaluate("not " * 60 + "age > 60").labels == ("false", "true", "missing")
    assert CELLS.evaluate("(" * 30 + "kids" + ")" * 30).labels == KIDS.labels


def test_a_long_list_is_fine() -> None:
    words = ", ".join(f"'{number}'" for number in range(1200))
    assert CELLS.evaluate(f"lower(diagnosis) in ({words}, 'flu')").labels == (
        "false",
        "true",
        "missing",
    )


# --- bins of dates and times --------------------------------------------------------------------

DAYS = Bins(cuts=("2019-12-31", "2020-06-30"))
MOMENTS = Cells(
    (
        Attribute(name="born", sql_type="DATE", coding=DAYS, has_missing=True),
        Attribute(name="seen", sql_type="TIMESTAMP", coding=DAYS, has_missing=False),
        Attribute(
            name="left",
            sql_type="TIMESTAMP",
            coding=Bins(cuts=("2020-01-31 12:00:00", "2020-02-29 12:00:00")),
            has_missing=False,
        ),
        Attribute(name="rose", sql_type="TIME", coding=Bins(cuts=("07:30:00",)), has_missing=False),
        Attribute(
            name="month",
            sql_type="DATE",
            coding=Periods(unit="month", texts=("2019-12", "2020-02")),
            has_missing=False,
        ),
    )
)


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("born <= '2019-12-31'", "born < '2020-01-01'"),
        ("born > date '2020-06-30'", "'2020-07-01' <= born"),
        ("seen <= '2019-12-31'", "seen < '2020-01-01'"),
        (
            "seen between '2020-01-01' and '2020-06-30'",
            "seen > '2019-12-31' and seen < '2020-07-01'",
        ),
        ("\"left\" > '2020-01-31 12:00'", "\"left\" > timestamp '2020-01-31T14:00:00+02:00'"),
        ("rose <= '07:30'", "not rose > '07:30:00'"),
        ("month >= '2020-01'", "month = '2020-02'"),
    ],
)
def test_dates_are_compared_with_their_cuts(sql: str, same: str) -> None:
    found, again = MOMENTS.evaluate(sql), MOMENTS.evaluate(same)
    assert found.labels == again.labels
    np.testing.assert_array_equal(found.counts, again.counts)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "born < '2019-12-31'",
            "born is known in steps of 2019-12-31, 2020-06-30 here; the nearest",
        ),
        ("born >= '2020-07-02'", "the nearest that can be asked is born > '2020-06-30'"),
        ("born <= '2019-12-31 12:00'", "compared with these times, as in born <= '2019-12-31'"),
        ("born > 2020", "can only be compared with these times"),
        ("born > 'soon'", "can only be compared with these times"),
        ("born > '2020-02-30'", "can only be compared with these times"),
        ("\"left\" < '2020-01-31 12:00'", "left <= '2020-01-31 12:00:00'"),
        ("\"left\" <= '2020-01-31'", "can only be compared with these times"),
        ("year(born) = 2020", "can only be compared with these times"),
        ("rose <= '08:00'", "the nearest that can be asked is rose <= '07:30:00'"),
    ],
)
def test_dates_finer_than_their_cuts_cannot_be_asked(sql: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        MOMENTS.evaluate(sql)


def test_decimals_are_asked_for_with_all_their_digits() -> None:
    near, nearer = "12345678901234567.01", "12345678901234567.02"
    cells = Cells(
        (
            Attribute(
                name="w",
                sql_type="DECIMAL(20,2)",
                coding=Categories(texts=(near, nearer)),
                has_missing=False,
                is_exact=True,
            ),
            Attribute(
                name="b",
                sql_type="DECIMAL(20,2)",
                coding=Bins(cuts=("-" + near, near, nearer)),
                has_missing=False,
            ),
        )
    )
    assert cells.evaluate("w * 10").labels == ("123456789012345670.1", "123456789012345670.2")
    assert cells.evaluate(f"w = {near}").labels == ("false", "true")
    steps = cells.evaluate(f"b >= {nearer}"), cells.evaluate(f"b > {near}")
    np.testing.assert_array_equal(steps[0].counts, steps[1].counts)
    with pytest.raises(InvalidInputError, match=rf"nearest that can be asked is b <= {nearer}"):
        cells.evaluate("b <= 12345678901234567.03")


def test_months_lie_on_a_line() -> None:
    numbers = MOMENTS.evaluate("month").numbers
    assert numbers is not None
    assert numbers[1] - numbers[0] == 2
