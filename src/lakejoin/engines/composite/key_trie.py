"""A key query with its options, and the trie of its combinations with one level per key column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lakejoin.engines.composite.hits import KeyCounters
from lakejoin.engines.composite.query import KeyQuery
from lakejoin.errors import InputError
from lakejoin.model import Array


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
    """`order` is the key column of each level; `sorted` lists the combinations in the order of the
    leaves."""

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


ROW_FILTERS = ("superkeys", "none", "each")


@dataclass(frozen=True, slots=True)
class MateOptions:
    """How to search; all options give the same answer.

    `row_filter`: "superkeys" are those of the index, where a segment has any; "none" fetches by the
    initial column and verifies every row (SCR in the paper), "each" fetches the rows of every key
    column and intersects them (MCR). Without `bounds`, tables are bounded by the initial column
    alone, and all their columns are tried, as in algorithm 1. `initial` is "items" (where fetching
    rows is cheapest; without `bounds`, the fewest entries in posting lists), "cardinality" (the
    fewest distinct values), or the name or index of a key column. A row is tested against the super
    keys of all combinations of its initial value if these are at most `pairs`, because testing more
    takes as long as verifying the row; otherwise only their common bits are tested.
    """

    row_filter: str = "superkeys"
    bounds: bool = True
    initial: str | int = "items"
    pairs: int = 16

    def __post_init__(self) -> None:
        if self.row_filter not in ROW_FILTERS:
            raise InputError(f"row_filter must be one of {', '.join(ROW_FILTERS)}")


class PreparedKey:
    """A key query, and its tries by their first level, each built once."""

    def __init__(self, query: KeyQuery, options: MateOptions) -> None:
        self.query = query
        self.options = options
        self.counters = KeyCounters()
        self._tries: dict[int | None, Trie] = {}
        indexes = range(len(query.columns))
        if options.initial not in ("items", "cardinality", *query.columns, *indexes):
            raise InputError(
                f"initial column {options.initial!r} is not in the key: {', '.join(query.columns)}"
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
