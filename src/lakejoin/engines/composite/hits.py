"""The hits of a search for a composite key, and counters of its work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lakejoin.engines.hits import AddableCounters

Array = np.ndarray[Any, Any]


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
