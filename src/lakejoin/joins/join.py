"""The join of two tables: how it was found, which rows meet, and what it makes."""

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
    """How two tables join; false where no join was found, and then nothing is made of it.

    Rows are made as they are asked for: `batches` of a result that is larger than memory, or the
    `table` as a whole.
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
        """The rows of the result."""
        return len(self._rows) if self else 0

    # -- how -----------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What was done, in order, and the rows that each step added."""
        return steps_of(self.found, self._keys) if self.found is not None else ()

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that were learned, the best first."""
        return tuple(step.program for step in self.steps if step.program is not None)

    @property
    def program(self) -> Program | None:
        """The best program that was learned; None where values are not rewritten."""
        return next(iter(self.programs), None)

    @property
    def left_joined(self) -> int:
        """How many left rows have a partner."""
        return self._joined.left_joined if self else 0

    @property
    def right_joined(self) -> int:
        """How many right rows have a partner."""
        return self._joined.right_joined if self else 0

    @property
    def matched(self) -> int:
        """How many pairs of rows meet."""
        return self._joined.pairs if self else 0

    @cached_property
    def sure(self) -> float:
        """How sure it is that rows which meet belong together, 0 to 1: of all steps on average."""
        rows = [step.left_rows + step.right_rows for step in self.steps]
        if not sum(rows):
            return 0.0
        return sum(n * step.sure for n, step in zip(rows, self.steps, strict=True)) / sum(rows)

    @property
    def why(self) -> str:
        """Why it is to be believed, step by step; or why no join was found."""
        if not self:
            return self.no_join
        return "; ".join(f"{step.kind}: {step.why}" for step in self.steps)

    @property
    def attempt(self) -> Attempt | None:
        """What came nearest, where no join was found."""
        found = sorted(self.attempts, key=lambda one: -(one.left_rows + one.right_rows))
        return found[0] if found and not self else None

    @property
    def no_join(self) -> str:
        """The sentence for a join that was not found."""
        for side, table in (("left", self.left), ("right", self.right)):
            if not table.num_rows:
                return f"no join found: the {side} table has no rows"
        best = self.attempt
        if best is None:
            return "no join found: no values are shared, and no rule was found that makes them meet"
        if not best.left_rows:
            return f"no join found; the best attempt is {best.words}, where {best.why}"
        return (
            f"no join found; the best attempt is {best.words}, where {best.left_rows:,} of "
            f"{self.left.num_rows:,} left rows and {best.right_rows:,} of "
            f"{self.right.num_rows:,} right rows would meet, but {best.why} "
            "(name columns, and they are joined all the same)"
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What should be known before the result is used."""
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
        """The result, all rows or the first ones, as a `pyarrow.Table`."""
        return self._rows.table(limit)

    def to_pandas(self) -> Any:
        """The result as a `pandas.DataFrame`."""
        needed("pandas")
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """The result as a `polars.DataFrame`."""
        return needed("polars").from_arrow(self.table())

    def pairs(self, limit: int | None = None) -> pa.Table:
        """The pairs of rows that meet: `left_row`, `right_row`, and the place of the `step`."""
        from lakejoin.joins.pairs import pairs_of

        return pairs_of(self, limit)

    def examples(self, each: int = 3) -> list[Example]:
        """Some pairs of every step: the values before, what is made of them, and the partner."""
        from lakejoin.joins.pairs import examples_of

        return examples_of(self, each)

    def unmatched(
        self, side: str = "left", limit: int | None = None, nearest: bool = True
    ) -> pa.Table:
        """The rows of a side that have no partner, with the `nearest` value of the other side.

        Columns are `row`, `value`, `nearest` and `distance` (0 to 1; by nearest, in its unit); the
        last two are null where nothing is alike, or where a text would have several columns.
        """
        from lakejoin.joins.pairs import unmatched_of

        return unmatched_of(self, side, limit, nearest)

    # -- code ----------------------------------------------------------------------------------

    def to_sql(
        self, left: str = "left_table", right: str = "right_table", dialect: str = "duckdb"
    ) -> str:
        """The join as one query over two tables of these names.

        The dialect is `duckdb`, or `standard` for what nearly every system understands.
        """
        from lakejoin.joins.written.sql import sql_of

        return sql_of(self, left, right, dialect)

    def to_pandas_code(self) -> str:
        """The join as a Python function of two pandas DataFrames."""
        from lakejoin.joins.written.pandas import pandas_of

        return pandas_of(self)

    def to_polars_code(self) -> str:
        """The join as a Python function of two polars DataFrames."""
        from lakejoin.joins.written.polars import polars_of

        return polars_of(self)

    def to_pyspark_code(self) -> str:
        """The join as a Python function of two Spark DataFrames; no Python runs in it."""
        from lakejoin.joins.written.pyspark import pyspark_of

        return pyspark_of(self)

    # -- display -------------------------------------------------------------------------------

    def __repr__(self) -> str:
        from lakejoin.joins.shown import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from lakejoin.joins.shown import as_html

        return as_html(self)

    # -- beneath -------------------------------------------------------------------------------

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
        """What was found, or the error that says that nothing was."""
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
        """How many pairs meet where every row may have several partners."""
        return Joined(self.left, self.right, self.known.keys).pairs

    @property
    def joined(self) -> Joined:
        """The rows that meet, before any are made one."""
        return self._joined
