"""The arrays that one thread needs while it searches: allocated once, zero between searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.mapped_arrays import pack_addresses
from lakejoin.engines.overlap.tally import COUNTER_COUNT
from lakejoin.engines.overlap.search_buffers import FIELDS, LEADERS, PASSED, QUERY, TALLY, TOP

Array = np.ndarray[Any, Any]


class SearchBuffers:
    """Buffers for segments of up to `columns` columns and `groups` groups; they grow with the
    queries.
    """

    def __init__(self, columns: int, groups: int, blocks: int) -> None:
        self.pending = np.zeros(blocks, dtype=np.uint8)
        self.tally = np.zeros(COUNTER_COUNT, dtype=np.int64)
        self.row = np.zeros(2 * FIELDS, dtype=np.int64)
        by_column = [np.zeros(columns + 1, dtype=np.uint32) for _ in range(7)]
        table = np.zeros(groups + 1, dtype=np.uint32)
        self._kept: dict[int, tuple[Array, ...]] = {}
        # In the order of the fields: counts, touched, alive, exact, table, first, two positions.
        self._hand_over(0, *by_column[:4], table, *by_column[4:])
        self._hand_over(PASSED, np.zeros(columns + 1, dtype=np.uint8))
        self._hand_over(TALLY, self.tally)
        self._values = self._best = -1

    def make(self, values: int, k: int) -> None:
        """Make room for a query of `values` values and for exactly k results."""
        if values > self._values:
            self._values = max(values, 1023)
            self._hand_over(QUERY, *np.zeros((6, self._values + 1), dtype=np.int64))
        if k != self._best:
            self._best = k
            self._hand_over(TOP, *np.zeros((2, k), dtype=np.uint64))
            self._hand_over(LEADERS, *np.zeros((2, k), dtype=np.uint64))

    def _hand_over(self, field: int, *arrays: Array) -> None:
        self._kept[field] = arrays
        self.row[2 * field : 2 * (field + len(arrays))] = pack_addresses(*arrays)
