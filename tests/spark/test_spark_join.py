"""Tables that live in Spark are joined there as we join them: learned on samples, done natively."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import lakejoin
from lakejoin.errors import InputError, NoJoin
from lakejoin.joins import sampled_join
from lakejoin.joins.join_finder import join_tables
from lakejoin.joins.options import JoinOptions
from lakejoin.model import ValueRules
from lakejoin.spark import join
from lakejoin.spark.dataframe_join import SparkJoin
from lakejoin.values.canonical_values import canonicalise

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark", reason="pyspark is not installed")

HOWS = ("inner", "left", "right", "full")
FIRST = ("Ada", "Alan", "Grace", "Kurt", "Emmy", "Zoë", "Carl", "Sofia", "Leon", "Mary")
LAST = ("Lovelace", "Turing", "Hopper", "Gödel", "Noether", "Straßer", "Gauss", "Kovalev", "Euler")


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(c.to_pylist() for c in table.columns), strict=True), key=repr)


def spark_rows(joined: SparkJoin) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in joined.dataframe.collect()), key=repr)


def people(seed: int, count: int = 60) -> tuple[pa.Table, pa.Table]:
    """Names in two orders, some in other case or with blanks, some missing, some in one only."""
    draw = random.Random(seed)
    names = draw.sample([(f, f"{last}{n}") for f in FIRST for last in LAST for n in "abc"], count)
    left = [f"{first} {last}" for first, last in names[: count - 8]] + [None, "n/a"]
    right = [f"{last}, {first}" for first, last in names[8:]] + [None, "", "n/a"]
    left = [draw.choice((str.upper, str.lower, str))(t) if t else t for t in left]
    mine = pa.table({"id": range(len(left)), "Name": left})
    theirs = pa.table({"who": right, "id": [f"r{i}" for i in range(len(right))]})
    return (mine, theirs) if seed % 2 else (theirs, mine)


@pytest.fixture(autouse=True)
def few_tasks(spark: Any) -> Iterator[None]:
    """Tables of a few rows need no 200 tasks."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, 2)
    yield
    spark.conf.set(name, before)


@pytest.mark.parametrize("seed", range(2))
def test_learned_programs_make_our_rows(spark: Any, seed: int) -> None:
    left, right = people(seed)
    frames = [spark.createDataFrame(table) for table in (left, right)]
    for how in HOWS:
        joined = join(*frames, how=how)
        ours = join_tables(left, right, JoinOptions(how=how, by="transform"))
        assert joined.program is not None and ours.matched > 40
        assert joined.dataframe.columns == ours.schema.names
        assert spark_rows(joined) == rows(ours.table())
    assert "BatchEvalPython" not in joined.dataframe._jdf.queryExecution().toString()


def test_several_programs_and_types_that_only_spark_has(spark: Any) -> None:
    """A row joins by the first program that finds it a partner; other columns pass through."""
    names = _names()
    mails = [f"{first}.{last}@uni.edu".lower() for first, last in names]
    texts = [f"{f} {last}" if n % 3 else f"{last}_{f}_" for n, (f, last) in enumerate(names)]
    left, right = pa.table({"name": texts}), pa.table({"mail": mails, "n": range(len(mails))})
    ours = join_tables(left, right, JoinOptions(how="full", by="transform"))
    assert len(ours.programs) > 1
    frames = spark.createDataFrame(left), spark.createDataFrame(right)
    assert spark_rows(join(*frames, how="full")) == rows(ours.table())
    tagged = frames[1].selectExpr("*", "array(n) as tags", "timestamp '2020-01-31 08:15:00' as at")
    joined = join(frames[0], tagged)
    assert joined.dataframe.columns == ["name", "mail", "n", "tags", "at"]
    assert all(row.tags == [row.n] for row in joined.dataframe.collect())


def _names() -> list[tuple[str, str]]:
    draw = random.Random(3)
    last = ["".join(draw.choices("abdeiklmnoprstu", k=draw.randint(5, 9))) for _ in range(60)]
    return [(draw.choice(FIRST), name.title()) for name in last]


