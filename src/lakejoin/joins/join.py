"""The join of two tables: its steps, why to trust it, and the rows of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lakejoin.codegen.frame_code import write_pandas, write_polars, write_pyspark
from lakejoin.codegen.join_sql import build_join_query
from lakejoin.codegen.programs import Program
from lakejoin.errors import NoJoin, import_optional
from lakejoin.joins.code_plan import plan_join
from lakejoin.joins.join_inputs import TABLE_NAMES
from lakejoin.joins.join_key import NO_RULE, JoinKey, RejectedJoin
from lakejoin.joins.join_report import describe_join, join_values
from lakejoin.joins.joined_table import AggregatedTable, JoinedTable
from lakejoin.joins.options import JoinOptions
from lakejoin.joins.pairs import Example, example_pairs, join_warnings, pair_table, unmatched_table
from lakejoin.joins.row_keys import Keys, Pairing, one_to_one_keys
from lakejoin.render.answer_base import PrintedReport
from lakejoin.render.html import render_html
from lakejoin.render.report import Report

_ROWS_SHOWN = 10  # in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Join(PrintedReport):
    """How two tables join; false if no join was found.

    Rows are made on demand: `batches` for a result larger than memory, or `table` for all of it.

    >>> join = lakejoin.join({"town": ["Bern", "Zug"]}, {"name": ["bern"]}, on="town=name")
    >>> bool(join), len(join), join.steps[0].kind
    (True, 1, 'equal')
    """

    left: pa.Table
    right: pa.Table
    options: JoinOptions
    found: JoinKey | None
    attempts: tuple[RejectedJoin, ...] = ()
    notes: tuple[str, ...] = ()
    names: tuple[str, str] = TABLE_NAMES

    def __bool__(self) -> bool:
        return self.found is not None

    def __len__(self) -> int:
        """The number of rows of the result."""
        return len(self._rows) if self else 0

    # -- how -----------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the join in order, each with the rows that it adds."""
        if self.found is None:
            return ()
        if self.found.lists is not None:  # the nearest rows stand for all within the distance
            (step,) = steps_of(self.found, self._keys)
            return (replace(step, right_rows=self.joined.right_joined),)
        return steps_of(self.found, self._keys)

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
        return self.joined.left_joined if self else 0

    @property
    def right_joined(self) -> int:
        """The number of right rows with a match."""
        return self.joined.right_joined if self else 0

    @property
    def matched(self) -> int:
        """The number of matching pairs of rows."""
        return self.joined.pairs if self else 0

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
    def attempt(self) -> RejectedJoin | None:
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
        return tuple(join_warnings(self)) if self else ()

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
        import_optional("pandas")
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """The result as a `polars.DataFrame`."""
        return import_optional("polars").from_arrow(self.table())

    def pairs(self, limit: int | None = None) -> pa.Table:
        """The matching pairs of rows: `left_row`, `right_row` and the index of the `step`."""
        return pair_table(self, limit)

    def examples(self, each: int = 3) -> list[Example]:
        """Some pairs of every step: the value, its rewritten form and its match."""
        return example_pairs(self, each)

    def unmatched(
        self, side: str = "left", limit: int | None = None, nearest: bool = True
    ) -> pa.Table:
        """The rows of a side without a match, each with the `nearest` value of the other side.

        The columns are `row`, `value`, `nearest` and `distance` (0 to 1; in its unit for joins by
        nearest). The last two are null if nothing is similar or the key has several columns.
        """
        return unmatched_table(self, side, limit, nearest)

    # -- code ----------------------------------------------------------------------------------

    def to_sql(
        self, left: str = "left_table", right: str = "right_table", dialect: str = "duckdb"
    ) -> str:
        """The join as one SQL query over two tables with these names.

        `dialect` is `duckdb`, or `standard` for SQL that nearly every system runs.
        """
        tables = (left, self.left), (right, self.right)
        return build_join_query(plan_join(self), *tables, dialect).statement()

    def to_pandas_code(self) -> str:
        """The join as a Python function of two pandas DataFrames."""
        return write_pandas(plan_join(self))

    def to_polars_code(self) -> str:
        """The join as a Python function of two polars DataFrames."""
        return write_polars(plan_join(self))

    def to_pyspark_code(self) -> str:
        """The join as a Python function of two Spark DataFrames, using only Spark functions."""
        return write_pyspark(plan_join(self))

    # -- display -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The join with the keys of `lakejoin join --json`."""
        return join_values(self, self.names)

    def report(self) -> Report:
        """What the join shows: its steps, with examples, and how many rows match."""
        return describe_join(self.to_dict())

    def _repr_html_(self) -> str:
        return render_html(self.report(), self.table(_ROWS_SHOWN) if self else None)

    # -- internals -----------------------------------------------------------------------------

    @cached_property
    def _keys(self) -> Keys:
        join_key = self.known
        if not self.options.one_to_one:
            return join_key.keys
        keys, rule_of = join_key.keys, join_key.rule_of
        if join_key.source_side == "left":
            return one_to_one_keys(keys, rule_of)
        once = one_to_one_keys(Keys(keys.right, keys.left, keys.count), rule_of)
        return Keys(once.right, once.left, once.count)

    @property
    def known(self) -> JoinKey:
        """What was found; raises `NoJoin` if nothing was."""
        if self.found is None:
            raise NoJoin(self.no_join)
        return self.found

    @cached_property
    def joined(self) -> JoinedTable:
        """The joined rows before aggregation."""
        how, suffix = self.options.how, self.options.suffix
        return JoinedTable(self.left, self.right, self._keys, how, suffix, self.known.lists)

    @cached_property
    def _rows(self) -> JoinedTable | AggregatedTable:
        if not self.options.aggregate:
            return self.joined
        return AggregatedTable(self.joined, self.options.aggregate)

    @property
    def pairs_before_one_to_one(self) -> int:
        """The number of pairs if every row may have several matches."""
        return JoinedTable(self.left, self.right, self.known.keys).pairs


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a join: how rows match, and the rows that it adds to earlier steps."""

    kind: str  # equal, transform, agreeing, fuzzy, meaning or nearest
    words: str  # what matches what, the left side first
    left_rows: int
    right_rows: int
    sure: float  # 0..1
    why: str
    program: Program | None = None

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | {"program": str(self.program) if self.program else None}


def steps_of(join_key: JoinKey, keys: Keys) -> tuple[Step, ...]:
    """The steps of a join whose rows finally match by these keys."""
    pairing = Pairing(keys)
    partners = pairing.partners_of_left, pairing.partners_of_right
    codes = keys.left, keys.right
    if join_key.source_side == "right":
        partners, codes = partners[::-1], codes[::-1]
    rule_of = np.where(partners[0] > 0, join_key.rule_of, NO_RULE)
    first = np.full(keys.count + 1, len(join_key.key_rules), np.int64)
    joined = rule_of >= 0
    np.minimum.at(first, codes[0][joined], rule_of[joined])
    rule_of_target = np.where(partners[1] > 0, first[codes[1]], NO_RULE)
    steps = []
    for index, rule in enumerate(join_key.key_rules):
        rows = np.count_nonzero(rule_of == index), np.count_nonzero(rule_of_target == index)
        left, right = map(int, rows if join_key.source_side == "left" else rows[::-1])
        program = rule.program if rule.kind == "transform" else None
        steps.append(Step(rule.kind, rule.words, left, right, rule.sure, rule.why, program))
    return tuple(steps)
