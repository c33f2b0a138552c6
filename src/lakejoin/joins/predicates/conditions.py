"""The comparisons that code must make to join more than two tables.

Of all pairs of a predicate, only those that others do not imply are compared. Every comparison is
between two tables, and is made when the later of them is joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.joins.predicates.names import joined_column_names
from lakejoin.joins.predicates.predicate_rows import join_order
from lakejoin.codegen.join_plan import ComparedSide, PlanPart
from lakejoin.joins.code_plan import plan_column_pair

if TYPE_CHECKING:
    from lakejoin.joins.predicates.join_predicate import JoinPredicate
    from lakejoin.joins.predicates.finding import ColumnRef, Pair


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two tables; `number` counts from 1, the tables from 0."""

    number: int
    earlier: int
    later: int
    part: PlanPart

    def side(self, table: int) -> ComparedSide:
        """The side of the comparison that belongs to a table."""
        return self.part.ways[0] if table == self.earlier else self.part.key


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """The plan of the code: the tables in join order, and the comparisons."""

    order: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]  # of the result
    all: tuple[Comparison, ...]
    comments: tuple[str, ...]

    def of(self, table: int) -> list[Comparison]:
        """The comparisons that involve a table."""
        return [c for c in self.all if table in (c.earlier, c.later)]

    def joining(self, table: int) -> list[Comparison]:
        """The comparisons that join a table with earlier ones."""
        return [condition for condition in self.all if condition.later == table]

    def names_of(self, table: int) -> tuple[str, ...]:
        """The names of a table's columns in the result."""
        begin = sum(map(len, self.columns[:table]))
        return self.names[begin : begin + len(self.columns[table])]

    def free(self, name: str) -> str:
        """The name, with underscores appended until no column has it in any case."""
        taken = {column.lower() for names in (*self.columns, self.names) for column in names}
        while name.lower() in taken:
            name += "_"
        return name


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
    names = tuple(joined_column_names(columns))
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
