"""What must code compare to join more than two tables? Pair by pair, table after table.

Columns that are equal to each other need one comparison less than they are: of all pairs of a
predicate those are kept that are not implied by others. Every comparison is between two tables, and
is made where the later of them is joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.joins.predicates.names import joined_names
from lakejoin.joins.predicates.rows import order_of
from lakejoin.joins.written.plan import Compared, Part, part_of_pair

if TYPE_CHECKING:
    from lakejoin.joins.predicates.described import JoinPredicate
    from lakejoin.joins.predicates.finding import ColumnRef, Pair


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two tables: `number` counts from 1, the tables from 0."""

    number: int
    earlier: int
    later: int
    part: Part

    def side(self, table: int) -> Compared:
        """What is compared of one of the two tables."""
        return self.part.ways[0] if table == self.earlier else self.part.key


@dataclass(frozen=True, slots=True)
class Conditions:
    """All that code has to say: the tables in their order, and what is compared."""

    order: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]  # of the result
    all: tuple[Condition, ...]
    comments: tuple[str, ...]

    def of(self, table: int) -> list[Condition]:
        """Those that a table takes part in."""
        return [one for one in self.all if table in (one.earlier, one.later)]

    def joining(self, table: int) -> list[Condition]:
        """Those by which it is joined with the tables before."""
        return [one for one in self.all if one.later == table]

    def names_of(self, table: int) -> tuple[str, ...]:
        """How its columns are called in the result."""
        begin = sum(map(len, self.columns[:table]))
        return self.names[begin : begin + len(self.columns[table])]

    def free(self, name: str) -> str:
        """The name, or one like it that no column has, whatever its case."""
        taken = {one.lower() for several in (*self.columns, self.names) for one in several}
        while name.lower() in taken:
            name += "_"
        return name


def conditions_of(predicate: JoinPredicate) -> Conditions:
    """What code has to say to make the inner join of a predicate."""
    tables = predicate.tables
    rows = [side.rows for side in tables.sides]
    order = order_of(len(rows), predicate.found.pairs)
    comments = [
        f"inner join of {len(rows)} tables, written by lakejoin: {predicate.facts.inner:,} rows",
        *(f"table {n}: {label}" for n, label in enumerate(tables.labels, start=1)),
        predicate.words,
    ]
    conditions = []
    for number, (one, other) in enumerate(needed_pairs(predicate.found.pairs, order), start=1):
        part = part_of_pair(
            rows[one[0]], rows[other[0]], (one[1], other[1]), tables.options.rules, comments
        )
        conditions.append(Condition(number, one[0], other[0], part))
    columns = tuple(tuple(table.column_names) for table in rows)
    names = tuple(joined_names(columns))
    told = tuple(dict.fromkeys(comments))
    return Conditions(tuple(order), columns, names, tuple(conditions), told)


def needed_pairs(pairs: Sequence[Pair], order: Sequence[int]) -> list[Pair]:
    """The pairs that are not implied by others, each with the earlier table first.

    >>> a, b, c = (0, "a"), (1, "b"), (2, "c")
    >>> needed_pairs([(a, b), (a, c), (b, c)], [0, 1, 2])
    [((0, 'a'), (1, 'b')), ((0, 'a'), (2, 'c'))]
    """
    place = {table: at for at, table in enumerate(order)}
    turned = [tuple(sorted(pair, key=lambda ref: place[ref[0]])) for pair in pairs]
    turned.sort(key=lambda pair: (place[pair[1][0]], place[pair[0][0]]))
    known: dict[ColumnRef, ColumnRef] = {}

    def root(ref: ColumnRef) -> ColumnRef:
        while known.setdefault(ref, ref) != ref:
            ref = known[ref]
        return ref

    needed = []
    for one, other in turned:
        if root(one) != root(other):
            known[root(other)] = root(one)
            needed.append((one, other))
    return needed
