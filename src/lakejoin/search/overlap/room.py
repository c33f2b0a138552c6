"""The arrays that one thread needs while it searches; made once, zero between searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.search.overlap.merging import Work
from lakejoin.search.overlap.reading import Groups

Array = np.ndarray[Any, Any]


class Room:
    """Room for segments of up to so many columns and groups, and for queries as they come."""

    def __init__(self, columns: int, groups: int, blocks: int) -> None:
        def words() -> Array:
            return np.zeros(columns + 1, dtype=np.uint32)

        self.pending = np.zeros(blocks, dtype=np.uint8)
        self.table = np.zeros(groups + 1, dtype=np.uint32)
        self._wide = Work(
            words(),
            words(),
            words(),
            words(),
            np.zeros(columns + 1, dtype=np.uint8),
            self.table,
            self.pending,
            words(),
            words(),
            words(),
        )
        # Counts of 16 bits are enough for most queries, and twice as many fit into a cache.
        self._narrow = self._wide._replace(counts=np.zeros(columns + 1, dtype=np.uint16))
        self._query = Groups(*np.zeros((6, 1024), dtype=np.int64))

    def work(self, values: int) -> Work:
        """For a query of so many values."""
        return self._narrow if values < 1 << 16 else self._wide

    def query(self, values: int) -> Groups:
        """For a query of so many values."""
        if values + 1 > len(self._query.group):
            self._query = Groups(*np.zeros((6, values + 1), dtype=np.int64))
        return self._query
