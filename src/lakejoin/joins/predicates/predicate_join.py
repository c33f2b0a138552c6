"""The inner join of a predicate: its rows, batch by batch, the names of its tables and columns,
and, for more than two tables, its code in SQL, pandas, polars or PySpark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.codegen.frame_code import write_pandas, write_polars, write_pyspark
from lakejoin.codegen.join_plan import ComparedSide, JoinPlan, PlanPart
from lakejoin.codegen.join_sql import check_names, select_columns
from lakejoin.codegen.programs import identity
from lakejoin.codegen.sql_query import SqlQuery, replace_texts
from lakejoin.codegen.sql_writers import make_writers
from lakejoin.joins.code_plan import plan_column_pair
from lakejoin.joins.joined_table import result_names
from lakejoin.joins.predicates.coded_tables import CodedTables
from lakejoin.joins.predicates.predicate_finder import ColumnRef, Pair
from lakejoin.joins.row_keys import Keys, Pairing, combine_keys
from lakejoin.model import Array
from lakejoin.quoting import comment_lines, quote_backticks
from lakejoin.values.column_names import make_names_unique

if TYPE_CHECKING:
    from lakejoin.joins.predicates.join_predicate import JoinPredicate

BATCH = 1 << 18


def join_rows(coded: CodedTables, pairs: Sequence[Pair]) -> Iterator[list[Array]]:
    """Yield the inner join of a predicate in batches of row indices, one array per table.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.predicates.coded_tables import encode_tables
    >>> coded = encode_tables([pa.table({"a": [1, 2, 3]}), pa.table({"b": [3, 3, 1]})])
    >>> [[rows.tolist() for rows in batch] for batch in join_rows(coded, [((0, "a"), (1, "b"))])]
    [[[0, 2, 2], [2, 0, 1]]]
    """
    order = join_order(len(coded.tables), pairs)
    for rows in _extend_rows(coded, [np.arange(coded.tables[order[0]].rows)], order, pairs):
        yield [rows[order.index(table)] for table in range(len(order))]


def join_order(tables: int, pairs: Sequence[Pair]) -> list[int]:
    """An order of the tables in which each has a pair with an earlier one.

    >>> join_order(3, [((0, "a"), (2, "b")), ((1, "c"), (2, "d"))])
    [0, 2, 1]
    """
    order = [0]
    while len(order) < tables:
        linked = {new for pair in pairs for (new, _), (old, _) in _both(pair) if old in order}
        order.append(min(linked - set(order)))
    return order


def _both(pair: Pair) -> tuple[Pair, Pair]:
    return pair, (pair[1], pair[0])


def _extend_rows(
    coded: CodedTables, joined: list[Array], order: Sequence[int], pairs: Sequence[Pair]
) -> Iterator[list[Array]]:
    """Join these rows of the first tables in the order with all further tables."""
    if len(joined) == len(order):
        yield joined
        return
    before, table = order[: len(joined)], order[len(joined)]
    linking = [
        Keys(_codes(coded, old)[joined[before.index(old[0])]], _codes(coded, new), coded.count)
        for new, old in (ends for pair in pairs for ends in _both(pair))
        if new[0] == table and old[0] in before
    ]
    pairing = Pairing(reduce(combine_keys, linking))
    for begin in range(0, len(pairing), BATCH):
        rows, partners = pairing.rows(begin, begin + BATCH)
        yield from _extend_rows(
            coded, [*(indices[rows] for indices in joined), partners], order, pairs
        )


def _codes(coded: CodedTables, column: ColumnRef) -> Array:
    table = coded.tables[column[0]]
    return np.asarray(table.codes[table.columns.index(column[1])], np.int64)


def name_joined_columns(columns: Sequence[Sequence[str]]) -> list[str]:
    """The column names of the result; with more than two tables, a repeated name gets the number of
    its table as a suffix.

    >>> name_joined_columns([["id", "a"], ["id", "b"], ["id", "a"]])
    ['id', 'a', 'id_2', 'b', 'id_3', 'a_3']
    >>> name_joined_columns([["id"], ["id"]])
    ['id', 'id_right']
    """
    if len(columns) == 2:
        return result_names(columns[0], columns[1])
    names: list[str] = []
    for number, table_columns in enumerate(columns, start=1):
        names = result_names(names, table_columns, f"_{number}")
    return names


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

    def cell(side: ComparedSide, part: PlanPart, table: int) -> str:
        text = writers[table].cell(side, part, aliases[table])
        return replace_texts(text, side.respelt, text) if side.respelt else text

    def equality(condition: Comparison) -> str:
        part = condition.part
        source = cell(part.sources[0], part, condition.earlier)
        return f"{source} = {cell(part.key, part, condition.later)}"

    equal = {table: list(map(equality, plan.joining(table))) for table in plan.order}
    shown = (
        select_columns(aliases[table], columns, plan.names_of(table))
        for table, columns in enumerate(plan.columns)
    )
    joined = [writers[table].joined(aliases[table], equal[table]) for table in plan.order]
    notes = [*plan.comments, *(text for writer in writers for text in writer.comments)]
    return SqlQuery([*chain.from_iterable(shown)], joined, comments=notes).statement()


# -- Python ----------------------------------------------------------------------------------------


# How each library's join of two frames is written, and how all columns are selected in order.
_LIBRARIES: dict[str, tuple[Callable[[JoinPlan, str], str], str]] = {
    "pandas": (write_pandas, "joined[{names}]"),
    "polars": (write_polars, "joined.select({names})"),
    "pyspark": (write_pyspark, "joined.select({quoted}).toDF(*{names})"),
}


def write_chain(predicate: JoinPredicate, library: str) -> str:
    """A Python function for the join with each further frame, and one that calls them in turn."""
    write_join, select = _LIBRARIES[library]
    plan = plan_comparisons(predicate)
    names = list(plan.names)
    if library == "pyspark":  # ignores case: until the end, no two names differ only in it
        plan = replace(plan, names=tuple(make_names_unique(names, alike=str.lower)))
    functions, calls = [], [f"    joined = {plan.frames[plan.order[0]]}"]
    for table, step in zip(plan.order[1:], _join_steps(plan), strict=True):
        name = f"join_{plan.frames[table]}"
        imported, function = write_join(step, name).split("\n\n\n", 1)
        functions.append(function)
        calls.append(f"    joined = {name}(joined, {plan.frames[table]})")
    selected = select.format(names=names, quoted=list(map(quote_backticks, plan.names)))
    head = "\n".join([*comment_lines(plan.comments), imported])
    last = [f"def join({', '.join(plan.frames)}):", *calls, f"    return {selected}"]
    return "\n\n\n".join([head, *map(str.rstrip, functions), "\n".join(last)]) + "\n"


def _join_steps(plan: ComparisonPlan) -> Iterator[JoinPlan]:
    """The join of all earlier tables, whose columns have their names in the result, with the next
    table."""
    before = plan.columns[plan.order[0]]
    for table in plan.order[1:]:
        parts = tuple(
            replace(condition.part, sources=(plan.final_source(condition),))
            for condition in plan.joining(table)
        )
        names = (*before, *plan.names_of(table))
        yield JoinPlan("left", "inner", parts, before, plan.columns[table], names, ())
        before = names


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two tables, by index: a source of the earlier one with a key of the later."""

    earlier: int
    later: int
    part: PlanPart


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
        """The names of the tables' variables, and their names in SQL."""
        return [f"table_{number}" for number in range(1, len(self.columns) + 1)]

    def joining(self, table: int) -> list[Comparison]:
        """The comparisons that join a table with earlier ones."""
        return [condition for condition in self.comparisons if condition.later == table]

    def names_of(self, table: int) -> tuple[str, ...]:
        begin = sum(map(len, self.columns[:table]))
        return self.names[begin : begin + len(self.columns[table])]

    def final_source(self, condition: Comparison) -> ComparedSide:
        """The source of a comparison, with the name that its column has in the result."""
        (side,) = condition.part.sources
        (column,) = side.program.columns
        named = dict(
            zip(self.columns[condition.earlier], self.names_of(condition.earlier), strict=True)
        )
        cast, whole = (
            frozenset(named[name] for name in names) for names in (side.cast, side.whole)
        )
        return replace(side, program=identity(named[column]), cast=cast, whole=whole)

    def free(self, name: str) -> str:
        """The name, with underscores appended until no column has it in any case."""
        taken = chain(*self.columns, self.names)
        return make_names_unique([name], taken, str.lower)[0]


def plan_comparisons(predicate: JoinPredicate) -> ComparisonPlan:
    tables = predicate.tables
    rows = [side.rows for side in tables.sides]
    order = join_order(len(rows), predicate.found.pairs)
    comments = [
        f"inner join of {len(rows)} tables, written by lakejoin: {predicate.facts.inner:,} rows",
        *(f"table {n}: {label}" for n, label in enumerate(tables.labels, start=1)),
        predicate.words,
    ]
    conditions = []
    for (left, left_name), (right, right_name) in needed_pairs(predicate.found.pairs, order):
        part = plan_column_pair(
            rows[left], rows[right], (left_name, right_name), tables.options.rules, comments
        )
        conditions.append(Comparison(left, right, part))
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
