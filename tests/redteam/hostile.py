"""Tables and expressions that somebody means harm with, or that a careless export makes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from tacit.errors import TacitError
from tacit.tables.questions.cells import Cells

SECRET = "TOPSECRET"
"""In a file and in the environment; nothing may ever say it."""

SECONDS = 20
"""Of a processor; a request that exhausts something takes minutes."""

LONGEST = 1000
"""Characters of a message: no table and no expression is repeated whole."""

_HEAD = "id,colour,size\n"


def _rows(n: int = 60, ids: str = "r{}", colours: tuple[str, ...] = ("red", "blue")) -> str:
    return "".join(f"{ids.format(n)},{colours[n % len(colours)]},{n % 5}\n" for n in range(n))


def _named(column: str) -> bytes:
    return (f"id,{column}\n" + "".join(f"r{n},{'ab'[n % 2]}\n" for n in range(60))).encode()


def _levels(*levels: str) -> bytes:
    rows = (f"r{n},{levels[n % len(levels)]},{n % 5}\n" for n in range(60))
    return (_HEAD + "".join(rows)).encode()


TABLES: dict[str, tuple[bytes, str]] = {
    "as it should be": ((_HEAD + _rows()).encode(), "colour"),
    "BOM": (b"\xef\xbb\xbf" + (_HEAD + _rows()).encode(), "colour"),
    "CRLF": ((_HEAD + _rows()).replace("\n", "\r\n").encode(), "colour"),
    "CR alone": ((_HEAD + _rows()).replace("\n", "\r").encode(), "colour"),
    "no newline at the end": ((_HEAD + _rows()).rstrip("\n").encode(), "colour"),
    "UTF-16": ((_HEAD + _rows()).encode("utf-16"), "colour"),
    "Latin-1": (_levels("rouge", "vert").replace(b"vert", b"v\xe9rt"), "colour"),
    "NUL in a value": (_levels("red", "bl\0ue"), "colour"),
    "NUL in an id": ((_HEAD + _rows(ids="r\0{}")).encode(), "colour"),
    "only NULs": (b"\0" * 4096, "colour"),
    "newline in ids": ((_HEAD + _rows(ids='"r\n{}"')).encode(), "colour"),
    "quotes in ids": ((_HEAD + _rows(ids='"r""{}"')).encode(), "colour"),
    "an open quote": ((_HEAD + _rows() + 'r99,"red,1\n').encode(), "colour"),
    "right-to-left marks": (_levels("\u202ered", "blue\u200f"), "colour"),
    "levels that look alike": (_levels("red", "r\u0435d"), "colour"),
    "levels that differ by form": (_levels("caf\u00e9", "cafe\u0301"), "colour"),
    "formulas": (_levels("=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-1"), "colour"),
    "SQL as levels": (_levels("'; DROP TABLE levels_0; --", "' OR 1=1 --"), "colour"),
    "HTML as levels": (_levels("<script>alert(1)</script>", "</script>"), "colour"),
    "escape sequences": (_levels("\x1b[31mred", "\x07blue"), "colour"),
    "very long levels": (_levels("r" * 100_000, "b" * 100_000), "colour"),
    "huge numbers": (_levels("1e308", "-1e308", "1e-308"), "colour"),
    "huge numbers cut": (_levels("1e308", "-1e308", "1e-308"), "colour:cut=0"),
    "overflow": (_levels("1e309", "2e400"), "colour:cut=0"),
    "NaN and infinity": (_levels("NaN", "inf", "-inf", "1"), "colour"),
    "NaN cut": (_levels("NaN", "inf", "-inf", "1"), "colour:cut=0"),
    "more digits than a number has": (_levels("9" * 60, "8" * 60), "colour"),
    "mixed types": (_levels("1", "red", "2020-01-01", "true", ""), "colour"),
    "dates that are none": (_levels("2020-02-30", "2020-13-01"), "colour"),
    "all missing": (_levels("", ""), "colour"),
    "all equal": (_levels("red"), "colour"),
    "an empty column name": (_named(""), ""),
    "blank column name": (_named(" "), " "),
    "duplicated headers": (b"id,colour,colour\n" + b"r1,a,b\n" * 3, "colour"),
    "headers that differ by case": (
        b"id,colour,COLOUR\n" + b"".join(b"r%d,a,b\n" % n for n in range(60)),
        "colour",
    ),
    "one row": ((_HEAD + _rows(1)).encode(), "colour"),
    "two rows": ((_HEAD + _rows(2)).encode(), "colour"),
    "a header alone": (_HEAD.encode(), "colour"),
    "rows of different lengths": (
        (_HEAD + _rows() + "r99,red\nr98,red,1,2,3\n").encode(),
        "colour",
    ),
    "1,000 levels": (_levels(*(f"c{n}" for n in range(1000))), "colour"),
    "ids that are numbers and texts": (
        (_HEAD + _rows(30, "{}") + _rows(30, "x{}")).encode(),
        "colour",
    ),
    "ids 1 and 1.0 and 01": ((_HEAD + "1,red,1\n1.0,blue,2\n01,red,3\n").encode(), "colour"),
    "a column named select": (_named("select"), "select"),
    "a column named union": (_named("union"), "union"),
    "a column named from": (_named("from"), "from"),
    "a column named rowid": (_named("rowid"), "rowid"),
    "a column named x": (_named("x"), "x"),
    "a column named record": (_named("record"), "record"),
    "a column with a quote": (_named('"a""b"'), 'a"b'),
    "a column with a semicolon": (_named("a;b"), "a;b"),
    "a column that closes a statement": (_named("a); DROP TABLE t; --"), "a); DROP TABLE t; --"),
    "a column with a colon": (_named("a:b"), "a:b"),
    "a column with a newline": (_named('"a\nb"'), "a\nb"),
    "a column with a dot": (_named("a.b"), "a.b"),
    "a column with brackets": (_named("a[0]"), "a[0]"),
    "a column of 10,000 letters": (_named("c" * 10_000), "c" * 10_000),
}
"""What it is -> the bytes of a CSV file, and the private attribute to declare."""


def expressions(secret_file: Path) -> Iterator[str]:
    """Requests that try to read, write, call or exhaust something."""
    file = str(secret_file)
    yield from _reading(file)
    yield from _stating(file)
    yield from _querying()
    yield from _calling()
    yield from _exhausting()
    yield from _spelling()


def try_expression(cells: Cells, sql: str) -> bool:
    """Evaluate an expression; whether it worked. It may be refused, and nothing worse."""
    start, is_done = time.process_time(), False
    try:
        question = cells.evaluate(sql)
        is_done, said = True, repr(question.labels)
    except TacitError as error:
        said = str(error)
    assert is_done or ("\n" not in said and len(said) < LONGEST), sql
    assert SECRET not in said, sql
    assert time.process_time() - start < SECONDS, sql
    return is_done


def _reading(file: str) -> Iterator[str]:
    readers = (
        *("read_text", "read_blob", "read_csv", "read_csv_auto", "read_json", "read_json_auto"),
        *("read_parquet", "parquet_scan", "parquet_metadata", "glob", "sniff_csv", "sqlite_scan"),
        *(
            "postgres_scan",
            "read_ndjson",
            "read_json_objects",
            "read_xlsx",
            "st_read",
            "iceberg_scan",
        ),
    )
    for reader in readers:
        yield f"{reader}('{file}') = 'x'"
        yield f"colour = (select content from {reader}('{file}') limit 1)"
    yield f"colour = '{file}'::BLOB"
    yield f"(from '{file}')"
    yield f"exists(select * from '{file}')"
    yield f"colour in (select * from '{file}')"


def _stating(file: str) -> Iterator[str]:
    statements = (
        f"copy (select 1) to '{file}.out'",
        f"export database '{file}.out'",
        f"attach '{file}.db' as other",
        "install httpfs",
        "load httpfs",
        "pragma database_list",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "reset all",
        "create table t as select 1",
        "drop table levels_0",
        "delete from levels_0",
        "update levels_0 set value = 'x'",
        "insert into levels_0 values (1, 1, 'x')",
        "call pragma_version()",
        "checkpoint",
        "vacuum",
        "create macro f(x) as x",
        "create secret s (type s3)",
        "describe levels_0",
        "explain select 1",
        "show tables",
        "use other",
        "begin",
        "prepare p as select 1",
        f"import database '{file}'",
    )
    for statement in statements:
        yield statement
        yield f"colour = 'red'; {statement}"
        yield f"colour = 'red') ; {statement}; select ("
    yield "colour = 'red';"
    yield ";;"
    yield "colour = 'red') from levels_0 --"
    yield "colour = 'red') /*"
    yield "colour = 'red' -- comment"
    yield "colour /* comment */ = 'red'"
    yield "colour = 'red') union all select ('x'"
    yield "1) limit 0, (1"
    yield "colour = 'red') into outfile ('x'"


def _querying() -> Iterator[str]:
    tables = (
        *("levels_0", "rows", "information_schema.tables", "duckdb_settings()", "pragma_version()"),
        *(
            "duckdb_secrets()",
            "sqlite_master",
            "duckdb_tables()",
            "pg_catalog.pg_tables",
            "range(10)",
        ),
    )
    for table in tables:
        yield f"(select count(*) from {table}) > 1"
        yield f"exists (from {table})"
    yield from (
        "with t as (select 1) select 1",
        "(values (1))",
        "colour = any (select 'red')",
        "array(select 1)",
        "[x for x in range(3)]",
        "list_transform([1], x -> x)",
        "lambda x: x",
        "{'a': 1}.a = 1",
        "map {'a': 1}",
        "struct_pack(a := 1)",
        "row(1, 2)",
        "unnest([1, 2])",
        "columns(*)",
        "*",
        "colour.*",
        "levels_0.value",
        "main.levels_0.value",
        "memory.main.levels_0",
        "colour.level",
        "colour.bin = 0",
        '"colour".value',
        "$1 = 1",
        "? = 1",
        "$name = 1",
        "@x",
        ":x",
        "colour collate nocase = 'RED'",
        "colour similar to 'r.*'",
        "colour ~ '(a+)+$'",
        "colour glob 'r*'",
        "colour = 'red' escape",
        "colour like 'r%' escape '\\'",
        "colour is of (varchar)",
        "grouping(colour)",
        "default",
        "rowid = 1",
        "id = 'r1'",
        "size > 2",
        "Outside = 1",
    )


def _calling() -> Iterator[str]:
    functions = (
        *("getenv('REDTEAM')", "current_setting('memory_limit')", "current_user", "version()"),
        *("current_database()", "current_schema()", "current_query()", "txid_current()", "uuid()"),
        *("random()", "setseed(0.5)", "nextval('s')", "now()", "current_date", "current_timestamp"),
        *("today()", "get_current_time()", "hash(colour)", "md5(colour)", "sha256(colour)"),
        *("printf('%s', colour)", "format('{}', colour)", "repeat(colour, 1000000000)"),
        *("lpad(colour, 1000000000, 'x')", "rpad(colour, 1000000000, 'x')", "error(colour)"),
        *("string_agg(colour, ',')", "list(colour)", "count(*)", "sum(1)", "max(colour)", "min(1)"),
        *(
            "first(colour)",
            "any_value(colour)",
            "median(1)",
            "quantile_cont(1, 0.5)",
            "histogram(1)",
        ),
        *("row_number() over ()", "rank() over (order by colour)", "lag(colour) over ()"),
        *("sum(1) over (partition by colour)", "count(*) filter (where colour = 'red')"),
        *("max(distinct colour)", "list(colour order by colour)", "query('select 1')"),
        *("query_table('levels_0')", "json_execute_serialized_sql('x')", "json_serialize_sql('x')"),
        *("pragma_table_info('levels_0')", "which_secret('x', 's3')", "add_parquet_key('k', 'v')"),
        *("write_log('x')", "pg_sleep(5)", "sleep(5)", "system('id')", "shell('id')", "eval('1')"),
        *("stats(colour)", "typeof(colour)", "enum_range(null)", "in_search_path('a', 'b')"),
        *(
            "regexp_matches(colour, '(x+x+)+y')",
            "regexp_replace(colour, '.', repeat('x', 1000000))",
        ),
        *("main.lower(colour)", "system.main.lower(colour)", "pg_catalog.lower(colour)"),
        *("lower(distinct colour)", "lower(colour order by 1)", "lower(colour) over ()"),
        *("concat_ws(',', colour)", "array_agg(colour)", "bit_count(1)", "factorial(100000)"),
    )
    for function in functions:
        yield f"{function} = 'x'"
        yield function


def _exhausting() -> Iterator[str]:
    for depth in (50, 99, 101, 200, 1500, 4000):
        yield "(" * depth + "colour = 'red'" + ")" * depth
        yield "not " * depth + "colour = 'red'"
        yield "-" * depth + "1 > 0"
        yield "- " * depth + "1 > 0"
        yield "case when colour = 'red' then " * depth + "1" + " else 0 end" * depth
        yield " or ".join(["colour = 'red'"] * depth)
        yield " || ".join(["colour"] * depth)
        yield "upper(" * depth + "colour" + ")" * depth
        yield "colour in (" + ",".join(f"'{n}'" for n in range(depth)) + ")"
    yield "9" * 9000 + " > 1"
    yield "0." + "1" * 9000 + " > 1"
    yield "1e999999 > 1"
    yield "1e308 * 1e308 > 1"
    yield "99999999999999999999999999999999999999 * 99999999999999999999999999999999999999 > 1"
    yield "9223372036854775807 + 1 > 0"
    yield "1 / 0 > 1"
    yield "1 // 0 > 1"
    yield "0x" + "f" * 100 + " > 1"
    yield "1_000_000 > 1"
    yield "colour = '" + "x" * 9900 + "'"
    yield "colour = '" + "x" * 20_000 + "'"
    yield "substr(colour, -9223372036854775808, 9223372036854775807) = 'x'"
    yield "left(colour, -9223372036854775808) = 'x'"
    yield "round(1.5, 2147483647) > 1"
    yield "round(1.5, -2147483648) > 1"
    yield "cast(colour as integer) > 1"
    yield "cast(colour as date) > '2020-01-01'"
    yield "cast('99999999-01-01' as date) is null"
    for kind in ("blob", "json", "struct(a int)", "int[]", "enum('a')", "uuid", "hugeint", "bit"):
        yield f"cast(colour as {kind}) is null"
        yield f"try_cast(colour as {kind}) is null"
    yield "colour::regclass"


def _spelling() -> Iterator[str]:
    yield from (
        "",
        " ",
        "\n",
        "\0",
        "colour = 'red\0'",
        "c\u03bflour = 'red'",
        "COLOUR = 'red'",
        "\"colour\" = 'red'",
        '"colour"" = \'red\'',
        "'colour' = 'red'",
        "`colour` = 'red'",
        "[colour] = 'red'",
        "colour \uff1d 'red'",
        "colour = \u2019red\u2019",
        "colour = 'red\u202e'",
        "\ufeffcolour = 'red'",
        "\u200bcolour = 'red'",
        "co\u00adlour = 'red'",
        "colour = E'\\x41'",
        "colour = U&'\\0041'",
        "colour = x'41'",
        "colour = $$red$$",
        "colour = $tag$red$tag$",
        "colour = 'red' 'blue'",
        "colour = 'it''s'",
        "colour = 'red\\'",
        "colour == 'red'",
        "colour <> 'red'",
        "colour != 'red'",
        "colour = \ud800",
        "\U0001f600",
        "select",
        "colour colour",
        "colour,",
        "colour, colour",
        "colour as x",
        "null",
        "true",
        "1",
        "'x'",
        "colour",
        "read_text\u200b('x') = ''",
        "r\u0435ad_text('x') = ''",
        "getenv ('REDTEAM')",
        "\"getenv\"('REDTEAM')",
        "GETENV('REDTEAM')",
    )
