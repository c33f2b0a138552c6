"""What a search for a composite key gives back, and what it looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lakejoin.search.hits import Summed

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class KeyCounters(Summed):
    """What a search for a composite key looked at, summed over the segments.

    `tables` hold a value of every key column; of these `tables_read` had their rows looked at. In
    them, `rows_seen` rows hold a value of the initial column. Where enough of them passed the row
    filter, the `rows_passed` were verified, and `rows_true` hold a whole combination:
    `rows_true / rows_passed` is the filter's precision. `items` are the entries of posting lists
    that were read. Of `cut_short` tables not all mappings were tried, because there are too many:
    their scores may be too low. `initial` says which of my columns the rows were fetched by, and
    in how many segments.
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
    """Columns of a table, by their numbers in the segment and in the order of my key columns, and
    how many of my combinations their rows hold."""

    columns: tuple[int, ...]
    matched: int


@dataclass(frozen=True, slots=True, eq=False)
class KeyHits:
    """Tables found, best first: `segment` and `table` number them, `matched` is the score.

    `mapping` is the best one of each; `runner_up` the next best, where it is close.
    """

    segment: Array
    table: Array
    matched: Array
    mapping: tuple[Mapping, ...]
    runner_up: tuple[Mapping | None, ...]
    counters: KeyCounters

    def __len__(self) -> int:
        return len(self.segment)
