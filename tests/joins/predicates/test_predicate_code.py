"""The join of more than two tables: its rows, and its code run in each system, by brute force."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakejoin
from lakejoin.errors import InputError
from lakejoin.joins.join_inputs import loaded_input
from lakejoin.joins.predicates.coded_tables import encode_tables
from lakejoin.joins.predicates.join_predicate import JoinPredicate, PredicateTables
from lakejoin.joins.predicates.predicate_finder import Pair, Predicate, PredicateOptions
from lakejoin.joins.predicates.preferences import Facts
from oracle.predicates import Rows

EVERY = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
TEXTS = (
    *("Bern", "bern ", " BERN", "Zug", "ZUG", "7", "7.0", "n/a", "", "Straße", "STRASSE", "ΟΔΟΣ"),
    *("2020-01-31", "31 Jan 2020", "it's", 'a"b', "a\\b", None),
)
NAMES = (("a", "b"), ("a", "c"), ('d "x', "a"), ("B", "e"))
NOTHING = Facts((0,), (0,), 0, 0, 0.0, 0)


def predicate_of(tables: list[pa.Table], pairs: list[Pair]) -> JoinPredicate:
    sides = tuple(loaded_input(f"t{n}", table) for n, table in enumerate(tables))
    labels = tuple(side.name for side in sides)
    given = PredicateTables(sides, labels, encode_tables(tables), PredicateOptions())
    return JoinPredicate(Predicate(tuple(pairs), tuple(pairs), NOTHING, {}), given)


def by_brute_force(tables: list[pa.Table], pairs: list[Pair]) -> list[tuple[int, ...]]:
    """The numbers of the rows that meet."""
    rows = [Rows.of(table.drop(["row"])).rows for table in tables]
    place = [{name: n for n, name in enumerate(table.column_names)} for table in tables]

    def meets(numbers: tuple[int, ...]) -> bool:
        for (t, a), (u, b) in pairs:
            mine, theirs = rows[t][numbers[t]][place[t][a]], rows[u][numbers[u]][place[u][b]]
            if mine is None or mine != theirs:
                return False
        return True

    return sorted(filter(meets, product(*(range(table.num_rows) for table in tables))))


def numbers(made: pa.Table) -> list[tuple[int, ...]]:
    columns = [name for name in made.column_names if name.split("_")[0] == "row"]
    return sorted(zip(*(made[name].to_pylist() for name in columns), strict=True))


def by_sql(predicate: JoinPredicate, dialect: str = "duckdb") -> pa.Table:
    with duckdb.connect() as con:
        for number, side in enumerate(predicate.tables.sides, start=1):
            con.register(f"table_{number}", side.rows)
        return con.sql(predicate.to_sql(dialect=dialect)).to_arrow_table()


def by_standard_sql(predicate: JoinPredicate) -> pa.Table:
    return by_sql(predicate, "standard")


def by_pandas(predicate: JoinPredicate) -> pa.Table:
    frames = [side.rows.to_pandas() for side in predicate.tables.sides]
    return pa.Table.from_pandas(_function(predicate.to_pandas_code())(*frames))


def by_polars(predicate: JoinPredicate) -> pa.Table:
    frames = [pl.from_arrow(side.rows) for side in predicate.tables.sides]
    return _function(predicate.to_polars_code())(*frames).to_arrow()


def by_ourselves(predicate: JoinPredicate) -> pa.Table:
    return predicate.table()


def _function(code: str) -> Any:
    names: dict[str, Any] = {}
    exec(code, names)
    return names["join"]


RUNS = {
    "ours": by_ourselves,
    "sql": by_sql,
    "standard": by_standard_sql,
    "pandas": by_pandas,
    "polars": by_polars,
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[pa.Table], list[Pair]]:
    """Three or four tables, and pairs that connect all of them, also in circles."""
    cells = st.sampled_from(draw(st.lists(st.sampled_from(TEXTS), min_size=2, max_size=6)))
    tables = []
    for names in NAMES[: draw(st.sampled_from([3, 3, 3, 4]))]:
        size = draw(st.integers(0, 5))
        columns = {n: draw(st.lists(cells, min_size=size, max_size=size)) for n in names}
        arrays = {name: pa.array(column, pa.string()) for name, column in columns.items()}
        tables.append(pa.table(arrays | {"row": range(size)}))
    pairs = set()
    for later in range(1, len(tables)):
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            earlier = draw(st.integers(0, later - 1))
            one, other = (draw(st.sampled_from(NAMES[t])) for t in (earlier, later))
            pairs.add(((earlier, one), (later, other)))
    return tables, sorted(pairs)


@pytest.mark.parametrize("run", RUNS)
def test_it_makes_the_rows_that_meet(run: str) -> None:
    @EVERY
    @given(cases())
    def check(case: tuple[list[pa.Table], list[Pair]]) -> None:
        predicate = predicate_of(*case)
        made = RUNS[run](predicate)
        assert made.column_names == predicate.table(0).column_names
        assert numbers(made) == by_brute_force(*case)

    check()


TYPED = [
    pa.table({"n": pa.array([1, 2, None, 4], pa.int64()), "row": range(4)}),
    pa.table({"x": pa.array([4.0, float("nan"), 1.0, 2.5], pa.float64()), "row": range(4)}),
    pa.table({"t": ["1.0", "04", "4", None], "row": range(4)}),
]


@pytest.mark.parametrize("run", RUNS)
def test_columns_of_several_types(run: str) -> None:
    pairs = [((0, "n"), (1, "x")), ((0, "n"), (2, "t"))]
    assert numbers(RUNS[run](predicate_of(TYPED, pairs))) == [(0, 2, 0), (3, 0, 2)]


@pytest.mark.spark
def test_spark_makes_the_same(spark: Any) -> None:
    tables = [
        pa.table({"a": ["Bern", "zug ", "n/a", "7"], "row": range(4)}),
        pa.table({"a": ["bern", "7.0", "Zug", "-"], "c.d": ["x", "y", "X ", "y"], "row": range(4)}),
        pa.table({"d": ["y", "X", None], "A": ["p", "q", "r"], "row": range(3)}),
    ]
    pairs = [((0, "a"), (1, "a")), ((1, "c.d"), (2, "d"))]
    predicate = predicate_of(tables, pairs)
    frames = [spark.createDataFrame(table.to_pandas()) for table in tables]
    made = _function(predicate.to_pyspark_code())(*frames)
    assert made.columns == predicate.table(0).column_names
    found = sorted((row["row"], row["row_2"], row["row_3"]) for row in made.collect())
    assert found == by_brute_force(tables, pairs) == [(0, 0, 1), (1, 2, 1), (3, 1, 0)]


def test_the_first_rows_of_a_huge_join_come_at_once() -> None:
    same = pa.table({"k": ["x"] * 3000, "row": range(3000)})
    predicate = predicate_of([same] * 4, [((n, "k"), (n + 1, "k")) for n in range(3)])
    assert predicate.table(5).num_rows == 5  # of 8.1e13


def test_what_cannot_be_said_is_refused() -> None:
    predicate = predicate_of(TYPED, [((0, "n"), (1, "x")), ((0, "n"), (2, "t"))])
    with pytest.raises(InputError, match="takes two tables; for more"):
        predicate.join()
    with pytest.raises(InputError, match="a name for each of the 3 tables"):
        predicate.to_sql("one", "two")
    with pytest.raises(InputError, match="one of duckdb, standard"):
        predicate.to_sql(dialect="other")
    assert 'FROM "one" AS t1' in predicate.to_sql("one", "two", "three")
    alike = [pa.table({"A": [1], "a": [1]}), TYPED[0], TYPED[1]]
    with pytest.raises(InputError, match="differ only in case"):
        predicate_of(alike, [((0, "a"), (1, "n")), ((1, "n"), (2, "x"))]).to_sql()


def test_two_tables_are_written_as_a_join_is() -> None:
    found = lakejoin.predicates({"a": ["x", "y"]}, {"b": ["Y "]})
    assert found[0].to_sql() == found[0].join().to_sql()
    assert found[0].to_sql("l", "r", dialect="standard").count('"l"') == 1
    frames = [pl.DataFrame({"a": ["x", "y"]}), pl.DataFrame({"b": ["Y "]})]
    assert _function(found[0].to_polars_code())(*frames).rows() == [("y", "Y ")]
    assert "def join(left, right)" in found[0].to_pandas_code()
    assert "def join(left, right)" in found[0].to_pyspark_code()
