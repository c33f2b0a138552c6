"""A program gives the same in Python, by Arrow, and as code for four systems."""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, example, given, settings

from lakejoin.codegen.arrow_programs import CONTESTED, apply_program
from lakejoin.codegen.program_code import (
    duckdb_expression,
    pandas_expression,
    polars_expression,
    pyspark_expression,
)
from lakejoin.codegen.programs import Casing, Constant, Extract, Program, identity
from lakejoin.codegen.sql_writers import StandardWriter
from lakejoin.errors import InputError
from oracle.programs import COLUMNS, in_python, programs, tables
from oracle.sqlite import rows_by_sqlite

EVERY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
NOTHING = pa.table([pa.array([None, None], pa.string())] * 3, names=list(COLUMNS))
SHORT = pa.table([pa.array(["", "a", "ab", "a,b", None])] * 3, names=list(COLUMNS))
MISSING = Program((Extract("a", ((",", 5),), -2, 1, casing=Casing.UPPER), Constant("'x\\")))


def run_pandas(program: Program, table: pa.Table) -> list[Any]:
    df = table.to_pandas()
    found = eval(pandas_expression(program), {"df": df})
    return [None if pd.isna(value) else value for value in found]


def run_polars(program: Program, table: pa.Table) -> list[Any]:
    frame = pl.from_arrow(table)
    return frame.select(eval(polars_expression(program), {"pl": pl}).alias("made"))[
        "made"
    ].to_list()


def run_sql(program: Program, given: pa.Table) -> list[Any]:
    rows = duckdb.sql(f"select {duckdb_expression(program)} from given").fetchall()
    return [value for (value,) in rows]


def standard(program: Program, table: pa.Table) -> str:
    texts = StandardWriter("given", table, lambda name: name)
    text = texts.program(program, (), "p")
    return f"SELECT {text} FROM {texts.source()} AS p"


def run_standard(program: Program, given: pa.Table) -> list[Any]:
    return [value for (value,) in duckdb.sql(standard(program, given)).fetchall()]


def run_sqlite(program: Program, given: pa.Table) -> list[Any]:
    return [value for (value,) in rows_by_sqlite(standard(program, given), given=given)]


@EVERY
@given(programs(), tables())
@example(MISSING, NOTHING)
@example(MISSING, SHORT)
@example(MISSING, NOTHING.slice(0, 0))
def test_arrow_gives_what_python_gives(program: Program, table: pa.Table) -> None:
    assert apply_program(program, table).to_pylist() == [
        in_python(program, r) for r in table.to_pylist()
    ]


@pytest.mark.parametrize("run", [run_pandas, run_polars, run_sql, run_standard, run_sqlite])
def test_the_code_gives_what_arrow_gives(run: Any) -> None:
    @EVERY
    @given(programs(), tables())
    @example(MISSING, NOTHING)
    @example(MISSING, SHORT)
    @example(MISSING, NOTHING.slice(0, 0))
    def check(program: Program, table: pa.Table) -> None:
        assert run(program, table) == apply_program(program, table).to_pylist()

    check()


def test_chunks_and_slices_are_one_column() -> None:
    column = pa.chunked_array([pa.array(["x", "a,b"]).slice(1), pa.array(["c,d", None])])
    program = Program((Extract("n", ((",", -1),)),))
    assert apply_program(program, pa.table({"n": column})).to_pylist() == ["b", "d", None]
    empty = pa.table({"n": pa.chunked_array([], pa.string())})
    assert apply_program(program, empty).to_pylist() == []


def test_what_is_no_program_is_said() -> None:
    with pytest.raises(InputError, match="at least one column"):
        Program((Constant("x"),))
    with pytest.raises(InputError, match="separator"):
        Program((Extract("n", (("", 0),)),))
    with pytest.raises(InputError, match="characters"):
        Program((Extract("n", (), 0, -1),))


def test_a_program_in_words() -> None:
    parts = (
        Extract("Full name", ((" (", 0), (" ", -1)), casing=Casing.UPPER),
        Constant(', "'),
        Extract("year", (), -2),
    )
    words = 'upper(split(split([Full name], " (")[0], " ")[-1]) + ", \\"" + substring(year, -2)'
    assert str(Program(parts)) == words
    assert str(identity("year")) == "year" and identity("year").is_identity


def _characters() -> pa.Array:
    """Every character on whose case systems should agree, alone and inside a word."""
    contested = re.compile(CONTESTED)
    old = unicodedata.ucd_3_2_0.category  # what is newer, not every system knows
    points = [c for c in range(1, sys.maxunicode + 1) if old(chr(c)) not in ("Cn", "Cs", "Co")]
    chars = [c for c in map(chr, points) if not contested.match(c)]
    return pa.array(["".join(chars[i : i + 64]) for i in range(0, len(chars), 64)])


@pytest.mark.parametrize("casing", [Casing.LOWER, Casing.UPPER])
def test_systems_agree_on_the_case_of_all_other_characters(casing: Casing) -> None:
    table = pa.table({"a": _characters()})
    program = Program((Extract("a", casing=casing),))
    ours = apply_program(program, table).to_pylist()
    change = str.lower if casing is Casing.LOWER else str.upper
    assert ours == [change(text) for text in table["a"].to_pylist()]
    assert ours == run_polars(program, table) == run_sql(program, table)
    assert ours == run_pandas(program, table)


@pytest.mark.spark
def test_spark_gives_what_arrow_gives(spark: Any) -> None:
    """Many programs in one job: each becomes a column."""
    import pyspark.sql.functions as F  # noqa: N812 (as the code says)

    found: list[Program] = [MISSING]

    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    @given(programs())
    def collect(program: Program) -> None:
        found.append(program)

    collect()
    cells = ["", "a", "A,b;c. d", "aaa|b\\c'", "ä(É) Ж,世😀 a", ",,", "x\ty$1{2}", None, "(a) [b]"]
    rows = [(a, cells[(i * 2) % 9], cells[(i * 5 + 3) % 9]) for i, a in enumerate(cells)]
    table = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=list(COLUMNS))
    schema = ", ".join(f"`{name.replace('`', '``')}` string" for name in COLUMNS)
    frame = spark.createDataFrame(rows, schema)
    made = [eval(pyspark_expression(p), {"F": F}).alias(f"p{i}") for i, p in enumerate(found)]
    collected = frame.coalesce(1).select(*made).collect()
    for i, program in enumerate(found):
        assert [row[i] for row in collected] == apply_program(program, table).to_pylist(), str(
            program
        )


@pytest.mark.spark
def test_spark_agrees_on_case(spark: Any) -> None:
    import pyspark.sql.functions as F  # noqa: N812 (as the code says)

    texts = _characters()
    frame = spark.createDataFrame([(t,) for t in texts.to_pylist()], "a string").coalesce(1)
    rows = frame.select(F.lower("a"), F.upper("a")).collect()
    assert [row[0] for row in rows] == pc.utf8_lower(texts).to_pylist()
    assert [row[1] for row in rows] == pc.utf8_upper(texts).to_pylist()
