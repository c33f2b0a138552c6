"""Write the inner join of more than two tables as SQL, pandas, polars or PySpark code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.predicates.conditions import Comparison, ComparisonPlan, plan_comparisons
from lakejoin.codegen.dialects import DIALECTS, Dialect, DuckDBDialect, StandardDialect
from lakejoin.codegen.join_plan import comment_lines
from lakejoin.codegen.pandas import pandas_mapping_lines, pandas_integer_lines, pandas_side
from lakejoin.codegen.polars import polars_side
from lakejoin.codegen.frame_code import (
    PYSPARK_LOOKUP,
    pyspark_side,
    pyspark_name,
    pyspark_key_lines,
)
from lakejoin.codegen.join_sql import check_names
from lakejoin.codegen.standard_sql import identifier, literal

if TYPE_CHECKING:
    from lakejoin.joins.predicates.join_predicate import JoinPredicate

# -- SQL -------------------------------------------------------------------------------------------


def write_sql(predicate: JoinPredicate, names: Sequence[str] = (), dialect: str = "duckdb") -> str:
    """One SQL query over tables of these names; by default `table_1`, `table_2`, …"""
    if dialect not in DIALECTS:
        raise InputError(f"SQL is written in one of {', '.join(DIALECTS)}, not {dialect!r}")
    plan = plan_comparisons(predicate)
    sides = predicate.tables.sides
    for label, columns in zip(predicate.tables.labels, plan.columns, strict=True):
        check_names(label, columns)
    names = names or [frame_name(table) for table in range(len(sides))]
    writers: list[Dialect] = [
        DuckDBDialect() if dialect == "duckdb" else StandardDialect(plan.free, side.rows) for side in sides
    ]
    equal = {
        table: [_sql_equality(condition, writers) for condition in plan.joining(table)]
        for table in plan.order
    }
    cells = []
    for table, columns in enumerate(plan.columns):
        for name, shown in zip(columns, plan.names_of(table), strict=True):
            renamed = "" if name == shown else f" AS {identifier(shown)}"
            cells.append(f"{_alias(table)}.{identifier(name)}{renamed}")
    lines = [f"SELECT {', '.join(cells)}"]
    for table in plan.order:
        source = f"{writers[table].table(identifier(names[table]))} AS {_alias(table)}"
        on = "\n  AND ".join(equal[table])
        lines.append(f"JOIN {source}\n  ON {on}" if on else f"FROM {source}")
    notes = [*plan.comments, *(text for writer in writers for text in writer.comments)]
    return "\n".join([*comment_lines(notes, "--"), *lines]) + ";"


def _sql_equality(condition: Comparison, writers: Sequence[Dialect]) -> str:
    tables = (condition.earlier, condition.later)
    return " = ".join(_sql_cell(condition, table, writers[table]) for table in tables)


def _sql_cell(condition: Comparison, table: int, writer: Dialect) -> str:
    side = condition.side(table)
    cell = writer.cell(side, condition.part, _alias(table))
    if not side.respelt:
        return cell
    whens = (
        f"WHEN {literal(text)} THEN {'NULL' if key is None else literal(key)}"
        for text, key in side.respelt.items()
    )
    return f"CASE {cell} {' '.join(whens)} ELSE {cell} END"


def _alias(table: int) -> str:
    return f"t{table + 1}"


# -- Python ----------------------------------------------------------------------------------------


def frame_name(table: int) -> str:
    """The name of a table's variable, and its name in SQL."""
    return f"table_{table + 1}"


def _head(plan: ComparisonPlan, imported: str) -> list[str]:
    frames = ", ".join(frame_name(table) for table in range(len(plan.columns)))
    return [*comment_lines(plan.comments), f"{imported}\n\n\ndef join({frames}):"]


