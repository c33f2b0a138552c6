"""Names, texts and comments are quoted in one place, and what is quoted survives."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakejoin
from lakejoin.codegen.sql_query import SqlQuery, SqlTable, indent, name_query, name_values
from lakejoin.quoting import quote_identifier, quote_literal

SOURCE = Path(lakejoin.__file__).parent
# A text that doubles a quotation mark or a backtick.
DOUBLED = re.compile(r"""replace\((['"])(["'`])\1, (['"])\2\2\3\)""")


def test_only_one_module_quotes() -> None:
    quoting = [
        str(path.relative_to(SOURCE))
        for path in sorted(SOURCE.rglob("*.py"))
        if DOUBLED.search(path.read_text(encoding="utf-8"))
    ]
    assert quoting == ["quoting.py"]


@given(st.text(st.sampled_from("'\"\\`-/*;\n\r\u2028 aß"), min_size=1))
def test_texts_and_names_survive_in_nested_queries(text: str) -> None:
    name = quote_identifier(text)
    listed = name_values("listed", (name,), [(quote_literal(text),)])
    inner = SqlQuery([name], [SqlTable("listed", "t")], named=[listed], comments=[text])
    nested = name_query("nested", inner.text())
    sql = SqlQuery(["*"], [SqlTable("nested")], named=[nested], comments=[text]).statement()
    with duckdb.connect() as con:
        made = con.execute(sql).to_arrow_table()
    assert (made.column_names, made.column(0).to_pylist()) == ([text], [text])


@pytest.mark.parametrize(
    "sql",
    [
        "select 'a\n b' as x",
        "select 1 -- it's\n, 'a\nb' as x",
        "select /* it's */\n'a\nb' as x",
        'select 2 as "a\nb"',
    ],
)
def test_a_statement_of_the_user_is_only_indented(sql: str) -> None:
    with duckdb.connect() as con:
        plain, indented = (con.execute(text).to_arrow_table() for text in (sql, indent(sql)))
    assert plain.equals(indented)
