"""The hits of a search for a composite key, counters of its work, and a heap of the best tables."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lakejoin.engines.hits import AddableCounters
from lakejoin.model import Array


@dataclass(slots=True)
class KeyCounters(AddableCounters):
    """The work of a search for a composite key, summed over the segments.

    `tables` hold a value of every key column; the rows of `tables_read` of them were read. There,
    `rows_seen` rows hold a value of the initial column. If enough of them passed the row filter,
    the `rows_passed` were verified, and `rows_true` hold a whole combination:
    `rows_true / rows_passed` is the filter's precision. `items` are the posting list entries that
    were read. `cut_short` tables had too many mappings to try them all: their scores may be too
    low. `initial` says by which key column rows were fetched, and in how many segments.
    """

    segments: int = 0
    tables: int = 0
    tables_read: int = 0
    items: int = 0
    rows_seen: int = 0
    rows_passed: int = 0
    rows_true: int = 0
    cut_short: int = 0
    initial: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mapping:
    """Columns of a table (indexes in the segment), in the order of the key columns, and how many
    combinations their rows hold."""

    columns: tuple[int, ...]
    matched: int


@dataclass(frozen=True, slots=True, eq=False)
class KeyHits:
    """Tables, best first, by their indexes `segment` and `table`; `matched` is the score.

    `mapping` is the best mapping of each; `runner_up` the next best, if it is close.
    """

    segment: Array
    table: Array
    matched: Array
    mapping: tuple[Mapping, ...]
    runner_up: tuple[Mapping | None, ...]
    counters: KeyCounters

    def __len__(self) -> int:
        return len(self.segment)


_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class BestTables:
    """A heap for compiled code (see `lakejoin.kernels.topk`).

    Ordered like answers: more combinations, then fewer rows, then the order of the index.
    """

    def __init__(self, k: int) -> None:
        self.ranks, self.table_ids = np.zeros((2, k), dtype=np.uint64)
        self.count = 0

    def hopeless(self, score: int) -> bool:
        """Whether no table with this score can be among the best."""
        full = self.count == len(self.ranks)
        return score == 0 or (full and score < int(self.ranks[0] >> _HALF))

    def segments(self) -> set[int]:
        return set((self.table_ids[: self.count] >> _HALF).tolist())

    def ordered(self) -> tuple[Array, Array, Array]:
        """(segment, table, score), the best first."""
        order = np.lexsort((self.table_ids[: self.count], ~self.ranks[: self.count]))
        packed, rank = self.table_ids[order], self.ranks[order]
        return (
            (packed >> _HALF).astype(np.int64),
            (packed & _LOW).astype(np.int64),
            (rank >> _HALF).astype(np.int64),
        )
