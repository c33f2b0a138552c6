"""Brute force for join predicates: every subset of the pairs of columns, joined row by row.

A table is a list of rows of canonical values, None for nulls, and how many columns it has. A
predicate is a set of pairs of columns of different tables, and what it joins are the combinations
of one row of each table in which all its pairs are equal. Only the numbering of these combinations
is not naive: a set of them is one integer, a bit for each, so that thousands of joins can be
compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import pyarrow as pa

from oracle.values import column

Column = tuple[int, int]  # table, place in it
Pair = tuple[Column, Column]
Pairs = frozenset[Pair]
Ranked = tuple[float, int, int]


@dataclass(frozen=True)
class Rows:
    """A table: rows of canonical values."""

    width: int
    rows: Sequence[Sequence[str | None]]

    @classmethod
    def of(cls, table: pa.Table, exact: bool = False) -> Rows:
        """From a table of texts, by the value rules."""
        texts = [found.to_pylist() for found in table.columns]
        values = [column(cells, exact).values for cells in texts]
        return cls(
            len(texts),
            [
                [None if text is None else v[text] for v, text in zip(values, row, strict=True)]
                for row in zip(*texts, strict=True)
            ],
        )


@dataclass(frozen=True)
class Joined:
    """What a predicate joins: rows of the inner join, by the numbers of the rows in each table."""

    tables: Sequence[Rows]
    pairs: Pairs
    rows: Sequence[tuple[int, ...]]

    @property
    def inner(self) -> int:
        return len(self.rows)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(table.rows) for table in self.tables)

    @cached_property
    def involved_rows(self) -> tuple[set[int], ...]:
        return tuple({row[t] for row in self.rows} for t in range(len(self.tables)))

    @property
    def involved(self) -> tuple[int, ...]:
        return tuple(map(len, self.involved_rows))

    @cached_property
    def keys(self) -> Counter[tuple[str | None, ...]]:
        """The joining keys, the values of all joined columns, and the joined rows of each."""
        columns = sorted({column for pair in self.pairs for column in pair})
        return Counter(
            tuple(self.tables[t].rows[row[t]][c] for t, c in columns) for row in self.rows
        )

    @property
    def groups(self) -> int:
        return len(self.keys)

    @cached_property
    def group_rows(self) -> list[tuple[set[int], ...]]:
        """The joining group of each key: its rows in each table, from the tables themselves."""
        columns = sorted({column for pair in self.pairs for column in pair})
        return [
            tuple(
                {
                    number
                    for number, row in enumerate(table.rows)
                    if all(
                        row[c] == value
                        for (of, c), value in zip(columns, key, strict=True)
                        if of == t
                    )
                }
                for t, table in enumerate(self.tables)
            )
            for key in self.keys
        ]

    @cached_property
    def entropy(self) -> float:
        products = [math.prod(map(len, group)) for group in self.group_rows]
        shares = [rows / sum(products) for rows in products]
        return -math.fsum(share * math.log2(share) for share in shares)

    @property
    def most_groups(self) -> int:
        """More groups than this no predicate has that joins more columns."""
        if len(self.tables) > 2:
            return self.inner
        return sum(min(len(r), len(s)) for r, s in self.group_rows)

    @property
    def outer_rows(self) -> list[tuple[int | None, ...]]:
        """The full outer join: None where a row has no partner."""
        found: list[tuple[int | None, ...]] = list(self.rows)
        for t, table in enumerate(self.tables):
            for number in range(len(table.rows)):
                if all(row[t] != number for row in self.rows):
                    found.append(tuple(number if u == t else None for u in range(len(self.tables))))
        return found

    @property
    def scores(self) -> dict[str, float]:
        """The five scores, from what they are to say of the joins themselves."""
        x, n = sum(self.involved), sum(self.sizes)
        coverage, strength = x / n, x / (len(self.tables) * self.inner)
        return {
            "coverage": x,
            "groups": self.groups,
            "compact": n - len(self.outer_rows),
            "balanced": self.entropy,
            "strength": 2 * coverage * strength / (coverage + strength),
        }


class Joins:
    """All predicates over some tables, and what each joins."""

    def __init__(self, tables: Sequence[Rows]) -> None:
        self.tables = list(tables)
        self.all_rows = list(product(*(range(len(table.rows)) for table in self.tables)))
        self.pairs: list[Pair] = [
            ((t, i), (u, j))
            for t, u in combinations(range(len(self.tables)), 2)
            for i in range(self.tables[t].width)
            for j in range(self.tables[u].width)
        ]
        self._of_pair = [
            sum(1 << n for n, row in enumerate(self.all_rows) if self._equal(pair, row))
            for pair in self.pairs
        ]
        # What each subset joins: the subset without its last pair, where the last pair is equal.
        self._joins = [(1 << len(self.all_rows)) - 1]
        for equal in self._of_pair:
            self._joins += [found & equal for found in self._joins]
        self._closed: dict[int, int] = {}  # by what is joined, the largest subset that joins it
        for subset, found in enumerate(self._joins):
            known = self._closed.get(found, 0)
            assert self._joins[subset | known] == found  # theorem 1: all of them join it together
            self._closed[found] = subset | known

    @classmethod
    def of(cls, *tables: pa.Table, exact: bool = False) -> Joins:
        return cls([Rows.of(table, exact) for table in tables])

    def _equal(self, pair: Pair, row: tuple[int, ...]) -> bool:
        (t, i), (u, j) = pair
        one, other = self.tables[t].rows[row[t]][i], self.tables[u].rows[row[u]][j]
        return one is not None and one == other

    def _joined(self, subset: int) -> Joined:
        found = self._joins[subset]
        return Joined(
            self.tables,
            self._pairs(subset),
            [row for n, row in enumerate(self.all_rows) if found >> n & 1],
        )

    def _pairs(self, subset: int) -> Pairs:
        return frozenset(pair for n, pair in enumerate(self.pairs) if subset >> n & 1)

    def joined(self, pairs: Pairs) -> Joined:
        """What one predicate joins."""
        return self._joined(self._subset(pairs))

    def _subset(self, pairs: Pairs) -> int:
        return sum(1 << self.pairs.index(pair) for pair in pairs)

    def is_closed(self, pairs: Pairs) -> bool:
        """No predicate has more pairs and joins the same."""
        mine = self._subset(pairs)
        return not any(
            found == self._joins[mine] and subset & mine == mine and subset != mine
            for subset, found in enumerate(self._joins)
        )

    def connects(self, pairs: Pairs) -> bool:
        """The pairs lead from each table to every other one."""
        reached = {0}
        for _ in self.tables:
            for (t, _i), (u, _j) in pairs:
                if t in reached or u in reached:
                    reached |= {t, u}
        return len(reached) == len(self.tables)

    def valid(self) -> Iterator[Joined]:
        """Every predicate that joins anything, closed or not, connecting all tables or not."""
        for subset, found in enumerate(self._joins):
            if subset and found:
                yield self._joined(subset)

    @cached_property
    def closed(self) -> dict[Pairs, Joined]:
        """The valid ones that are closed and connect all tables: the largest that join the same."""
        subsets = [subset for found, subset in self._closed.items() if subset and found]
        return {
            self._pairs(subset): self._joined(subset)
            for subset in subsets
            if self.connects(self._pairs(subset))
        }

    def best(self, score: Callable[[Joined], float], n: int) -> list[Ranked]:
        """The n best of the closed predicates, as they are ranked."""
        return sorted(ranked(found, score) for found in self.closed.values())[:n]


def ranked(found: Joined, score: Callable[[Joined], float]) -> Ranked:
    """What predicates are ordered by: score, rows that are involved, few joined rows."""
    return -round(score(found), 9), -sum(found.involved), found.inner
