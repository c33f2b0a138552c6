"""The code of a join, run in each system, makes the rows that we make."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakejoin
from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.join_plan import MOST_LISTED
from lakejoin.codegen.programs import Casing, Constant, Extract, Program, Runs, identity
from lakejoin.errors import InputError
from lakejoin.joins.join import Join
from lakejoin.joins.join_key import JoinKey, KeyRefinement, KeyRule
from lakejoin.joins.options import JoinOptions, MatchOptions
from lakejoin.joins.row_keys import NO_KEY, KeyColumn
from lakejoin.values.column_encoder import encode_query
from oracle.sqlite import rows_by_sqlite

EVERY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
HOWS = ("inner", "left", "right", "full")
# Canonical values in several spellings, texts for missing values, and what systems part over.
TEXTS = (
    *("Bern", "bern ", " BERN", "Zug", "ZUG", "7", "7.0", "07", "n/a", "", "-", "Straße"),
    *("STRASSE", "ΟΔΟΣ", "οδος", "2020-01-31", "31 Jan 2020", "it's", 'a"b', "a\\b", "x\ty"),
    *("X\n'Y", "x 'y", None),
)
FIRST_LAST = Program((Extract("b", ((",", 1),), casing=Casing.LOWER), Constant(" "), Extract("a")))
PIECE = Program((Extract("b", ((",", -1),)),))


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [[_plain(cell) for cell in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True), key=repr)


def _plain(cell: Any) -> Any:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return float(cell) if isinstance(cell, int | float) else cell


def by_sql(join: Join) -> pa.Table:
    with duckdb.connect() as con:
        con.register("left_table", join.left)
        con.register("right_table", join.right)
        return con.sql(join.to_sql()).to_arrow_table()


def by_standard_sql(join: Join) -> pa.Table:
    with duckdb.connect() as con:
        con.register("left_table", join.left)
        con.register("right_table", join.right)
        return con.sql(join.to_sql(dialect="standard")).to_arrow_table()


def by_pandas(join: Join) -> pa.Table:
    made = _function(join.to_pandas_code())(join.left.to_pandas(), join.right.to_pandas())
    assert isinstance(made, pd.DataFrame)
    return pa.Table.from_pandas(made, preserve_index=False)


def by_polars(join: Join) -> pa.Table:
    made = _function(join.to_polars_code())(pl.from_arrow(join.left), pl.from_arrow(join.right))
    return made.to_arrow()


def _function(code: str) -> Any:
    names: dict[str, Any] = {}
    exec(code, names)
    return names["join"]


RUNS = {"sql": by_sql, "standard": by_standard_sql, "pandas": by_pandas, "polars": by_polars}


def joined_by_ways(
    source: pa.Table, target: pa.Table, listed: dict[str, str], how: str, side: str
) -> Join:
    """A join in four ways: a column, two programs, and a list of similar texts."""
    key = KeyColumn(encode_query(target["key"]))
    ways = []
    for program in (identity("a"), PIECE, FIRST_LAST):
        codes = key.codes_of(encode_query(apply_program(program, source)))
        kind = "equal" if program.is_identity else "transform"
        ways.append(KeyRule(kind, program.columns, codes, str(program), 1.0, "", program))
    means = key.codes_of(encode_query(pa.array([listed.get(t) for t in source["a"].to_pylist()])))
    codes = means if len(means) == source.num_rows else np.full(source.num_rows, NO_KEY)
    ways.append(KeyRule("fuzzy", ("a",), codes, "a ~ key", 1.0, ""))
    found = JoinKey(side, ("key",), key.codes, key.count, tuple(ways))
    left, right = (source, target) if side == "left" else (target, source)
    return Join(left, right, JoinOptions(how=how), found)


def _column(texts: list[str | None]) -> pa.Array:
    return pa.array(texts, pa.string())


texts = st.lists(st.sampled_from(TEXTS), max_size=8)
pairs_of_texts = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)), max_size=8)


@pytest.mark.parametrize("run", RUNS)
def test_equal_columns(run: str) -> None:
    @EVERY
    @given(texts, texts, st.sampled_from(HOWS))
    def check(mine: list[Any], theirs: list[Any], how: str) -> None:
        left = pa.table({"k": _column(mine), "n": range(len(mine))})
        right = pa.table({"K2": _column(theirs), "n": range(len(theirs))})
        join = lakejoin.join(left, right, on="k=K2", how=how, by="equal")
        made = RUNS[run](join)
        assert made.column_names == join.schema.names
        assert rows(made) == rows(join.table())

    check()


@pytest.mark.parametrize("run", RUNS)
def test_several_columns(run: str) -> None:
    @EVERY
    @given(pairs_of_texts, pairs_of_texts, st.sampled_from(HOWS))
    def check(mine: list[Any], theirs: list[Any], how: str) -> None:
        left = pa.table({"a": _column([a for a, _ in mine]), "b": _column([b for _, b in mine])})
        right = pa.table(
            {"a": _column([a for a, _ in theirs]), "x": _column([b for _, b in theirs])}
        )
        join = lakejoin.join(left, right, on=["a", "b=x"], how=how, by="equal")
        assert rows(RUNS[run](join)) == rows(join.table())

    check()


@pytest.mark.parametrize("run", RUNS)
def test_programs_and_lists(run: str) -> None:
    @EVERY
    @given(
        pairs_of_texts,
        texts,
        st.dictionaries(st.sampled_from(TEXTS[:-1]), st.sampled_from(TEXTS[:-1]), max_size=4),
        st.sampled_from(HOWS),
        st.sampled_from(["left", "right"]),
    )
    def check(mine: list[Any], theirs: list[Any], listed: Any, how: str, side: str) -> None:
        pieces = [None if b is None else f"{a},{b}" for a, b in mine]
        source = pa.table({"a": _column([a for a, _ in mine]), "b": _column(pieces)})
        target = pa.table({"key": _column(theirs), "a": range(len(theirs))})
        join = joined_by_ways(source, target, listed, how, side)
        assert rows(RUNS[run](join)) == rows(join.table())
        if run == "standard":
            query = join.to_sql(dialect="standard")
            made = rows_by_sqlite(query, left_table=join.left, right_table=join.right)
            assert sorted((tuple(map(_plain, row)) for row in made), key=repr) == rows(join.table())

    check()


@pytest.mark.parametrize("run", RUNS)
def test_rows_with_the_same_key_that_are_told_apart(run: str) -> None:
    @EVERY
    @given(
        st.lists(st.tuples(*[st.sampled_from(TEXTS)] * 3), max_size=8),
        pairs_of_texts,
        st.lists(st.booleans(), min_size=20, max_size=20),
        st.sampled_from(HOWS),
        st.sampled_from(["left", "right"]),
    )
    def check(mine: list[Any], theirs: list[Any], split: list[bool], how: str, side: str) -> None:
        source = pa.table([_column([row[i] for row in mine]) for i in range(3)], list("abt"))
        target = pa.table([_column([row[i] for row in theirs]) for i in range(2)], ["key", "u"])
        join = joined_by_ways(source, target, {"Bern": "Zug"}, how, side)
        tell = KeyColumn(encode_query(target["u"]))
        codes = tell.codes_of(encode_query(source["t"])), tell.codes
        some = np.array(split[: join.known.count], bool)
        told = KeyRefinement(identity("t"), identity("u"), some, *codes, words="t = u")
        join = replace(join, found=replace(join.known, refinement=told))
        assert rows(RUNS[run](join)) == rows(join.table())
        if run == "standard":
            query = join.to_sql(dialect="standard")
            made = rows_by_sqlite(query, left_table=join.left, right_table=join.right)
            assert sorted((tuple(map(_plain, row)) for row in made), key=repr) == rows(join.table())

    check()


def test_what_standard_sql_cannot_say_is_listed() -> None:
    numbers = Program((Extract("day", ((Runs.DIGITS, 0),)),))
    key = KeyColumn(encode_query(pa.array(["1", "2"])))

    def joined(days: list[str | None]) -> Join:
        source = pa.table({"day": days})
        codes = key.codes_of(encode_query(apply_program(numbers, source)))
        way = KeyRule("transform", ("day",), codes, str(numbers), 1.0, "", numbers)
        found = JoinKey("left", ("n",), key.codes, key.count, (way,))
        return Join(source, pa.table({"n": ["1", "2"]}), JoinOptions(), found)

    listed = joined(["a1", "b 2", None, "c"])
    query = listed.to_sql(dialect="standard")
    assert "-- standard SQL cannot express digits(day)[0]" in query
    assert rows(by_standard_sql(listed)) == rows(listed.table()) == [("a1", "1"), ("b 2", "2")]
    with pytest.raises(InputError, match="too many to list: use the duckdb dialect"):
        joined([f"no. {n}" for n in range(MOST_LISTED + 1)]).to_sql(dialect="standard")
    with pytest.raises(InputError, match="one of duckdb, standard"):
        listed.to_sql(dialect="oracle")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("how", HOWS)
def test_columns_that_are_no_text(run: str, how: str) -> None:
    nan = float("nan")
    left = pa.table({"n": [7, 8, None, 9], "day": pa.array([1, 2, 3, None], pa.date32())})
    right = pa.table({"x": [7.0, nan, None, 8.5], "day": pa.array([2, 2, None, 1], pa.date32())})
    texts = pa.table({"t": ["7", "8.0", "x", None]})
    for join in (
        lakejoin.join(left, right, on="n=x", how=how, by="equal"),
        lakejoin.join(right, right, on="x", how=how, by="equal"),
        lakejoin.join(left, right, on="day", how=how, by="equal"),
        lakejoin.join(left, texts, on="n=t", how=how, by="equal"),
    ):
        assert rows(RUNS[run](join)) == rows(join.table())


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("how", HOWS)
def test_the_nearest_of_floating_numbers(run: str, how: str) -> None:
    left = pa.table({"x": [1.0, 0.1, 1e22, 3.14159265358979, None, float("nan")], "n": range(6)})
    right = pa.table({"x": [2.0, 1e-07, 1.2e22, 3.0, None]})
    whole = pa.table({"y": [1, 3, None, 10**15]})
    for join in (
        lakejoin.join(left, right, on="x", by="nearest", how=how),
        lakejoin.join(left, whole, on="x=y", by="nearest", how=how),
        lakejoin.join(whole, left, "y=x", how, "nearest", options=MatchOptions(within=1)),
    ):
        assert rows(RUNS[run](join)) == rows(join.table())
        assert "match differently" not in join.to_sql()


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("kinds", [("int64", "int64"), ("uint64", "uint64"), ("int64", "uint32")])
def test_whole_numbers_that_no_floating_one_holds(run: str, kinds: tuple[str, str]) -> None:
    first = 2**53 - 2 if kinds[1] != "uint32" else 2**32 - 8
    left = pa.table({"id": pa.array(range(first, first + 12), kinds[0])})
    right = pa.table({"no": pa.array(range(first + 1, first + 7), kinds[1])})
    join = lakejoin.join(left, right, on="id=no", by="equal")
    made = RUNS[run](join)
    assert made["id"].to_pylist() == made["no"].to_pylist()
    assert sorted(made["no"].to_pylist()) == right["no"].to_pylist()
    assert len(join) == 6


def test_numbers_that_may_meet_otherwise_are_told() -> None:
    told = "may match differently than in lakejoin"
    for kind, other in (("int64", "double"), ("float", "double"), ("double", "uint64")):
        left, right = pa.table({"a": pa.array([1, 2], kind)}), pa.table({"a": pa.array([1], other)})
        assert told in lakejoin.join(left, right, on="a").to_sql()
    for kind, other in (("int64", "int64"), ("int32", "double"), ("double", "double")):
        left, right = pa.table({"a": pa.array([1, 2], kind)}), pa.table({"a": pa.array([1], other)})
        assert told not in lakejoin.join(left, right, on="a").to_sql()


DAYS = (dt.datetime(2020, 1, 31), dt.datetime(2021, 2, 28, 12, 30), None)
TYPED = {
    "date32": pa.array([day and day.date() for day in DAYS], pa.date32()),
    "date64": pa.array([day and day.date() for day in DAYS], pa.date64()),
    "seconds": pa.array(DAYS, pa.timestamp("s")),
    "nanoseconds": pa.array(DAYS, pa.timestamp("ns")),
    "zone": pa.array(DAYS, pa.timestamp("us", tz="UTC")),
    "other zone": pa.array(DAYS, pa.timestamp("us", tz="Europe/Zurich")),
    "moments": pa.array([day and day.isoformat() for day in DAYS]),
    "days": pa.array(["31 Jan 2020", "2021-02-28", None]),
    "floats": pa.array([1.5, 1e22, 0.1]),
    "short floats": pa.array([1.5, 1e22, 0.1], pa.float32()),
    "numbers": pa.array(["1.5", "1e22", "0.10"]),
}


@pytest.mark.parametrize("mine", TYPED)
def test_where_types_make_a_difference_a_comment_says_so(mine: str) -> None:
    for theirs in TYPED.values():
        join = lakejoin.join({"a": TYPED[mine]}, {"b": theirs}, on="a=b", by="equal")
        told = "match differently than in lakejoin" in join.to_sql()
        assert told or all(run(join).num_rows == len(join) for run in RUNS.values())


def test_the_order_is_ours() -> None:
    left, right = {"k": ["b", "a", "b"], "i": [0, 1, 2]}, {"k": ["a", "b", "b"], "j": [0, 1, 2]}
    for how in HOWS:
        join = lakejoin.join(left, right, on="k", how=how)
        ours = join.table().select(["i", "j"]).to_pylist()
        for run in (by_pandas, by_polars):
            assert run(join).select(["i", "j"]).to_pylist() == ours


def test_names_that_look_like_ours_and_hostile_texts() -> None:
    name = "lakejoin_key_1"
    evil = '\'); DROP TABLE x; -- """\n'
    left = {name: [evil, "b"], "a'b": ["1", "2"]}
    right = {name: ["b", evil.upper()], 'q"r': ["3", "4"]}
    join = lakejoin.join(left, right, on=name)
    assert len(join) == 2
    for run in RUNS.values():
        assert rows(run(join)) == rows(join.table())


