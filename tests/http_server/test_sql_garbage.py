"""Texts that are no SQL: whatever they are, they give a problem in words or a result."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from http_server.sql_asking import answer
from lakejoin.server.api_problems import Problem, SqlProblem
from lakejoin.server.sql.statement_checks import check_statement

WORDS = st.sampled_from(
    [
        "select",
        "from",
        "result",
        "where",
        "group",
        "by",
        "order",
        "(",
        ")",
        ",",
        ".",
        "*",
        "1",
        "'a'",
        '"b"',
        ";",
        "--",
        "/*",
        "*/",
        "with",
        "t",
        "as",
        "pivot",
        "on",
        "using",
        "sum",
        "name",
        "age",
        "::",
        "int",
        "[",
        "]",
        "{",
        "}",
        "$1",
        "?",
        "->",
        "lambda",
        "x",
        ":",
        "union",
        "all",
        "values",
        "copy",
        "attach",
        "set",
        "pragma",
        "read_csv('x')",
        "'x.csv'",
        "\xa0",
        "\\",
        "$$",
        "e'\\n'",
        "summarize",
        "describe",
        "install",
        "0x1",
        "1e999",
        "null",
        "limit",
        "-1",
        "%",
        "#1",
        "@",
        "!",
        "~",
        "not",
        "in",
        "exists",
        "case",
        "when",
        "end",
        "over",
        "partition",
        "unnest",
        "range(3)",
        "interval",
        "date",
        "'",
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.lists(WORDS, max_size=25).map(" ".join), st.text(max_size=60)))
def test_garbage_is_refused_or_checked(sql: str) -> None:
    try:
        check_statement(sql)
    except SqlProblem as problem:
        assert str(problem)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=30)))
@example("\u00a0")
@example("\x1f")
@example("\u2028 1")
def test_garbage_gives_a_problem_or_a_result(sql: str) -> None:
    try:
        answer("select " + sql)
    except Problem as problem:
        assert problem.kind in ("sql", "too_large", "memory")


@pytest.mark.parametrize("deep", [300, 3_000, 30_000])
def test_deep_nesting_is_refused_in_words(deep: int) -> None:
    for sql in ("select " + "(" * deep + "1" + ")" * deep, "select " + "not " * deep + "true"):
        try:
            check_statement(sql)
        except SqlProblem as problem:
            assert str(problem)
