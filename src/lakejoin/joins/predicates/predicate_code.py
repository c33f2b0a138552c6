"""Write the inner join of more than two tables as SQL, pandas, polars or PySpark code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from lakejoin.codegen.frame_code import (
    PANDAS_IMPORT,
    POLARS_IMPORT,
    PYSPARK_IMPORT,
    PYSPARK_LOOKUP,
    function_head,
    pandas_integer_lines,
    pandas_mapping_lines,
    pandas_side,
    polars_side,
    pyspark_key_lines,
    pyspark_side,
)
from lakejoin.codegen.join_plan import ComparedSide, PlanPart
from lakejoin.codegen.join_sql import check_names, make_writers, select_columns
from lakejoin.codegen.sql_query import SqlQuery, replace_texts
from lakejoin.joins.code_plan import plan_column_pair
from lakejoin.joins.predicates.predicate_rows import join_order, name_joined_columns
from lakejoin.quoting import quote_backticks
from lakejoin.values.column_names import make_names_unique

if TYPE_CHECKING:
    from lakejoin.joins.predicates.join_predicate import JoinPredicate
    from lakejoin.joins.predicates.predicate_finder import ColumnRef, Pair


# -- SQL -------------------------------------------------------------------------------------------


def write_sql(predicate: JoinPredicate, names: Sequence[str] = (), dialect: str = "duckdb") -> str:
    """One SQL query over tables of these names; by default `table_1`, `table_2`, …"""
    plan = plan_comparisons(predicate)
    for label, columns in zip(predicate.tables.labels, plan.columns, strict=True):
        check_names(label, columns)
    rows = [side.rows for side in predicate.tables.sides]
    tables = list(zip(names or plan.frames, rows, strict=True))
    writers = make_writers(dialect, tables, plan.free)
    aliases = [f"t{table + 1}" for table in range(len(tables))]

    def cell(condition: Comparison, table: int) -> str:
        side = condition.side(table)
        text = writers[table].cell(side, condition.part, aliases[table])
        return replace_texts(text, side.respelt, text) if side.respelt else text

    equal = {
        table: [f"{cell(c, c.earlier)} = {cell(c, c.later)}" for c in plan.joining(table)]
        for table in plan.order
    }
    shown = (
        select_columns(aliases[table], columns, plan.names_of(table))
        for table, columns in enumerate(plan.columns)
    )
    joined = [writers[table].joined(aliases[table], equal[table]) for table in plan.order]
    notes = [*plan.comments, *(text for writer in writers for text in writer.comments)]
    return SqlQuery([*chain.from_iterable(shown)], joined, comments=notes).statement()


# -- Python ----------------------------------------------------------------------------------------


def frame_name(table: int) -> str:
    """The name of a table's variable, and its name in SQL."""
    return f"table_{table + 1}"


def write_pandas(predicate: JoinPredicate) -> str:
    """A Python function of pandas DataFrames."""
    plan = plan_comparisons(predicate)
    lines = function_head(plan.comments, PANDAS_IMPORT, plan.frames)
    for table in range(len(plan.columns)):
        frame, keys = frame_name(table), []
        for condition in plan.involving(table):
            side, number = condition.side(table), condition.number
            name = f"key_{number}_{table + 1}"
            lines += [
                *pandas_integer_lines(side, frame),
                f"    {name} = {pandas_side(side, condition.part, frame)}",
            ]
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
    lines += [
        f"    rows = rows.sort_values({numbers!r})",
        f"    tables = zip([{', '.join(plan.frames)}], {numbers!r})",
        "    parts = [table.iloc[rows[row]].reset_index(drop=True) for table, row in tables]",
        "    joined = pd.concat(parts, axis=1)",
        f"    joined.columns = {list(plan.names)!r}",
        "    return joined",
    ]
    return "\n".join(lines) + "\n"


