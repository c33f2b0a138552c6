"""The k best tables so far, over all segments."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class BestTables:
    """A heap for compiled code (see `lakejoin.kernels.topk`).

    Ordered like answers: more combinations, then fewer rows, then the order of the index.
    """

    def __init__(self, k: int) -> None:
        self.rank, self.place = np.zeros((2, k), dtype=np.uint64)
        self.found = 0

    def hopeless(self, score: int) -> bool:
        """Whether no table with this score can be among the best."""
        full = self.found == len(self.rank)
        return score == 0 or (full and score < int(self.rank[0] >> _HALF))

    def segments(self) -> set[int]:
        """The segments of the best tables."""
        return set((self.place[: self.found] >> _HALF).tolist())

    def ordered(self) -> tuple[Array, Array, Array]:
        """(segment, table, score), the best first."""
        order = np.lexsort((self.place[: self.found], ~self.rank[: self.found]))
        packed, rank = self.place[order], self.rank[order]
        return (
            (packed >> _HALF).astype(np.int64),
            (packed & _LOW).astype(np.int64),
            (rank >> _HALF).astype(np.int64),
        )
