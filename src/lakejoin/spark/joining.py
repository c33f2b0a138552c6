"""How do two tables join that live in Spark? Learned on samples, done by Spark's own functions.

Samples are brought to the driver, and what joins them is found there as for any two tables. Then
it is written as PySpark code, which is run over the whole tables: what a user can take away is what
ran. No Python runs in the workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError, NoJoin
from lakejoin.joins.join import Join
from lakejoin.joins.joined import SUFFIX
from lakejoin.joins.joining import join_tables
from lakejoin.joins.on import pairs_given
from lakejoin.joins.options import JoinOptions
from lakejoin.joins.written.general import general_plan
from lakejoin.joins.written.pyspark import pyspark_of_plan
from lakejoin.spark.samples import sample, sizes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from lakejoin.joins.autojoin.programs import Program

BYS = ("auto", "equal", "transform")
_AGREES = 0.98  # of the pairs of the samples, that Spark's functions must find to say nothing


@dataclass(frozen=True, eq=False, repr=False)
class SparkJoin:
    """How two Spark tables join, and the joined table, of which Spark has made nothing yet."""

    dataframe: DataFrame
    learned: Join  # of the samples
    rows: tuple[int, int]  # of the tables
    code: str
    notes: tuple[str, ...] = ()

    @property
    def program(self) -> Program | None:
        """The best program that was learned; None where values are not rewritten."""
        return self.learned.program

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that were learned, the best first."""
        return self.learned.programs

    @property
    def sampled(self) -> tuple[int, int]:
        """The rows of each table that were learned from."""
        return self.learned.left.num_rows, self.learned.right.num_rows

    def to_pyspark_code(self) -> str:
        """The function of two Spark DataFrames that made the joined table."""
        return self.code

    def __repr__(self) -> str:
        lines = [f"{step.kind}: {step.words} ({step.why})" for step in self.learned.steps]
        mine, theirs = zip(self.sampled, self.rows, strict=True)
        lines.append(
            f"learned from {mine[0]:,} of {mine[1]:,} left and {theirs[0]:,} of {theirs[1]:,} "
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
    """Joins two Spark DataFrames whose values may have to be rewritten first.

    `on` fixes the columns (`"code=iso"`, a list of such, or a mapping). `by` is `equal`,
    `transform` for learned programs, or `auto` for the better of both.

    >>> from lakejoin.spark import join
    >>> joined = join(orders, customers)      # doctest: +SKIP
    >>> joined.dataframe.write.parquet("…")   # doctest: +SKIP
    """
    if by not in BYS:
        raise InputError(
            f"in Spark, rows are joined by one of {', '.join(BYS)}, not {by!r}: collect smaller "
            "tables and use lakejoin.join for the rest"
        )
    tables = _columns(left, "left"), _columns(right, "right")
    options = JoinOptions(
        on=pairs_given(on, list(tables[0]), list(tables[1])), how=how, suffix=suffix
    )
    rows = left.count(), right.count()
    wanted = sizes(*rows)
    samples = (
        sample(left, rows[0], wanted[0], seed),
        sample(right, rows[1], wanted[1], seed + 1),
    )
    learned = _learned(*samples, options, by)
    if not learned:
        raise NoJoin(_refused(learned, rows))
    plan = general_plan(learned, *tables)
    code = pyspark_of_plan(plan)
    notes = _checked(learned, left.sparkSession)
    return SparkJoin(_function(code)(left, right), learned, rows, code, notes)


def _columns(frame: DataFrame, side: str) -> dict[str, bool]:
    """The columns, and which are text."""
    if not hasattr(frame, "dtypes") or not hasattr(frame, "sparkSession"):
        raise InputError(f"the {side} table is no Spark DataFrame: lakejoin.join joins all others")
    found: dict[str, bool] = {}
    for name, kind in frame.dtypes:
        if name.lower() in {one.lower() for one in found}:
            raise InputError(f"the {side} table has two columns called {name!r}: rename one")
        found[name] = kind == "string"
    return found


def _learned(left: pa.Table, right: pa.Table, options: JoinOptions, by: str) -> Join:
    """What joins the samples: equal values, or programs where these join more rows."""
    equal = None if by == "transform" else join_tables(left, right, replace(options, by="equal"))
    if equal is not None and (by == "equal" or (options.on and equal.matched) or _complete(equal)):
        return equal
    rewritten = join_tables(left, right, replace(options, by="transform"))
    if equal is None:
        return rewritten
    reached = [join.left_joined + join.right_joined for join in (equal, rewritten)]
    return rewritten if reached[1] > reached[0] else equal


def _complete(join: Join) -> bool:
    """Whether every row of one sample has a partner."""
    left, right = join.left.num_rows, join.right.num_rows
    return bool(join.left_joined == left or join.right_joined == right)


def _refused(learned: Join, rows: tuple[int, int]) -> str:
    sampled = learned.left.num_rows, learned.right.num_rows
    if sampled[0] < rows[0] and sampled[1] < rows[1]:
        return (
            f"{learned.no_join}. Samples of both tables were compared, in which few partners meet: "
            "name the columns (on), or give a smaller table"
        )
    return learned.no_join


def _function(code: str) -> Any:
    """The function that the code defines: ours, with every text of the tables quoted."""
    names: dict[str, Any] = {}
    exec(code, names)
    return names["join"]


def _checked(learned: Join, session: Any) -> tuple[str, ...]:
    """Whether Spark's functions make the pairs of the samples that canonical values make."""
    import pyarrow as pa

    def is_text(table: pa.Table) -> dict[str, bool]:
        kinds = pa.types.is_string, pa.types.is_large_string
        return {f.name: any(kind(f.type) for kind in kinds) for f in table.schema}

    plan = general_plan(learned, is_text(learned.left), is_text(learned.right))
    code = pyspark_of_plan(replace(plan, how="inner"))
    frames = (session.createDataFrame(table) for table in (learned.left, learned.right))
    made, ours = _function(code)(*frames).count(), learned.matched
    if not made and ours:
        raise InputError(
            f"the {ours:,} pairs of the samples meet only as dates or numbers that are written "
            "differently, which Spark's functions do not see: cast both columns to one type first"
        )
    if _AGREES * ours <= made <= ours / _AGREES:
        return ()
    return (
        f"of the samples, {ours:,} pairs of rows meet here and {made:,} in Spark: dates and "
        "numbers that are written differently are not equal there",
    )
