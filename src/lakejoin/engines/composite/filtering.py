"""MATE's row filter: the super keys of a key's combinations, computed when tables need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.composite.key import MateOptions
from lakejoin.engines.composite.query import KeyQuery
from lakejoin.engines.composite.key_trie import Trie

if TYPE_CHECKING:
    from lakejoin.engines.composite.table_reader import KeyRowFilter
    from lakejoin.store.super_keys import SuperKeys

Array = np.ndarray[Any, Any]

WIDE = 6  # columns from which the filter saves more than it costs (measured)


class SuperKeyFilter:
    """Passes the rows whose super key covers that of a combination of the row's initial value.

    `live` says which combinations the segment can hold at all. Keys are computed once for all
    tables that hash alike.
    """

    def __init__(
        self, query: KeyQuery, trie: Trie, live: Array, kept: SuperKeys, options: MateOptions
    ) -> None:
        self._query = query
        self._options = options
        self._kept = kept
        self._combinations = query.combinations[trie.sorted[live[trie.sorted]]]
        initial = self._combinations[:, trie.order[0]]
        values = len(query.tokens[trie.order[0]])
        self._start = np.searchsorted(initial, np.arange(values + 1)).astype(np.int64)
        self._made: list[tuple[Array, Array]] = []

    def compiled(self) -> KeyRowFilter:
        """For compiled code; without keys yet."""
        from lakejoin.engines.composite.table_reader import SUPER_KEYS, KeyRowFilter

        group = self._kept.groups()
        keys, common = np.zeros((2, int(group.max(initial=0)) + 1), dtype=np.int64)
        wide = WIDE if self._options.bounds else 0  # algorithm 1 always filters
        pairs = self._options.pairs
        return KeyRowFilter(SUPER_KEYS, self._kept.words, pairs, wide, group, self._start, keys, common)

    def make(self, row_filter: KeyRowFilter, table: int) -> None:
        """Compute the keys for tables that hash like this one: of all combinations, and the common
        bits of those of each initial value."""
        keys = np.zeros((len(self._combinations), self._kept.words), dtype=np.uint64)
        for j, tokens in enumerate(self._query.tokens):
            keys |= self._kept.of_texts(tokens, table)[self._combinations[:, j]]
        common = np.zeros((len(self._start) - 1, self._kept.words), dtype=np.uint64)
        some = np.flatnonzero(np.diff(self._start))
        if len(some):
            common[some] = np.bitwise_and.reduceat(keys, self._start[some], axis=0)
        self._made.append((keys, common))  # compiled code holds only their addresses
        group = row_filter.group[table]
        row_filter.keys[group], row_filter.common[group] = keys.ctypes.data, common.ctypes.data
