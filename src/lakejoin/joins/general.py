"""Plan the code of a join that was found on samples and runs on the whole tables.

The exceptions that `plan` lists are those of rows that were read. Other rows have no list: the code
computes canonical values itself, as far as Spark functions can.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.joins.joined_table import result_names
from lakejoin.codegen.join_plan import ComparedSide, PlanPart, JoinPlan
from lakejoin.joins.code_plan import plan_join
from lakejoin.values.nulls import LETTER_NULLS, SIGN_NULLS, SURE_NULLS
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join

Columns = dict[str, bool]  # by name: is it text?

_DISTINCT = 100_000  # texts to detect null words from


def plan_sampled_join(join: Join, left: Columns, right: Columns) -> JoinPlan:
    """The plan of a join found on samples, for the whole tables with these columns."""
    plan = plan_join(join)
    source, target = (join.left, left), (join.right, right)
    if plan.source_side == "right":
        source, target = target, source
    parts = tuple(part if part.typed else _general(part, source, target) for part in plan.parts)
    # Spark ignores the case of column names.
    names = result_names(list(left), list(right), join.options.suffix, str.lower)
    return replace(
        plan, parts=parts, left=tuple(left), right=tuple(right), names=tuple(names), comments=()
    )


def _general(
    part: PlanPart, source: tuple[pa.Table, Columns], target: tuple[pa.Table, Columns]
) -> PlanPart:
    ways = tuple(_compared(way, *source) for way in part.ways)
    return replace(part, key=_compared(part.key, *target), ways=ways)


def _compared(side: ComparedSide, sample: pa.Table, columns: Columns) -> ComparedSide:
    cast = frozenset(name for name in side.program.columns if not columns[name])
    return ComparedSide(
        side.program, cast, frozenset(), {}, nulls=null_words(apply_program(side.program, sample))
    )


def null_words(texts: pa.Array) -> tuple[str, ...]:
    """The words that count as null among these texts, in the case in which they occur."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakejoin.values.canonical_values import canonicalise

    spellings = {word: {word, word.upper(), word.title()} for word in (*LETTER_NULLS, *SIGN_NULLS)}
    every = pa.array(sorted(set().union(*spellings.values())), pa.large_string())
    distinct = texts.drop_null().unique().slice(0, _DISTINCT).cast(pa.large_string())
    column = pa.concat_arrays([distinct, every]).unique()
    null = canonicalise(column, np.ones(len(column), np.int64), ValueRules()).null
    nulls = set(column.filter(pa.array(null)).to_pylist())
    seen = set(distinct.filter(pc.is_in(distinct, value_set=every)).to_pylist())
    sure = [w for w, written in spellings.items() if (written & seen or written) <= nulls]
    return ("", *SURE_NULLS, *sure)
