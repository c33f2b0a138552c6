"""The rows that a predicate joins, batch by batch, and the names of their tables and columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.joined_table import result_names
from lakejoin.joins.predicates.coded_tables import CodedTable, CodedTables
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.joins.predicates.predicate_finder import Pair


BATCH = 1 << 14


def join_rows(coded: CodedTables, pairs: Sequence[Pair]) -> Iterator[list[Array]]:
    """Yield the inner join of a predicate in batches of row indices, one array per table.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.predicates.coded_tables import encode_tables
    >>> coded = encode_tables([pa.table({"a": [1, 2, 3]}), pa.table({"b": [3, 3, 1]})])
    >>> [[rows.tolist() for rows in batch] for batch in join_rows(coded, [((0, "a"), (1, "b"))])]
    [[[0, 2, 2], [2, 0, 1]]]
    """
    order = join_order(len(coded.tables), pairs)
    steps = [_step(coded, table, order[:rank], pairs) for rank, table in enumerate(order)][1:]
    for begin in range(0, coded.tables[order[0]].rows, BATCH):
        end = min(begin + BATCH, coded.tables[order[0]].rows)
        for rows in _extend_rows([np.arange(begin, end)], steps):
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


@dataclass(frozen=True, eq=False)
class _Step:
    """A further table: its rows by their keys, and how earlier tables get the same keys."""

    codes: tuple[tuple[int, Array], ...]  # of earlier tables: rank in the order, codes
    count: int  # of all codes
    levels: tuple[Array, ...]  # distinct keys of the first column, of the first two, and so on
    rows: Array  # rows with a key, ordered by key
    starts: Array  # of each key among the rows

    def keys(self, joined: Sequence[Array]) -> Array:
        """The key id of each joined row, -1 for none."""
        columns = [codes[joined[rank]] for rank, codes in self.codes]
        return _key_ids(columns, self.levels, self.count)


def _step(coded: CodedTables, table: int, before: Sequence[int], pairs: Sequence[Pair]) -> _Step:
    coded_table = coded.tables[table]
    own_codes, earlier_codes = [], []
    for (new, name), (old, old_name) in (ends for pair in pairs for ends in _both(pair)):
        if new == table and old in before:
            own_codes.append(_codes(coded_table, name))
            earlier_codes.append((before.index(old), _codes(coded.tables[old], old_name)))
    levels: list[Array] = []
    key_ids = np.zeros(coded_table.rows, np.int64)
    for codes in own_codes:
        combined = _combine_codes(key_ids, codes, coded.count)
        levels.append(np.unique(combined[combined >= 0]))
        key_ids = _positions(combined, levels[-1])
    rows = np.flatnonzero(key_ids >= 0)
    rows = rows[np.argsort(key_ids[rows], kind="stable")]
    size = len(levels[-1]) if levels else 0
    starts = np.searchsorted(key_ids[rows], np.arange(size + 1))
    return _Step(tuple(earlier_codes), coded.count, tuple(levels), rows, starts)


def _codes(table: CodedTable, name: str) -> Array:
    return np.asarray(table.codes[table.columns.index(name)])


def _key_ids(columns: Sequence[Array], levels: Sequence[Array], count: int) -> Array:
    key_ids = np.zeros(len(columns[0]), np.int64)
    for codes, level in zip(columns, levels, strict=True):
        key_ids = _positions(_combine_codes(key_ids, codes, count), level)
    return key_ids


def _combine_codes(key_ids: Array, codes: Array, count: int) -> Array:
    """Combine two numbers to one, -1 if either is missing."""
    missing = (key_ids < 0) | (codes < 0)
    return np.where(missing, -1, key_ids * count + codes.astype(np.int64))


def _positions(values: Array, distinct: Array) -> Array:
    """The position of each value among sorted distinct ones, -1 if missing."""
    if not len(distinct):
        return np.full(len(values), -1, np.int64)
    at = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    return np.where(distinct[at] == values, at, -1)


def _extend_rows(joined: list[Array], steps: Sequence[_Step]) -> Iterator[list[Array]]:
    """Join these rows with all further tables."""
    if not steps:
        if len(joined[0]):
            yield joined
        return
    step = steps[0]
    keys = step.keys(joined)
    matched = np.flatnonzero(keys >= 0)
    first = step.starts[keys[matched]]
    ends = np.cumsum(step.starts[keys[matched] + 1] - first)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, BATCH):
        positions = np.arange(begin, min(begin + BATCH, total))
        at = np.searchsorted(ends, positions, side="right")
        offset = positions - np.where(at > 0, ends[at - 1], 0)
        partners = step.rows[first[at] + offset]
        rows = matched[at]
        yield from _extend_rows([*(indices[rows] for indices in joined), partners], steps[1:])


def unique_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Make table names unique by numbering repeated ones.

    >>> unique_labels(["a.csv", "b.csv", "a.csv"])
    ('a.csv', 'b.csv', 'a.csv (2)')
    """
    labels: list[str] = []
    for name in names:
        label, number = name, 2
        while label in labels:
            label, number = f"{name} ({number})", number + 1
        labels.append(label)
    return tuple(labels)


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