def write_polars(predicate: JoinPredicate) -> str:
    """A Python function of polars DataFrames."""
    plan = plan_comparisons(predicate)
    lines = function_head(plan.comments, POLARS_IMPORT, plan.frames)
    for table, columns in enumerate(plan.columns):
        frame = frame_name(table)
        lines.append(f"    {frame} = {frame}.with_columns(")
        for condition in plan.involving(table):
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
    lines = function_head(plan.comments, PYSPARK_IMPORT, plan.frames)
    has_lists = any(
        c.side(table).respelt for c in plan.comparisons for table in (c.earlier, c.later)
    )
    lines += [PYSPARK_LOOKUP] if has_lists else []
    for table, columns in enumerate(plan.columns):
        frame = frame_name(table)
        for condition in plan.involving(table):
            side, key = condition.side(table), _key(plan, condition, table)
            lines += pyspark_key_lines(frame, key, pyspark_side(side, condition.part), side)
        keys = [_key(plan, condition, table) for condition in plan.involving(table)]
        selected = ", ".join(f"F.col({quote_backticks(name)!r})" for name in (*columns, *keys))
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
        repr(_key(plan, c, table)) for c in plan.comparisons for table in (c.earlier, c.later)
    )
    return "\n".join([*lines, f"    return joined.drop({dropped})"]) + "\n"


def _key(plan: ComparisonPlan, condition: Comparison, table: int | None = None) -> str:
    """The name of a comparison's key column, for both tables or for one of them."""
    suffix = "" if table is None else f"_{table + 1}"
    return plan.free(f"lakejoin_key_{condition.number}{suffix}")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two tables; `number` counts from 1, the tables from 0."""

    number: int
    earlier: int
    later: int
    part: PlanPart

    def side(self, table: int) -> ComparedSide:
        """The side of the comparison that belongs to a table."""
        return self.part.sources[0] if table == self.earlier else self.part.key


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """The plan of the code: the tables in join order, and the comparisons."""

    order: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]  # of the result
    comparisons: tuple[Comparison, ...]
    comments: tuple[str, ...]

    @property
    def frames(self) -> list[str]:
        """The names of the tables' variables."""
        return [frame_name(table) for table in range(len(self.columns))]

    def involving(self, table: int) -> list[Comparison]:
        """The comparisons that involve a table."""
        return [c for c in self.comparisons if table in (c.earlier, c.later)]

    def joining(self, table: int) -> list[Comparison]:
        """The comparisons that join a table with earlier ones."""
        return [condition for condition in self.comparisons if condition.later == table]

    def names_of(self, table: int) -> tuple[str, ...]:
        """The names of a table's columns in the result."""
        begin = sum(map(len, self.columns[:table]))
        return self.names[begin : begin + len(self.columns[table])]

    def free(self, name: str) -> str:
        """The name, with underscores appended until no column has it in any case."""
        taken = chain(*self.columns, self.names)
        return make_names_unique([name], taken, str.lower)[0]


def plan_comparisons(predicate: JoinPredicate) -> ComparisonPlan:
    """Plan the code for the inner join of a predicate."""
    tables = predicate.tables
    rows = [side.rows for side in tables.sides]
    order = join_order(len(rows), predicate.found.pairs)
    comments = [
        f"inner join of {len(rows)} tables, written by lakejoin: {predicate.facts.inner:,} rows",
        *(f"table {n}: {label}" for n, label in enumerate(tables.labels, start=1)),
        predicate.words,
    ]
    conditions = []
    pairs = needed_pairs(predicate.found.pairs, order)
    for number, ((left, left_name), (right, right_name)) in enumerate(pairs, start=1):
        part = plan_column_pair(
            rows[left], rows[right], (left_name, right_name), tables.options.rules, comments
        )
        conditions.append(Comparison(number, left, right, part))
    columns = tuple(tuple(table.column_names) for table in rows)
    names = tuple(name_joined_columns(columns))
    unique_comments = tuple(dict.fromkeys(comments))
    return ComparisonPlan(tuple(order), columns, names, tuple(conditions), unique_comments)


def needed_pairs(pairs: Sequence[Pair], order: Sequence[int]) -> list[Pair]:
    """The pairs that others do not imply, each with the earlier table first.

    >>> a, b, c = (0, "a"), (1, "b"), (2, "c")
    >>> needed_pairs([(a, b), (a, c), (b, c)], [0, 1, 2])
    [((0, 'a'), (1, 'b')), ((0, 'a'), (2, 'c'))]
    """
    rank = {table: at for at, table in enumerate(order)}
    ordered = [tuple(sorted(pair, key=lambda ref: rank[ref[0]])) for pair in pairs]
    ordered.sort(key=lambda pair: (rank[pair[1][0]], rank[pair[0][0]]))
    known: dict[ColumnRef, ColumnRef] = {}

    def root(ref: ColumnRef) -> ColumnRef:
        while known.setdefault(ref, ref) != ref:
            ref = known[ref]
        return ref

    needed = []
    for left, right in ordered:
        if root(left) != root(right):
            known[root(right)] = root(left)
            needed.append((left, right))
    return needed
