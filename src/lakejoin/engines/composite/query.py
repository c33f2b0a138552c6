"""A composite key to search for: its distinct combinations, their trie, and their codes in a
segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lakejoin.engines.composite.hits import KeyCounters
from lakejoin.engines.query import NO_CELL
from lakejoin.errors import InputError
from lakejoin.model import Array, ColumnType
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.engines.composite.key_cells import KeyLookup
    from lakejoin.engines.query import QueryTable
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, slots=True, eq=False)
class KeyQuery:
    """Several columns of one table, to be searched for together.

    `tokens[j]` are the distinct canonical values of the j-th key column, `shown[j]` the first
    spelling of each. A *combination* is a row of `combinations`, which holds positions in the
    tokens; combinations are distinct, in the order of the table's rows, and `counts[i]` of its
    `rows` hold the i-th. Rows with a null in the key have none. `fixed[j]` is the name of the only
    column that the j-th key column may be mapped to, or None.
    """

    table: str
    columns: tuple[str, ...]
    tokens: tuple[pa.LargeStringArray, ...]
    shown: tuple[pa.LargeStringArray, ...]
    combinations: Array
    counts: Array
    rows: int
    fixed: tuple[str | None, ...]
    types: tuple[ColumnType, ...]

    def __len__(self) -> int:
        return len(self.combinations)

    def texts_of(self, positions: Array) -> list[pa.LargeStringArray]:
        """Combinations as spelled in the table, by key column."""
        chosen = self.combinations[positions]
        return [shown.take(chosen[:, j]) for j, shown in enumerate(self.shown)]


def key_query(
    query_table: QueryTable, columns: Sequence[int], fixed: Sequence[str | None] = ()
) -> KeyQuery:
    cells = [query_table.cells(column_index) for column_index in columns]
    combinations, counts = distinct_rows([numbers for _, numbers in cells])
    return KeyQuery(
        query_table.name,
        tuple(query_table.column_names[column_index] for column_index in columns),
        tuple(tokens for tokens, _ in cells),
        tuple(query_table.query(column_index).spellings for column_index in columns),
        combinations,
        counts,
        query_table.rows(),
        tuple(fixed) or (None,) * len(columns),
        tuple(query_table.profile(column_index).type for column_index in columns),
    )


def distinct_rows(columns: Sequence[Array]) -> tuple[Array, Array]:
    """The distinct rows of columns of numbers, by first occurrence, and how often each occurs.

    Rows with a `NO_CELL` are skipped.

    >>> rows, counts = distinct_rows([np.array([1, 0, 1, 7]), np.array([2, 3, 2, NO_CELL])])
    >>> rows.tolist(), counts.tolist()
    ([[1, 2], [0, 3]], [2, 1])
    """
    whole = np.flatnonzero(np.logical_and.reduce([column != NO_CELL for column in columns]))
    number = np.zeros(len(whole), dtype=np.uint64)
    for column in columns:
        # Two numbers below 2^32 make one; ranked again, it is below 2^32 too.
        paired = (number << np.uint64(32)) | column[whole].astype(np.uint64)
        number = np.unique(paired, return_inverse=True)[1].astype(np.uint64)
    _, first, counts = np.unique(number, return_index=True, return_counts=True)
    order = np.argsort(first)
    chosen = whole[first[order]]
    rows = np.stack([column[chosen] for column in columns], axis=1).astype(np.uint32)
    return rows, counts[order].astype(np.int64)


class KeyCodes:
    """The codes of a key's values in a segment. For compiled code they take 1.5 bits per value of
    the segment and 8 bytes per value of the key, for every key column.

    `live` says which combinations have all their values in the segment.
    """

    def __init__(self, segment: Segment, query: KeyQuery) -> None:
        codes = [segment.dictionary.find(tokens) for tokens in query.tokens]
        parts = enumerate(codes)
        known = [own[query.combinations[:, j]] != NOT_FOUND for j, own in parts]
        self.live = np.asarray(np.logical_and.reduce(known))
        self._query = query
        self._codes: list[Array] = []
        self._numbers: list[Array] = []
        for own in codes:
            present = np.flatnonzero(own != NOT_FOUND)
            order = present[np.argsort(own[present], kind="stable")]
            self._codes.append(own[order])
            self._numbers.append(order.astype(np.int32))
        self._values = len(segment.dictionary)

    def live_codes(self, key_column: int) -> tuple[Array, Array]:
        """The ascending codes of a key column's live values, and the combinations of each."""
        values = len(self._query.tokens[key_column])
        weights = np.bincount(self._query.combinations[self.live, key_column], minlength=values)
        weights = weights.astype(np.int64)[self._numbers[key_column]]
        is_live = weights > 0
        return self._codes[key_column][is_live], weights[is_live]

    @cached_property
    def lookup(self) -> KeyLookup:
        """The same for compiled code."""
        from lakejoin.engines.composite.key_cells import KeyLookup
        from lakejoin.kernels.packing import build_bit_set

        words = np.zeros((len(self._codes), self._values // 64 + 1), dtype=np.uint64)
        before = np.zeros(words.shape, dtype=np.uint32)
        for codes, own, earlier in zip(self._codes, words, before, strict=True):
            build_bit_set(codes, own, earlier)
        start = np.cumsum([0, *map(len, self._codes)])
        return KeyLookup(start, np.concatenate(self._numbers), words, before)


class TrieNodes(NamedTuple):
    """The nodes of a trie for compiled code, level by level.

    `value` is the position of a node's value among the key column's, ascending among siblings. Its
    children are the nodes [child[i], child[i + 1]), and the combinations below it [leaf[i],
    leaf_end[i]) of the sorted ones. `root[v]` is the node of the first level with value v, or -1.
    """

    value: Array
    child: Array
    leaf: Array
    leaf_end: Array
    root: Array


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """`order` is the key column of each level; `sorted` the combinations as in the leaves."""

    order: tuple[int, ...]
    sorted: Array
    nodes: TrieNodes


def build_trie(combinations: Array, order: Sequence[int], values: int) -> Trie:
    """Build the trie of distinct combinations; the first level's key column has `values` values.

    >>> trie = build_trie(np.array([[0, 5], [1, 4], [0, 3]]), (0, 1), 2)
    >>> trie.sorted.tolist(), trie.nodes.value.tolist()
    ([2, 0, 1], [0, 1, 3, 5, 4])
    """
    by = np.lexsort([combinations[:, j] for j in reversed(order)])
    rows = combinations[by][:, list(order)]
    n, levels = rows.shape
    new = np.zeros(n, dtype=bool)
    new[:1] = True
    level, values_of, leaves, ends = [0], [], [], []
    starts: list[Array] = []
    for depth in range(levels):
        new[1:] |= rows[1:, depth] != rows[:-1, depth]
        first = np.flatnonzero(new)
        starts.append(first)
        values_of.append(rows[first, depth])
        leaves.append(first)
        ends.append(np.append(first[1:], n) if len(first) else first)
        level.append(level[-1] + len(first))
    children = [
        level[depth + 1] + np.searchsorted(starts[depth + 1], starts[depth])
        for depth in range(levels - 1)
    ]
    children.append(np.full(len(starts[-1]), level[-1]))
    root = np.full(values, -1, dtype=np.int32)
    root[values_of[0]] = np.arange(level[1])
    nodes = TrieNodes(
        np.concatenate(values_of).astype(np.int32),
        np.append(np.concatenate(children), level[-1]).astype(np.int32),
        np.concatenate(leaves).astype(np.int32),
        np.concatenate(ends).astype(np.int32),
        root,
    )
    return Trie(tuple(order), by, nodes)


class PreparedKey:
    """A key query, its initial column (see `Mate`), and its tries by their first level, each built
    once."""

    def __init__(self, query: KeyQuery, initial: str | int) -> None:
        self.query = query
        self.initial = initial
        self.counters = KeyCounters()
        self._tries: dict[int | None, Trie] = {}
        indexes = range(len(query.columns))
        if initial not in ("items", "cardinality", *query.columns, *indexes):
            raise InputError(
                f"initial column {initial!r} is not in the key: {', '.join(query.columns)}"
            )

    def trie(self, initial: int | None = None) -> Trie:
        """The trie that starts with key column `initial`, the others by falling number of values;
        without one, the trie of the key columns in their order."""
        if initial not in self._tries:
            sizes = [len(tokens) for tokens in self.query.tokens]
            order = list(range(len(sizes)))
            if initial is not None:
                order.sort(key=lambda j: (j != initial, -sizes[j]))
            self._tries[initial] = build_trie(self.query.combinations, order, sizes[order[0]])
        return self._tries[initial]
