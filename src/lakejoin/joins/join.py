"""The join of two tables: how its rows match, why, and the rows of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import NoJoin, needed
from lakejoin.joins.joined import Joined
from lakejoin.joins.keys import Keys, each_once
from lakejoin.joins.options import JoinOptions
from lakejoin.joins.steps import Step, steps_of
from lakejoin.joins.task import Attempt
from lakejoin.joins.ways import Found

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.aggregating import Aggregated
    from lakejoin.joins.autojoin.programs import Program
    from lakejoin.joins.pairs import Example

NAMES = ("the left table", "the right table")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Join:
    """How two tables join; false if no join was found.

    Rows are made on demand: `batches` for a result larger than memory, or `table` for all of it.
    """

    left: pa.Table
    right: pa.Table
    options: JoinOptions
    found: Found | None
    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()
    names: tuple[str, str] = NAMES

    def __bool__(self) -> bool:
        return self.found is not None

    def __len__(self) -> int:
        """The number of rows of the result."""
        return len(self._rows) if self else 0

    # -- how -----------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the join in order, each with the rows that it adds."""
        return steps_of(self.found, self._keys) if self.found is not None else ()

    @property
    def programs(self) -> tuple[Program, ...]:
        """The learned programs, best first."""
        return tuple(step.program for step in self.steps if step.program is not None)

    @property
    def program(self) -> Program | None:
        """The best learned program; None if values are not rewritten."""
        return next(iter(self.programs), None)

    @property
    def left_joined(self) -> int:
        """The number of left rows with a match."""
        return self._joined.left_joined if self else 0

    @property
    def right_joined(self) -> int:
        """The number of right rows with a match."""
        return self._joined.right_joined if self else 0

    @property
    def matched(self) -> int:
        """The number of matching pairs of rows."""
        return self._joined.pairs if self else 0

    @cached_property
    def sure(self) -> float:
        """The confidence that matching rows belong together, 0 to 1: the mean over all steps."""
        rows = [step.left_rows + step.right_rows for step in self.steps]
        if not sum(rows):
            return 0.0
        return sum(n * step.sure for n, step in zip(rows, self.steps, strict=True)) / sum(rows)

    @property
    def why(self) -> str:
        """Why to trust the join, step by step; or why none was found."""
        if not self:
            return self.no_join
        return "; ".join(f"{step.kind}: {step.why}" for step in self.steps)

    @property
    def attempt(self) -> Attempt | None:
        """The closest candidate, if no join was found."""
        ranked = sorted(
            self.attempts, key=lambda attempt: -(attempt.left_rows + attempt.right_rows)
        )
        return ranked[0] if ranked and not self else None

    @property
    def no_join(self) -> str:
        """Why no join was found, as a sentence."""
        for side, table in (("left", self.left), ("right", self.right)):
            if not table.num_rows:
                return f"no join found: the {side} table has no rows"
        best = self.attempt
        if best is None:
            return "no join found: the tables share no values, and no learned rule makes them match"
        if not best.left_rows:
            return f"no join found; the closest candidate is {best.words}, but {best.why}"
        return (
            f"no join found; the closest candidate is {best.words}: it would match "
            f"{best.left_rows:,} of {self.left.num_rows:,} left rows and {best.right_rows:,} of "
            f"{self.right.num_rows:,} right rows, but {best.why}; use --on to force this join"
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to know before using the result."""
        from lakejoin.joins.pairs import warnings_of

        return tuple(warnings_of(self)) if self else ()

    # -- rows ----------------------------------------------------------------------------------

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._rows.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the result, in batches."""
        return self._rows.batches()

    def table(self, limit: int | None = None) -> pa.Table:
        """The result as a `pyarrow.Table`, all rows or the first `limit`."""
        return self._rows.table(limit)

    def to_pandas(self) -> Any:
        """The result as a `pandas.DataFrame`."""
        needed("pandas")
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """The result as a `polars.DataFrame`."""
        return needed("polars").from_arrow(self.table())

    def pairs(self, limit: int | None = None) -> pa.Table:
        """The matching pairs of rows: `left_row`, `right_row` and the index of the `step`."""
        from lakejoin.joins.pairs import pairs_of

        return pairs_of(self, limit)

    def examples(self, each: int = 3) -> list[Example]:
        """Some pairs of every step: the value, its rewritten form and its match."""
        from lakejoin.joins.pairs import examples_of

        return examples_of(self, each)

    def unmatched(
        self, side: str = "left", limit: int | None = None, nearest: bool = True
    ) -> pa.Table:
        """The rows of a side without a match, each with the `nearest` value of the other side.

        The columns are `row`, `value`, `nearest` and `distance` (0 to 1; in its unit for joins by
        nearest). The last two are null if nothing is similar or the key has several columns.
        """
        from lakejoin.joins.pairs import unmatched_of

        return unmatched_of(self, side, limit, nearest)

    # -- code ----------------------------------------------------------------------------------

    def to_sql(
        self, left: str = "left_table", right: str = "right_table", dialect: str = "duckdb"
    ) -> str:
        """The join as one SQL query over two tables with these names.

        `dialect` is `duckdb`, or `standard` for SQL that nearly every system runs.
        """
        from lakejoin.joins.written.plan import plan_of
        from lakejoin.joins.written.sql import sql_of

        return sql_of(plan_of(self), (left, self.left), (right, self.right), dialect)

    def to_pandas_code(self) -> str:
        """The join as a Python function of two pandas DataFrames."""
        from lakejoin.joins.written.pandas import pandas_of
        from lakejoin.joins.written.plan import plan_of

        return pandas_of(plan_of(self))

    def to_polars_code(self) -> str:
        """The join as a Python function of two polars DataFrames."""
        from lakejoin.joins.written.plan import plan_of
        from lakejoin.joins.written.polars import polars_of

        return polars_of(plan_of(self))

    def to_pyspark_code(self) -> str:
        """The join as a Python function of two Spark DataFrames, using only Spark functions."""
        from lakejoin.joins.written.plan import plan_of
        from lakejoin.joins.written.pyspark import pyspark_of_plan

        return pyspark_of_plan(plan_of(self))

    # -- display -------------------------------------------------------------------------------

    def __repr__(self) -> str:
        from lakejoin.joins.shown import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from lakejoin.joins.shown import as_html

        return as_html(self)

    # -- internals -----------------------------------------------------------------------------

    @cached_property
    def _keys(self) -> Keys:
        found = self.known
        if not self.options.one_to_one:
            return found.keys
        keys, way = found.keys, found.way_of
        if found.source_side == "left":
            return each_once(keys, way)
        once = each_once(Keys(keys.right, keys.left, keys.count), way)
        return Keys(once.right, once.left, once.count)

    @property
    def known(self) -> Found:
        """What was found; raises `NoJoin` if nothing was."""
        if self.found is None:
            raise NoJoin(self.no_join)
        return self.found

    @cached_property
    def _joined(self) -> Joined:
        return Joined(self.left, self.right, self._keys, self.options.how, self.options.suffix)

    @cached_property
    def _rows(self) -> Joined | Aggregated:
        if not self.options.aggregate:
            return self._joined
        from lakejoin.joins.aggregating import Aggregated

        return Aggregated(self._joined, self.options.aggregate)

    @property
    def pairs_before_one_to_one(self) -> int:
        """The number of pairs if every row may have several matches."""
        return Joined(self.left, self.right, self.known.keys).pairs

    @property
    def joined(self) -> Joined:
        """The joined rows before aggregation."""
        return self._joined
