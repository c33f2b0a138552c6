"""The inner join of more than two tables as code to take away: SQL, pandas, polars, PySpark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.predicates.conditions import Condition, Conditions, conditions_of
from lakejoin.joins.written.dialects import DIALECTS, Dialect, DuckDB, Standard
from lakejoin.joins.written.lines import comments
from lakejoin.joins.written.pandas import mapped, printed, text_of
from lakejoin.joins.written.polars import expression
from lakejoin.joins.written.pyspark import LOOK_UP, column_of, quoted, with_key
from lakejoin.joins.written.sql import check_names
from lakejoin.joins.written.standard import identifier, literal

if TYPE_CHECKING:
    from lakejoin.joins.predicates.described import JoinPredicate

# -- SQL -------------------------------------------------------------------------------------------


def sql_of(predicate: JoinPredicate, names: Sequence[str] = (), dialect: str = "duckdb") -> str:
    """One query over tables of these names; left out, they are `table_1`, `table_2`, …"""
    if dialect not in DIALECTS:
        raise InputError(f"SQL is written in one of {', '.join(DIALECTS)}, not {dialect!r}")
    plan = conditions_of(predicate)
    sides = predicate.tables.sides
    for label, columns in zip(predicate.tables.labels, plan.columns, strict=True):
        check_names(label, columns)
    names = names or [frame_name(table) for table in range(len(sides))]
    writers: list[Dialect] = [
        DuckDB() if dialect == "duckdb" else Standard(plan.free, side.rows) for side in sides
    ]
    equal = {
        table: [_sql_equality(one, writers) for one in plan.joining(table)] for table in plan.order
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
    told = [*plan.comments, *(text for writer in writers for text in writer.comments)]
    return "\n".join([*comments(told, "--"), *lines]) + ";"


def _sql_equality(one: Condition, writers: Sequence[Dialect]) -> str:
    return " = ".join(_sql_cell(one, table, writers[table]) for table in (one.earlier, one.later))


def _sql_cell(one: Condition, table: int, writer: Dialect) -> str:
    side = one.side(table)
    cell = writer.cell(side, one.part, _alias(table))
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
    """The variable, or the name in SQL, of a table."""
    return f"table_{table + 1}"


def _head(plan: Conditions, imported: str) -> list[str]:
    frames = ", ".join(frame_name(table) for table in range(len(plan.columns)))
    return [*comments(plan.comments), f"{imported}\n\n\ndef join({frames}):"]


def pandas_of(predicate: JoinPredicate) -> str:
    """A function of pandas DataFrames."""
    plan = conditions_of(predicate)
    lines = _head(plan, "import pandas as pd")
    for table in range(len(plan.columns)):
        frame, keys = frame_name(table), []
        for one in plan.of(table):
            side, name = one.side(table), f"key_{one.number}_{table + 1}"
            lines += [*printed(side, frame), f"    {name} = {text_of(side, one.part, frame)}"]
            lines += mapped(name, side) if side.respelt else []
            keys.append(f'"key_{one.number}": {name}.array')
        made = f'{{"row_{table + 1}": range(len({frame})), {", ".join(keys)}}}'
        lines.append(f"    rows_{table + 1} = pd.DataFrame({made}).dropna()")
    lines.append(f"    rows = rows_{plan.order[0] + 1}")
    for table in plan.order[1:]:
        on = [f"key_{one.number}" for one in plan.joining(table)]
        # Keys that are not yet compared stay with the rows.
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


def polars_of(predicate: JoinPredicate) -> str:
    """A function of polars DataFrames."""
    plan = conditions_of(predicate)
    lines = _head(plan, "import polars as pl")
    for table, columns in enumerate(plan.columns):
        frame = frame_name(table)
        lines.append(f"    {frame} = {frame}.with_columns(")
        for one in plan.of(table):
            key = _key(plan, one)
            lines.append(f"        ({expression(one.side(table), one.part)}).alias({key!r}),")
        lines.append("    )")
        shown = zip(columns, plan.names_of(table), strict=True)
        renamed = {name: new for name, new in shown if name != new}
        lines += [f"    {frame} = {frame}.rename({renamed!r})"] if renamed else []
    lines.append(f"    joined = {frame_name(plan.order[0])}")
    for table in plan.order[1:]:
        on = [_key(plan, one) for one in plan.joining(table)]
        lines.append(f"    joined = joined.join({frame_name(table)}, on={on!r}, how='inner')")
    return "\n".join([*lines, f"    return joined.select({list(plan.names)!r})"]) + "\n"


def pyspark_of(predicate: JoinPredicate) -> str:
    """A function of Spark DataFrames; no Python runs in it."""
    plan = conditions_of(predicate)
    lines = _head(plan, "from pyspark.sql import functions as F")
    lists = any(one.side(table).respelt for one in plan.all for table in (one.earlier, one.later))
    lines += [LOOK_UP] if lists else []
    for table, columns in enumerate(plan.columns):
        frame = frame_name(table)
        for one in plan.of(table):
            side = one.side(table)
            lines += with_key(frame, _key(plan, one, table), column_of(side, one.part), side)
        keys = [_key(plan, one, table) for one in plan.of(table)]
        kept = ", ".join(f"F.col({quoted(name)!r})" for name in (*columns, *keys))
        names = [*plan.names_of(table), *keys]
        lines.append(f"    {frame} = {frame}.select({kept}).toDF(*{names!r})")
    lines.append(f"    joined = {frame_name(plan.order[0])}")
    for table in plan.order[1:]:
        equal = " & ".join(
            f"(F.col({_key(plan, one, one.earlier)!r}) == F.col({_key(plan, one, one.later)!r}))"
            for one in plan.joining(table)
        )
        lines.append(f"    joined = joined.join({frame_name(table)}, {equal}, 'inner')")
    dropped = ", ".join(
        repr(_key(plan, one, table)) for one in plan.all for table in (one.earlier, one.later)
    )
    return "\n".join([*lines, f"    return joined.drop({dropped})"]) + "\n"


def _key(plan: Conditions, one: Condition, table: int | None = None) -> str:
    """The name of the column of a comparison, the same in both tables or of one of them."""
    own = "" if table is None else f"_{table + 1}"
    return plan.free(f"lakejoin_key_{one.number}{own}")
