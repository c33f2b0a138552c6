"""Joins two Spark DataFrames: learns the join on samples, runs it with Spark's own functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakejoin.codegen.frame_code import write_pyspark
from lakejoin.errors import InputError, NoJoin
from lakejoin.joins.code_plan import plan_sampled_join
from lakejoin.joins.join import Join
from lakejoin.joins.join_inputs import parse_column_pairs
from lakejoin.joins.options import SUFFIX, JoinOptions
from lakejoin.joins.sampled_join import (
    SAMPLED_METHODS,
    choose_sample_sizes,
    explain_no_join,
    learn_sampled_join,
)
from lakejoin.quoting import quote_backticks
from lakejoin.spark.session import collect_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from lakejoin.codegen.programs import Program


_MIN_FOUND = 0.98  # share of the sample's pairs that Spark must find, else a note says so


@dataclass(frozen=True, eq=False, repr=False)
class SparkJoin:
    """How two Spark DataFrames join, and the joined DataFrame, not computed yet."""

    dataframe: DataFrame
    learned: Join  # of the samples
    rows: tuple[int, int]  # of the tables
    code: str
    notes: tuple[str, ...] = ()

    @property
    def program(self) -> Program | None:
        """The best learned program; None if values are not rewritten."""
        return self.learned.program

    @property
    def programs(self) -> tuple[Program, ...]:
        """The learned programs, the best first."""
        return self.learned.programs

    @property
    def sampled(self) -> tuple[int, int]:
        """The number of sampled rows of each table."""
        return self.learned.left.num_rows, self.learned.right.num_rows

    def to_pyspark_code(self) -> str:
        """The PySpark function that computes the joined DataFrame."""
        return self.code

    def __repr__(self) -> str:
        lines = [f"{step.kind}: {step.words} ({step.why})" for step in self.learned.steps]
        left, right = zip(self.sampled, self.rows, strict=True)
        lines.append(
            f"learned from {left[0]:,} of {left[1]:,} left and {right[0]:,} of {right[1]:,} "
            "right rows"
        )
        return "\n".join([*lines, *self.notes])


def join(
    left: DataFrame,
    right: DataFrame,
    on: Any = None,
    how: str = "inner",
    by: str = "auto",
    *,
    suffix: str = SUFFIX,
    seed: int = 0,
) -> SparkJoin:
    """Join two Spark DataFrames whose values may have to be rewritten first.

    `on` fixes the columns (`"code=iso"`, a list of such, or a mapping). `by` is `equal`,
    `transform` for learned programs, or `auto` for the better of both.

    >>> from lakejoin.spark import join
    >>> joined = join(orders, customers)      # doctest: +SKIP
    >>> joined.dataframe.write.parquet("…")   # doctest: +SKIP
    """
    if by not in SAMPLED_METHODS:
        raise InputError(
            f"by must be one of {', '.join(SAMPLED_METHODS)} for Spark tables, not {by!r}; for "
            "other joins, collect smaller tables and use lakejoin.join"
        )
    tables = _text_columns(left, "left"), _text_columns(right, "right")
    options = JoinOptions(
        on=parse_column_pairs(on, list(tables[0]), list(tables[1])), how=how, suffix=suffix
    )
    rows = left.count(), right.count()
    sample_rows = choose_sample_sizes(*rows)
    samples = (
        _draw_sample(left, rows[0], sample_rows[0], seed),
        _draw_sample(right, rows[1], sample_rows[1], seed + 1),
    )
    learned = learn_sampled_join(*samples, options, by)
    if not learned:
        raise NoJoin(explain_no_join(learned, rows))
    plan = plan_sampled_join(learned, *tables)
    code = write_pyspark(plan)
    notes = _compare_with_spark(learned, left.sparkSession)
    return SparkJoin(_load_function(code)(left, right), learned, rows, code, notes)


def _text_columns(frame: DataFrame, side: str) -> dict[str, bool]:
    if not hasattr(frame, "dtypes") or not hasattr(frame, "sparkSession"):
        raise InputError(
            f"the {side} table is not a Spark DataFrame; use lakejoin.join for other tables"
        )
    columns: dict[str, bool] = {}
    for name, kind in frame.dtypes:
        if name.lower() in {column.lower() for column in columns}:
            raise InputError(f"the {side} table has two columns called {name!r}: rename one")
        columns[name] = kind == "string"
    return columns


def _load_function(code: str) -> Any:
    """The function defined by our generated code, in which all texts of the tables are quoted."""
    names: dict[str, Any] = {}
    exec(code, names)
    return names["join"]


def _compare_with_spark(learned: Join, session: Any) -> tuple[str, ...]:
    """Check that Spark's functions find the pairs of the samples that canonical values give."""
    import pyarrow as pa

    def is_text(table: pa.Table) -> dict[str, bool]:
        kinds = pa.types.is_string, pa.types.is_large_string
        return {f.name: any(kind(f.type) for kind in kinds) for f in table.schema}

    plan = plan_sampled_join(learned, is_text(learned.left), is_text(learned.right))
    code = write_pyspark(replace(plan, how="inner"))
    frames = (session.createDataFrame(table) for table in (learned.left, learned.right))
    in_spark, here = _load_function(code)(*frames).count(), learned.matched
    if not in_spark and here:
        raise InputError(
            f"the {here:,} matching pairs of the samples are dates or numbers written differently, "
            "which Spark does not treat as equal: cast both columns to one type first"
        )
    if _MIN_FOUND * here <= in_spark <= here / _MIN_FOUND:
        return ()
    return (
        f"{here:,} row pairs of the samples match here and {in_spark:,} in Spark: dates and "
        "numbers written differently are not equal there",
    )


# Column types collected on the driver; timestamps as Spark's text.
_SIMPLE = ("string", "tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date")
_MADE_TEXT = ("timestamp", "timestamp_ntz")


def _draw_sample(frame: DataFrame, rows: int, count: int, seed: int) -> pa.Table:
    """Sample about `count` rows as Arrow, with the columns that can be compared."""
    from pyspark.sql import functions as F  # noqa: N812 (the usual name)

    columns = []
    for name, kind in frame.dtypes:
        column = F.col(quote_backticks(name))
        if kind in _SIMPLE or kind.startswith("decimal") or kind.startswith("varchar"):
            columns.append(column)
        elif kind in _MADE_TEXT:
            columns.append(column.cast("string").alias(name))
    if not columns:
        raise InputError("a table needs a column of text, numbers or dates to be joined")
    taken = frame.select(*columns)
    if count < rows:
        taken = taken.sample(withReplacement=False, fraction=count / rows, seed=seed)
    return collect_arrow(taken)