def test_a_list_that_is_too_long_is_told() -> None:
    numbers = range(1000, 1001 + MOST_LISTED)
    left, right = {"k": [f"{n}.0" for n in numbers]}, {"k": [str(n) for n in numbers]}
    join = lakejoin.join(left, right, on="k")
    assert len(join) == MOST_LISTED + 1
    assert "1,001 rows match differently here" in join.to_sql()
    shorter = lakejoin.join({"k": left["k"][1:]}, right, on="k")
    assert by_sql(shorter).num_rows == MOST_LISTED


def test_what_code_cannot_say() -> None:
    twice = {"k": ["a", "a"], "i": [0, 1]}
    once = lakejoin.join(twice, {"k": ["a"]}, on="k", options=MatchOptions(one_to_one=True))
    with pytest.raises(InputError, match="one-to-one"):
        once.to_sql()
    single = lakejoin.join({"k": ["a"]}, {"k": ["a"]}, "k", options=MatchOptions(one_to_one=True))
    assert "JOIN" in single.to_sql()
    assert (
        "before aggregating: first"
        in lakejoin.join(
            twice, twice, on="k", options=MatchOptions(aggregate="first")
        ).to_polars_code()
    )


def test_names_that_are_one_in_sql() -> None:
    twice, once = {"Name": ["a"], "name": ["b"]}, {"NAME": ["a"]}
    with pytest.raises(InputError, match="'Name' and 'name' of the right table differ only"):
        lakejoin.join(once, twice, on="NAME=Name").to_sql()
    with pytest.raises(InputError, match="of the left table"):
        lakejoin.join(twice, once, on="name=NAME", by="equal").to_sql()
    assert "join" in lakejoin.join(twice, once, on="Name=NAME").to_polars_code()
    assert by_sql(lakejoin.join({"Name": ["a"]}, once, on="Name=NAME")).num_rows == 1


