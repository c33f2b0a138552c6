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
        self.pending = np.zeros(blocks, dtype=np.uint8)
        self.table = np.zeros(groups + 1, dtype=np.uint32)
        lists = [np.zeros(columns + 1, dtype=np.uint32) for _ in range(7)]
        passed = np.zeros(columns + 1, dtype=np.uint8)
        # In the order of the functions beside `Work`: counts, touched, alive, exact, table, …
        self._arrays: list[Array] = [*lists[:4], self.table, *lists[4:], passed]
        row = [number for a in self._arrays for number in (a.ctypes.data, len(a))]
        self.work = Work(np.array(row, dtype=np.int64), self.pending)
        self._query = Groups(*np.zeros((6, 1024), dtype=np.int64))

    def query(self, values: int) -> Groups:
        """For a query of so many values."""
        if values + 1 > len(self._query.group):
            self._query = Groups(*np.zeros((6, values + 1), dtype=np.int64))
        return self._query