def test_samples_are_enough(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is learned from a part of the larger table joins all of it; the code alone does too."""
    monkeypatch.setattr(sampled_join, "_MOST", 300)
    monkeypatch.setattr(sampled_join, "_FEWEST", 300)
    draw = random.Random(5)
    codes = [f"{draw.randrange(10**6):06}" for _ in range(80)]
    left = pa.table({"order": [f"DE-{draw.choice(codes)}/x" for _ in range(3000)]})
    right = pa.table({"customer": codes, "name": [f"n{code}" for code in codes]})
    frames = spark.createDataFrame(left), spark.createDataFrame(right)
    joined = join(*frames, how="left")
    assert joined.rows == (3000, 80) and joined.sampled[0] < 500
    whole = lakejoin.join(left, right, how="left", by="transform")
    assert spark_rows(joined) == rows(whole.table())
    names: dict[str, Any] = {}
    exec(joined.to_pyspark_code(), names)
    assert names["join"](*frames).count() == 3000
    assert f"learned from {joined.sampled[0]} of 3,000 left and 80 of 80" in repr(joined)


def test_equal_values_of_columns_that_are_given(spark: Any) -> None:
    left = pa.table({"k": [7, 8, None, 9], "y": ["2020", "2021", "2020", None]})
    right = pa.table({"K": ["7.0", " 8", "n/a", "9"], "y": ["2020.0", "x", "2020", "2020"]})
    frames = spark.createDataFrame(left), spark.createDataFrame(right)
    for on in ("k=K", {"k": "K", "y": "y"}):
        for how in ("inner", "full"):
            ours = lakejoin.join(left, right, on=on, how=how, by="equal")
            joined = join(*frames, on=on, how=how, by="equal", suffix="_r")
            assert joined.dataframe.columns == ["k", "y", "K_r", "y_r"]
            assert spark_rows(joined) == rows(ours.table())
            assert joined.program is None and not joined.notes


TEXTS = (
    *("Bern", " BERN\t", "new\u00a0  york", "STRASSE", "Straße", "ΟΔΟΣ", "οδος", "São", "TRUE"),
    *("7", "7.0", "7.", "+7", ".5", "0.50", "-0.0", "-7.10", "007", "007.50", "0", "00", "1,234"),
    *("1e3", "12%", "12345678901234567890.10", "-", "--", "n/a", "N.A.", "", "  ", "#REF!", "NULL"),
    *("2020-01-31", "2020-01-31 00:00:00.000", "2020-01-31T00:00", "1.2.3", "+", "+x", "-.5", "."),
)


def test_spark_makes_our_canonical_values(spark: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812 (as the code says)

    from lakejoin.codegen.frame_code import PYSPARK_CANONICAL
    from lakejoin.joins.code_plan import null_words

    names: dict[str, Any] = {"F": F}
    exec("def outer():\n" + PYSPARK_CANONICAL + "    return canonical", names)
    column = pa.array(TEXTS, pa.large_string())
    ours = canonicalise(column, [1] * len(TEXTS), ValueRules()).text.to_pylist()
    frame = spark.createDataFrame([(t,) for t in TEXTS], "t string").coalesce(1)
    found = frame.select(names["outer"]()(F.col("t"), list(null_words(column)))).collect()
    assert [row[0] for row in found] == ours


def test_names_that_differ_in_case_only_are_told_apart(spark: Any) -> None:
    left = spark.createDataFrame([("a1b2", "x"), ("c3d4", "y")], "Key string, v string")
    right = spark.createDataFrame([("a1b2", "p"), ("c3d4", "q")], "key string, V string")
    made = join(left, right, on="Key=key").dataframe
    assert made.columns == ["Key", "v", "key_right", "V_right"]
    assert sorted(map(tuple, made.select("key_right", "V_right").collect()))[0] == ("a1b2", "p")


def test_what_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame([("a1b2", "x"), ("c3d4", "y")], "k string, v string")
    other = spark.createDataFrame([("§§", "?!"), ("%%", "&&")], "p string, q string")
    with pytest.raises(NoJoin, match="no join found"):
        join(frame, other)
    with pytest.raises(InputError, match="by must be one of auto, equal, transform"):
        join(frame, other, by="fuzzy")
    with pytest.raises(InputError, match="not a Spark DataFrame"):
        join(frame, pa.table({"k": ["a"]}))
    with pytest.raises(InputError, match="two columns called 'K'"):
        join(frame.selectExpr("k", "v as K"), other)
    with pytest.raises(InputError, match="one of inner, left"):
        join(frame, other, how="outer")
    days = spark.createDataFrame([("31 Jan 2020",), ("1 Feb 2020",)], "d string")
    iso = spark.createDataFrame([("2020-01-31",), ("2020-02-01",)], "d string")
    with pytest.raises(InputError, match="cast both columns"):
        join(days, iso, on="d")
