"""Ordinary SQL over a table: what it gives, its types, and what is said where it is wrong."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from http_server.sql_asking import PEOPLE, answer, rows, saved, with_runner
from lakejoin.server.api_problems import Problem, SqlProblem, TextPosition
from lakejoin.server.sql.statement_checks import MAX_SQL_LENGTH, check_statement
from lakejoin.server.sql.statement_runner import SqlLimits, SqlRunner, TargetType

DAY = dt.date


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select count(*) from result", [(4,)]),
        ("SELECT name FROM result WHERE age > 40", [("Bob",)]),
        ("from result select name where member order by name", [("Ada",), ("Čapek",)]),
        ('select "group", sum(age) s from result group by 1 order by 1', [("x", 36), ("y", 48)]),
        ("select max(born) from result", [(DAY(2017, 12, 31),)]),
        ("select year(born) from result where born is not null limit 1", [(1815,)]),
        ("select sum(score) from result", [(-296.5,)]),
        ("with t as (select age from result), u as (from t) select max(age) from u", [(41,)]),
        ("select age from result union all select 1 order by 1 limit 2", [(1,), (7,)]),
        ("values (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
        ("select name /* who */ from result -- all\nlimit 1 ; -- done", [("Ada",)]),
        ("pivot result on \"group\" using count(*) group by member", None),
        ("from (pivot result on \"group\" using count(*) group by member) order by all", None),
        ("unpivot (select age, 1::bigint one from result) on age, one", None),
        ("select * from result pivot (count(*) for \"group\" in ('x', 'y'))", None),
        ("summarize result", None),
        ("summarize select age from result", None),
        ("describe result", None),
        ("describe select 1 a", [("a", "INTEGER", "YES", None, None, None)]),
        ("select name, row_number() over (order by age desc nulls last) n from result "
         "qualify n = 1", [("Bob", 1)]),
        ("select lag(age) over w from result window w as (order by age) limit 2", [(None,), (7,)]),
        ("select list_transform([1, 2], lambda x: x + 1)", [("[2, 3]",)]),
        ("select unnest([1, 2])", [(1,), (2,)]),
        ("select * from range(3) t(i)", [(0,), (1,), (2,)]),
        ("select i from generate_series(1, 2) t(i)", [(1,), (2,)]),
        ("select {'a': 1}.a, map {'k': 2}['k']", [(1, 2)]),
        ("with recursive t(n) as (select 1 union all select n + 1 from t where n < 4) "
         "select sum(n) from t", [(10,)]),
        ("select regexp_extract(name, '^.') from result where name like 'Č%'", [("Č",)]),
        ("select columns('^a.*') from result limit 1", [(36,)]),
        ("select * exclude (name, born, score, member) from result limit 1", [(36, "x")]),
        ("select a.name from result a join result b on a.age < b.age order by 1", None),
        ("select count(*) from (from result tablesample 100%)", [(4,)]),
        ("select string_agg(name, ',' order by name) from result", [("Ada,Bob,Čapek",)]),
        ("select age // 10 as decade, count(*) from result group by all order by all", None),
        ("select date_trunc('month', born), born + interval 1 day from result limit 1", None),
        ("select RESULT.Name from Result where NAME = 'Bob'", [("Bob",)]),
        ("select try_cast('x' as int), 1 / 0", [(None, float("inf"))]),
        ("(select 1)", [(1,)]),
        ("select result from result limit 1", None),
        ("table result", None),
        ("select grouping(\"group\"), count(*) from result group by rollup (\"group\")", None),
    ],
)  # fmt: skip
def test_ordinary_sql(sql: str, expected: list[Any] | None) -> None:
    found = rows(sql)
    assert found if expected is None else found == expected


def test_columns_have_their_types() -> None:
    assert rows("select typeof(columns(*)) from result limit 1") == [
        ("VARCHAR", "BIGINT", "DATE", "DOUBLE", "BOOLEAN", "VARCHAR")
    ]


@pytest.mark.parametrize(
    ("cells", "wanted", "kind"),
    [
        (["1", "2", None], TargetType("integer"), "BIGINT"),
        (["1", " 2 ", "", "n/a", "-"], TargetType("integer"), "BIGINT"),
        (["1", "two"], TargetType("integer"), "VARCHAR"),
        (["007", "8"], TargetType("integer"), "VARCHAR"),
        (["1.5", "2"], TargetType("integer"), "DOUBLE"),
        (["7.0", "+8", "0", "0.5"], TargetType("integer"), "DOUBLE"),
        (["7.5", "08"], TargetType("decimal"), "VARCHAR"),
        (["99999999999999999999", "1"], TargetType("integer"), "HUGEINT"),
        (["9" * 60, "1"], TargetType("integer"), "VARCHAR"),
        (["1.5", "-2e3", "NaN"], TargetType("decimal"), "DOUBLE"),
        (["1.7e308", "nan", "-1.7e308"], TargetType("decimal"), "DOUBLE"),
        (["1.5", "1,5"], TargetType("decimal"), "VARCHAR"),
        (["1.5", "inf"], TargetType("decimal"), "VARCHAR"),
        (["true", "False", "NULL"], TargetType("boolean"), "BOOLEAN"),
        (["true", "perhaps"], TargetType("boolean"), "VARCHAR"),
        (["2020-01-31", None], TargetType("date", "y-m-d"), "DATE"),
        (["2020-01-31", "2020-02-30"], TargetType("date", "y-m-d"), "VARCHAR"),
        (["2020-01-31 10:00", "2020-01-31"], TargetType("date", "y-m-d"), "TIMESTAMP"),
        (["2020-01-31T10:00:00Z"], TargetType("date", "y-m-d"), "TIMESTAMP"),
        (["31/01/2020"], TargetType("date", "d/m/y"), "DATE"),
        (["1/31/2020 8:15 PM"], TargetType("date", "m/d/y"), "TIMESTAMP"),
        (["31 Jan 2020", "1 March 2020"], TargetType("date", "d month y"), "DATE"),
        (["January 31, 2020"], TargetType("date", "month d y"), "DATE"),
        (["20200131"], TargetType("date", "%Y%m%d"), "DATE"),
        (["20200131 10"], TargetType("date", "%Y%m%d %H"), "TIMESTAMP"),
        (["x"], TargetType("text"), "VARCHAR"),
        ([None, None], TargetType("integer"), "BIGINT"),
    ],
)  # fmt: skip
def test_a_column_is_cast_only_if_all_of_it_can_be(
    cells: list[str | None], wanted: TargetType, kind: str
) -> None:
    table = pa.table({"c": pa.array(cells, pa.string())})
    assert rows("select typeof(c) from result limit 1", table, {0: wanted}) == [(kind,)]
    if kind == "VARCHAR":
        assert [one for (one,) in rows("from result", table, {0: wanted})] == cells


@pytest.mark.parametrize(
    "text", [pa.array(["1", "2"], pa.large_string()), pa.array(["1", "2"]).dictionary_encode()]
)
def test_texts_of_any_arrow_type_are_cast(text: Any) -> None:
    assert rows("select sum(c) from result", pa.table({"c": text}), {0: TargetType("integer")}) == [
        (3,)
    ]


def test_columns_that_have_a_type_keep_it() -> None:
    table = pa.table({"c": [1, 2], "d": [DAY(2020, 1, 1), None]})
    assert rows("from result", table, {0: TargetType("boolean")}) == [
        (1, DAY(2020, 1, 1)),
        (2, None),
    ]


def test_names_are_made_different_and_none_is_empty() -> None:
    table = pa.Table.from_arrays([pa.array(["v"])] * 5, ["a", "A", "", 'q"x', "a"])
    assert answer("from result", table, {}).column_names == ["a", "A_1", "column2", 'q"x', "a_2"]
    assert answer("select a, a, 1 as A from result", table, {}).column_names == ["a", "a_1", "A_2"]


@pytest.mark.parametrize(
    "sql",
    [
        'select sum("q""X y") from result',
        'select sum("Q""x Y") as s from result having s > 0',
        "select sum(columns('q')) from result",
        'select sum(r."q""x y") from result as r join result using ("q""x y")',
        'with t as (from result) select sum(t."q""x y") from t',
        "select sum(v) from (unpivot result on * into name n value v)",
    ],
)
def test_a_column_has_its_type_however_it_is_named(sql: str) -> None:
    table = pa.table({'q"x y': ["1", "2"]})
    assert rows(sql, table, {0: TargetType("integer")}) == [(3,)]


def test_a_table_without_columns_or_rows() -> None:
    assert rows("select count(*) from result", PEOPLE.slice(0, 0)) == [(0,)]
    assert answer("from result", PEOPLE.slice(0, 0)).num_columns == 6


SIMPLE = {
    "int64", "double", "bool", "date32[day]", "timestamp[us]", "large_string",
}  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        ("true", "bool", True),
        ("1::tinyint", "int64", 1),
        ("1::uinteger", "int64", 1),
        ("18446744073709551615::ubigint", "large_string", "18446744073709551615"),
        ("7::ubigint", "int64", 7),
        ("170141183460469231731687303715884105727::hugeint", "large_string",
         "170141183460469231731687303715884105727"),
        ("7::uhugeint", "int64", 7),
        ("1.25", "double", 1.25),
        ("1.5::float", "double", 1.5),
        ("'x'", "large_string", "x"),
        ("date '2020-01-31'", "date32[day]", DAY(2020, 1, 31)),
        ("timestamp '2020-01-31 10:00'", "timestamp[us]", dt.datetime(2020, 1, 31, 10)),
        ("timestamptz '2020-01-31 10:00:00+02'", "timestamp[us]", dt.datetime(2020, 1, 31, 8)),
        ("'2020-01-31'::timestamp_ns", "timestamp[us]", dt.datetime(2020, 1, 31)),
        ("time '10:00:00'", "large_string", "10:00:00"),
        ("interval 3 days", "large_string", "3 days"),
        ("'\\xAA'::blob", "large_string", "\\xAA"),
        ("'101'::bit", "large_string", "101"),
        ("'00000000-0000-0000-0000-000000000001'::uuid", "large_string",
         "00000000-0000-0000-0000-000000000001"),
        ("'a'::enum('a', 'b')", "large_string", "a"),
        ("[1, 2]", "large_string", "[1, 2]"),
        ("{'a': [1], 'b': null}", "large_string", "{'a': [1], 'b': NULL}"),
        ("map {1: 'x'}", "large_string", "{1=x}"),
        ("'{\"a\": 1}'::json", "large_string", '{"a": 1}'),
        ("null", "int64", None),
        ("repeat('é', 100000)", "large_string", "é" * 100_000),
    ],
)  # fmt: skip
def test_only_simple_types_come_out(expression: str, kind: str, value: Any) -> None:
    table = answer(f"select {expression} as x")
    assert (str(table.schema.field(0).type), table["x"].to_pylist()) == (kind, [value])


def test_all_types_of_the_engine_come_out_simple() -> None:
    connection_types = answer("select distinct typeof(x) from (select 1 x)")
    assert connection_types.num_rows == 1
    assert {str(field.type) for field in answer("summarize result").schema} <= SIMPLE


@pytest.mark.parametrize(
    ("sql", "said", "at"),
    [
        ("selec 1", 'syntax error at or near "selec"', (1, 1, 0)),
        ("select\n  nam\nfrom result", "did you mean name", (2, 3, 9)),
        ("select 'é', nam from result", "did you mean name", (1, 13, 12)),
        ("select upperr(name) from result", "did you mean upper", (1, 8, 7)),
        ("select sum(name) from result", "No function matches", (1, 8, 7)),
        ("select name, count(*) from result", "GROUP BY", (1, 8, 7)),
        ("select cast(name as int) from result", "Could not convert string 'Ada'", (1, 8, 7)),
        ("select * from results", "table results not found", (1, 15, 14)),
        ("select 'a", "unterminated quoted string", (1, 8, 7)),
        ("select 1; select 2", "got 2 statements", (1, 9, 8)),
        ("pivot result on age using count(*) limit 1", "put it in brackets", (1, 36, 35)),
        ("", "no statement", None),
        ("-- nothing", "no statement", None),
        ("select $1", "parameters are not supported", None),
        ("select getenv('HOME')", "the function getenv is not allowed", (1, 8, 7)),
        ("select error('boom')", "boom", None),
    ],
)
def test_what_is_wrong_is_said_where_it_is(
    sql: str, said: str, at: tuple[int, int, int] | None
) -> None:
    with pytest.raises(SqlProblem) as found:
        answer(sql)
    problem = found.value
    assert said in str(problem)
    assert "\n" not in str(problem)
    if at is not None:
        assert problem.position == TextPosition(*at)
        assert problem.to_dict()["at"] == dict(zip(("line", "column", "offset"), at, strict=True))


def test_more_rows_or_bytes_than_allowed_are_an_error() -> None:
    with pytest.raises(Problem, match=r"more than 5 rows: add LIMIT 5") as found:
        answer("from range(6)", most=SqlLimits(rows=5, bytes=10**9))
    assert (found.value.kind, found.value.more) == ("too_large", {"limit": "rows"})
    assert answer("from range(5)", most=SqlLimits(rows=5, bytes=10**9)).num_rows == 5
    with pytest.raises(Problem, match="more than 1,000 bytes") as found:
        answer("select repeat('x', 2000)", most=SqlLimits(rows=5, bytes=1000))
    assert found.value.more == {"limit": "bytes"}


def test_a_statement_has_a_longest_length() -> None:
    with pytest.raises(SqlProblem, match="characters"):
        check_statement("select '" + "x" * MAX_SQL_LENGTH + "'")


def test_the_runner_writes_a_file_or_nothing(tmp_path: Path) -> None:
    table = saved(PEOPLE, tmp_path / "table.arrow")
    types = {1: TargetType("integer")}
    output = tmp_path / "out.arrow"

    async def work(runner: SqlRunner) -> Any:
        done = await runner.run("select sum(age) total from result", table, types, output)
        with pytest.raises(SqlProblem) as found:
            await runner.run("select ages from result", table, types, tmp_path / "other.arrow")
        return done, found.value

    done, problem = with_runner(work, SqlLimits(seconds=30))
    assert (done.columns, done.types, done.rows) == (["total"], ["HUGEINT"], 1)
    assert pa.ipc.open_file(output).read_all().to_pylist() == [{"total": 84}]
    assert problem.position.offset == 7
    assert {path.name for path in tmp_path.iterdir()} == {"table.arrow", "out.arrow"}
