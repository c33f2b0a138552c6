"""Which combinations of a key a table holds under a mapping, and in how many rows."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.composite.key_trie import Trie, build_trie
from lakejoin.engines.composite.query import KeyCodes, KeyQuery
from lakejoin.search.evidence import SharedValues

if TYPE_CHECKING:
    from lakejoin.engines.composite.key_cells import KeyLookup
    from lakejoin.store.segment import Segment


class KeyMatches:
    """The matches of one query with tables. The query's codes are kept for the last segment only,
    so results are best requested segment by segment."""

    def __init__(self, query: KeyQuery) -> None:
        self._query = query
        self._lock = threading.Lock()
        self._kept: tuple[Segment, KeyLookup] | None = None

    @cached_property
    def _trie(self) -> Trie:
        values = len(self._query.tokens[0])
        return build_trie(self._query.combinations, range(len(self._query.columns)), values)

    def _known(self, segment: Segment) -> KeyLookup:
        with self._lock:
            if self._kept is None or self._kept[0] is not segment:
                self._kept = segment, KeyCodes(segment, self._query).lookup
            return self._kept[1]

    def forget(self) -> None:
        """Free what is kept of a segment; it is recomputed when needed."""
        with self._lock:
            self._kept = None

    def of(self, segment: Segment, mapping: Sequence[int]) -> SharedValues:
        """What the query shares with the columns `mapping` of a table (indexes in the segment)."""
        from lakejoin.engines.composite.key_cells import key_ids_of_columns, open_mapped_rows
        from lakejoin.engines.composite.mapping_kernels import find_leaves

        held = open_mapped_rows(segment, super_keys=False)
        numbers = np.empty((len(mapping), int(segment.column_rows[mapping[0]])), dtype=np.int32)
        pending = held.pending()
        columns = np.array(mapping, dtype=np.int64)
        key_ids_of_columns(
            held.row, pending[0], held.tokens, self._known(segment), columns, numbers
        )
        held.verify(pending)
        leaf = np.empty(numbers.shape[1], dtype=np.int64)
        find_leaves(numbers, self._trie.nodes, leaf)
        rows = np.zeros(len(self._query), dtype=np.int64)
        rows[self._trie.sorted] = np.bincount(leaf[leaf >= 0], minlength=len(self._query))
        positions = np.flatnonzero(rows)
        return SharedValues(positions, rows[positions])


def count_combinations(segment: Segment, mapping: Sequence[int]) -> int:
    """How many distinct combinations without nulls some columns of a table hold."""
    import pyarrow as pa

    from lakejoin.store.rows import NULL

    columns = [segment.rows.codes(column, int(segment.column_rows[column])) for column in mapping]
    whole = np.logical_and.reduce([codes != NULL for codes in columns])
    names = [str(j) for j in range(len(columns))]
    table = pa.table([codes[whole] for codes in columns], names=names)
    return int(table.group_by(names).aggregate([]).num_rows)