def write_pandas(predicate: JoinPredicate) -> str:
    """A Python function of pandas DataFrames."""
    plan = plan_comparisons(predicate)
    lines = _head(plan, "import pandas as pd")
    for table in range(len(plan.columns)):
        frame, keys = frame_name(table), []
        for condition in plan.of(table):
            side, number = condition.side(table), condition.number
            name = f"key_{number}_{table + 1}"
            lines += [*pandas_integer_lines(side, frame), f"    {name} = {pandas_side(side, condition.part, frame)}"]
            lines += pandas_mapping_lines(name, side) if side.respelt else []
            keys.append(f'"key_{number}": {name}.array')
        made = f'{{"row_{table + 1}": range(len({frame})), {", ".join(keys)}}}'
        lines.append(f"    rows_{table + 1} = pd.DataFrame({made}).dropna()")
    lines.append(f"    rows = rows_{plan.order[0] + 1}")
    for table in plan.order[1:]:
        on = [f"key_{condition.number}" for condition in plan.joining(table)]
        # Keys that are not compared yet stay with the rows.
        lines.append(f"    rows = rows.merge(rows_{table + 1}, on={on!r})")
    numbers = [f"row_{table + 1}" for table in range(len(plan.columns))]
    frames = ", ".join(frame_name(table) for table in range(len(plan.columns)))
    lines += [
        f"    rows = rows.sort_values({numbers!r})",
        f"    tables = zip([{frames}], {numbers!r})",
        "    parts = [table.iloc[rows[row]].reset_index(drop=True) for table, row in tables]",
        "    joined = pd.concat(parts, axis=1)",
        f"    joined.columns = {list(plan.names)!r}",
        "    return joined",
    ]
    return "\n".join(lines) + "\n"


def write_polars(predicate: JoinPredicate) -> str:
    """A Python function of polars DataFrames."""
    plan = plan_comparisons(predicate)
    lines = _head(plan, "import polars as pl")
    for table, columns in enumerate(plan.columns):
        frame = frame_name(table)
        lines.append(f"    {frame} = {frame}.with_columns(")
        for condition in plan.of(table):
            key, cell = _key(plan, condition), polars_side(condition.side(table), condition.part)
            lines.append(f"        ({cell}).alias({key!r}),")
        lines.append("    )")
        shown = zip(columns, plan.names_of(table), strict=True)
        renamed = {name: new for name, new in shown if name != new}
        lines += [f"    {frame} = {frame}.rename({renamed!r})"] if renamed else []
    lines.append(f"    joined = {frame_name(plan.order[0])}")
    for table in plan.order[1:]:
        on = [_key(plan, condition) for condition in plan.joining(table)]
        lines.append(f"    joined = joined.join({frame_name(table)}, on={on!r}, how='inner')")
    return "\n".join([*lines, f"    return joined.select({list(plan.names)!r})"]) + "\n"


def write_pyspark(predicate: JoinPredicate) -> str:
    """A Python function of Spark DataFrames, without Python UDFs."""
    plan = plan_comparisons(predicate)
    lines = _head(plan, "from pyspark.sql import functions as F")
    has_lists = any(c.side(table).respelt for c in plan.all for table in (c.earlier, c.later))
    lines += [PYSPARK_LOOKUP] if has_lists else []
    for table, columns in enumerate(plan.columns):
        frame = frame_name(table)
        for condition in plan.of(table):
            side, key = condition.side(table), _key(plan, condition, table)
            lines += pyspark_key_lines(frame, key, pyspark_side(side, condition.part), side)
        keys = [_key(plan, condition, table) for condition in plan.of(table)]
        selected = ", ".join(f"F.col({pyspark_name(name)!r})" for name in (*columns, *keys))
        names = [*plan.names_of(table), *keys]
        lines.append(f"    {frame} = {frame}.select({selected}).toDF(*{names!r})")
    lines.append(f"    joined = {frame_name(plan.order[0])}")
    for table in plan.order[1:]:
        equal = " & ".join(
            f"(F.col({_key(plan, c, c.earlier)!r}) == F.col({_key(plan, c, c.later)!r}))"
            for c in plan.joining(table)
        )
        lines.append(f"    joined = joined.join({frame_name(table)}, {equal}, 'inner')")
    dropped = ", ".join(
        repr(_key(plan, c, table)) for c in plan.all for table in (c.earlier, c.later)
    )
    return "\n".join([*lines, f"    return joined.drop({dropped})"]) + "\n"


def _key(plan: ComparisonPlan, condition: Comparison, table: int | None = None) -> str:
    """The name of a comparison's key column, for both tables or for one of them."""
    suffix = "" if table is None else f"_{table + 1}"
    return plan.free(f"lakejoin_key_{condition.number}{suffix}")