@pytest.mark.spark
def test_spark(spark: Any) -> None:
    source = pa.table(
        {
            "a": ["Bern", " bern", "7.0", "n/a", "Bärn", None, "x.y"],
            "b": ["Q,zug", "Q,none", "Q,x", "n/a", "Q,", "Q,ULM", None],
        }
    )
    target = pa.table({"key": ["BERN", "Zug", "7", "n/a", "ulm", None], "a": list("uvwxyz")})
    for how in HOWS:
        for side in ("left", "right"):
            join = joined_by_ways(source, target, {"Bärn": "bern", "x.y": "7"}, how, side)
            codes = np.array([0, 1, 1, 0, 1, 2, -1]), np.array([1, 0, 1, 0, 2, 0])
            told = KeyRefinement(
                identity("b"), identity("a"), np.ones(join.known.count, bool), *codes
            )
            if side == "left":
                join = replace(join, found=replace(join.known, refinement=told))
            made = _function(join.to_pyspark_code())(
                *(spark.createDataFrame(table.to_pandas()) for table in (join.left, join.right))
            )
            assert made.columns == join.schema.names
            found = [tuple(row) for row in made.collect()]
            assert sorted(found, key=repr) == rows(join.table())
    two = lakejoin.join(source, target, on=["a=key", "b=a"], by="equal")
    assert "join" in two.to_pyspark_code()
    near = lakejoin.join({"x": [1.0, 0.1, 1e22]}, {"y": [2.0, 1e-07]}, on="x=y", by="nearest")
    frames = (spark.createDataFrame(table.to_pandas()) for table in (near.left, near.right))
    made = _function(near.to_pyspark_code())(*frames).collect()
    assert sorted(map(tuple, made), key=repr) == rows(near.table())
