"""A random program makes a table; it is learned back, and all systems give what was learned."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.program_code import (
    duckdb_expression,
    pandas_expression,
    polars_expression,
    pyspark_expression,
)
from lakejoin.codegen.programs import (
    Casing,
    Constant,
    Extract,
    Form,
    Operator,
    Program,
    Runs,
    merge_constants,
)
from lakejoin.codegen.sql_writers import StandardWriter
from lakejoin.joins.learned.program_finder import LearnedJoin, find_programs

SOME = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
ROWS = 60
FIRST = ("Ada", "Alan", "Grace", "Edsger", "Barbara", "Frances", "Niklaus", "Zoë", "Tim", "Radia")
LAST = (
    "Lovelace",
    "Turing",
    "Hopper",
    "Dijkstra",
    "Liskov",
    "Allen",
    "Wirth",
    "Knuth",
    "Ng",
    "Lee",
)
TOWNS = ("Bern", "Ulm", "Graz", "Oslo", "Turin", "Lyon", "Porto", "Ghent", "Brno", "Split")

# Parts that every text of the tables has. Of one of the first, rows can be paired.
PARTS: tuple[Callable[[], Extract], ...] = (
    partial(Extract, "name"),
    partial(Extract, "name", ((" ", -1),), casing=Casing.UPPER),
    partial(Extract, "town", casing=Casing.UPPER),
    partial(Extract, "no"),
    partial(Extract, "no", form=Form.NO_ZEROS),
    partial(Extract, "name", ((" ", 0),)),
    partial(Extract, "name", ((" ", -1),)),
    partial(Extract, "name", ((" ", 0),), 0, 1, casing=Casing.LOWER),
    partial(Extract, "name", ((" ", 1),), 0, 2),
    partial(Extract, "day", (("-", 0),)),
    partial(Extract, "day", (("-", 1),)),
    partial(Extract, "day", ((Runs.DIGITS, 2),)),
    partial(Extract, "town", (("/", 1),)),
    partial(Extract, "no", (), -2),
)
_LONG = 5
BETWEEN = (" ", ", ", "-", "_", ".", " (", "/", "#", "")


def table_of(seed: int) -> pa.Table:
    rng = random.Random(seed)
    numbers = rng.sample(range(10, 9000), ROWS)
    return pa.table(
        {
            "name": [f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in range(ROWS)],
            "day": [
                f"{rng.randint(1950, 2020)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
                for _ in range(ROWS)
            ],
            "town": [f"{rng.choice(TOWNS)}/{rng.choice(TOWNS)}" for _ in range(ROWS)],
            "no": [f"{number:05}" for number in numbers],
        }
    )


@st.composite
def programs(draw: Any) -> Program:
    long = draw(st.sampled_from(PARTS[:_LONG]))
    others = st.sampled_from([part for part in PARTS if part is not long])
    more = draw(st.lists(others, min_size=1, max_size=3, unique=True))
    parts = draw(st.permutations([long, *more]))
    operators: list[Operator] = [parts[0]()]
    for part in parts[1:]:
        operators += [Constant(draw(st.sampled_from(BETWEEN))), part()]
    return merge_constants(o for o in operators if o != Constant(""))


def learned_back(program: Program, seed: int) -> tuple[pa.Table, LearnedJoin]:
    """What is learned of a table and the texts that the program makes of it, in another order.

    Nearly all rows must meet theirs: a plainer program may do.
    """
    source = table_of(seed)
    made = apply_program(program, source)
    assume(len(made.unique()) == ROWS and min(map(len, made.to_pylist())) > 5)
    order = list(range(ROWS))
    random.Random(seed + 1).shuffle(order)
    target = pa.table({"made": made.take(order), "n": [str(n % 7) for n in range(ROWS)]})
    learned = find_programs(source, target)
    pairs = set(zip(learned.left_rows.tolist(), learned.right_rows.tolist(), strict=True))
    right = pairs & {(row, place) for place, row in enumerate(order)}
    assert len(right) >= 0.9 * ROWS and len(pairs) <= 1.2 * ROWS, str(program)
    return (source if learned.source_side == "left" else target), learned


def by_pandas(program: Program, table: pa.Table) -> list[Any]:
    found = eval(pandas_expression(program), {"df": table.to_pandas()})
    return [None if pd.isna(value) else value for value in found]


def by_polars(program: Program, table: pa.Table) -> list[Any]:
    frame = pl.from_arrow(table)
    return frame.select(eval(polars_expression(program), {"pl": pl}).alias("made"))[
        "made"
    ].to_list()


def by_sql(program: Program, given: pa.Table) -> list[Any]:
    return [
        text for (text,) in duckdb.sql(f"select {duckdb_expression(program)} from given").fetchall()
    ]


def by_standard_sql(program: Program, given: pa.Table) -> list[Any]:
    texts = StandardWriter("given", given, lambda name: name)
    query = f"SELECT {texts.program(program, (), 'p')} FROM {texts.source()} AS p"
    return [text for (text,) in duckdb.sql(query).fetchall()]


@SOME
@given(programs(), st.integers(0, 5))
def test_what_is_learned_back_is_the_same_everywhere(program: Program, seed: int) -> None:
    source, learned = learned_back(program, seed)
    for one in learned.programs:
        ours = apply_program(one.program, source).to_pylist()
        for run in (by_pandas, by_polars, by_sql, by_standard_sql):
            assert run(one.program, source) == ours, str(one.program)


@pytest.mark.spark
def test_what_is_learned_back_is_the_same_in_spark(spark: Any) -> None:
    """All in one job: each program becomes a column."""
    import pyspark.sql.functions as F  # noqa: N812 (as the code says)

    found: list[Program] = []

    @settings(SOME, max_examples=10, database=None, derandomize=True)
    @given(programs())
    def collect(program: Program) -> None:
        source, learned = learned_back(program, 0)
        assert source.column_names == table_of(0).column_names
        found.extend(one.program for one in learned.programs)

    collect()
    source = table_of(0)
    frame = spark.createDataFrame(source.to_pandas()).coalesce(1)
    made = [eval(pyspark_expression(p), {"F": F}).alias(f"p{i}") for i, p in enumerate(found)]
    collected = frame.select(*made).collect()
    for i, program in enumerate(found):
        assert [row[i] for row in collected] == apply_program(program, source).to_pylist(), str(
            program
        )
