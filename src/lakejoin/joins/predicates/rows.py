"""Which rows does a predicate join? Their numbers, batch by batch, for two tables or more.

The tables are joined one after the other, each with those before that it has pairs with. A batch of
rows is joined further before the next one is made, and none is longer than `BATCH`: so the first
rows of a join come at once, however large it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.predicates.coded import CodedTable, CodedTables

if TYPE_CHECKING:
    from lakejoin.joins.predicates.finding import Pair

Array = np.ndarray[Any, Any]

BATCH = 1 << 14


def joined_rows(coded: CodedTables, pairs: Sequence[Pair]) -> Iterator[list[Array]]:
    """The inner join of a predicate: batches of row numbers, one array for each table.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.predicates.coded import coded_tables
    >>> coded = coded_tables([pa.table({"a": [1, 2, 3]}), pa.table({"b": [3, 3, 1]})])
    >>> [[rows.tolist() for rows in batch] for batch in joined_rows(coded, [((0, "a"), (1, "b"))])]
    [[[0, 2, 2], [2, 0, 1]]]
    """
    order = order_of(len(coded.tables), pairs)
    steps = [_step(coded, table, order[:place], pairs) for place, table in enumerate(order)][1:]
    for begin in range(0, coded.tables[order[0]].rows, BATCH):
        end = min(begin + BATCH, coded.tables[order[0]].rows)
        for found in _joined([np.arange(begin, end)], steps):
            yield [found[order.index(table)] for table in range(len(order))]


def order_of(tables: int, pairs: Sequence[Pair]) -> list[int]:
    """The tables in an order in which each has a pair with one before.

    >>> order_of(3, [((0, "a"), (2, "b")), ((1, "c"), (2, "d"))])
    [0, 2, 1]
    """
    order = [0]
    while len(order) < tables:
        linked = {one for pair in pairs for (one, _), (other, _) in _both(pair) if other in order}
        order.append(min(linked - set(order)))
    return order


def _both(pair: Pair) -> tuple[Pair, Pair]:
    return pair, (pair[1], pair[0])


@dataclass(frozen=True, eq=False)
class _Step:
    """A further table: its rows by their keys, and how those before get such a key."""

    codes: tuple[tuple[int, Array], ...]  # of those before: place in the order, codes
    count: int  # of all codes
    levels: tuple[Array, ...]  # distinct keys of the first columns, of one more, and so on
    rows: Array  # with a key, in the order of the keys
    starts: Array  # of each key, among the rows

    def keys(self, found: Sequence[Array]) -> Array:
        """The number of the key of each row so far, -1 for none."""
        columns = [codes[found[place]] for place, codes in self.codes]
        return _numbers(columns, self.levels, self.count)


def _step(coded: CodedTables, table: int, before: Sequence[int], pairs: Sequence[Pair]) -> _Step:
    own = coded.tables[table]
    mine, theirs = [], []
    for one, other in (turned for pair in pairs for turned in _both(pair)):
        if one[0] == table and other[0] in before:
            mine.append(_codes(own, one[1]))
            theirs.append((before.index(other[0]), _codes(coded.tables[other[0]], other[1])))
    levels: list[Array] = []
    numbers = np.zeros(own.rows, np.int64)
    for codes in mine:
        combined = _combined(numbers, codes, coded.count)
        levels.append(np.unique(combined[combined >= 0]))
        numbers = _placed(combined, levels[-1])
    rows = np.flatnonzero(numbers >= 0)
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    size = len(levels[-1]) if levels else 0
    starts = np.searchsorted(numbers[rows], np.arange(size + 1))
    return _Step(tuple(theirs), coded.count, tuple(levels), rows, starts)


def _codes(table: CodedTable, name: str) -> Array:
    return np.asarray(table.codes[table.columns.index(name)])


def _numbers(columns: Sequence[Array], levels: Sequence[Array], count: int) -> Array:
    numbers = np.zeros(len(columns[0]), np.int64)
    for codes, level in zip(columns, levels, strict=True):
        numbers = _placed(_combined(numbers, codes, count), level)
    return numbers


def _combined(numbers: Array, codes: Array, count: int) -> Array:
    """One number of both, -1 where either is none."""
    none = (numbers < 0) | (codes < 0)
    return np.where(none, -1, numbers * count + codes.astype(np.int64))


def _placed(values: Array, distinct: Array) -> Array:
    """The places of values among distinct ones, -1 where they are not."""
    if not len(distinct):
        return np.full(len(values), -1, np.int64)
    places = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    return np.where(distinct[places] == values, places, -1)


def _joined(found: list[Array], steps: Sequence[_Step]) -> Iterator[list[Array]]:
    """These rows, joined with all further tables."""
    if not steps:
        if len(found[0]):
            yield found
        return
    step = steps[0]
    keys = step.keys(found)
    kept = np.flatnonzero(keys >= 0)
    first = step.starts[keys[kept]]
    ends = np.cumsum(step.starts[keys[kept] + 1] - first)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, BATCH):
        wanted = np.arange(begin, min(begin + BATCH, total))
        at = np.searchsorted(ends, wanted, side="right")
        ahead = wanted - np.where(at > 0, ends[at - 1], 0)
        partners = step.rows[first[at] + ahead]
        rows = kept[at]
        yield from _joined([*(one[rows] for one in found), partners], steps[1:])
