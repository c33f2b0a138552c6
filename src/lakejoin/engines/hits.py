"""Hits of an engine: columns of segments with their scores, and counters of the work done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, cast

import numpy as np

Array = np.ndarray[Any, Any]


class AddableCounters:
    """Counters that can be added: numbers, and dicts of numbers by name."""

    __slots__ = ()

    def add(self, other: Self) -> None:
        """Add the counts of another search, such as that of the next segment."""
        for counter in fields(cast(Any, self)):
            mine, theirs = getattr(self, counter.name), getattr(other, counter.name)
            if isinstance(mine, dict):
                for name, count in theirs.items():
                    mine[name] = mine.get(name, 0) + count
            else:
                setattr(self, counter.name, mine + theirs)


@dataclass(slots=True)
class Counters(AddableCounters):
    """What a search read and what it skipped, summed over the segments.

    `lists` counts the posting lists of the query's values, equal lists once; `lists_read` of them
    were read. `find_candidates` are the columns seen in them; `sets_read` sets were read for an exact
    count, and `pruned` columns were ruled out unread. `bytes` is how much of the mapped lists and
    sets (or sketches) was read. `algorithms` counts how often each algorithm ran.

    >>> total = Counters(lists=3, algorithms={"merge": 1})
    >>> total.add(Counters(lists=2, algorithms={"merge": 1}))
    >>> total.lists, total.algorithms
    (5, {'merge': 2})
    """

    segments: int = 0
    lists: int = 0
    lists_read: int = 0
    candidates: int = 0
    sets_read: int = 0
    pruned: int = 0
    bytes: int = 0
    algorithms: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Columns found, best first, as `segment` and `column` indexes; `matched` is the score.

    `estimate_survival` and `error` (one standard deviation) are containments from sketches; None if the
    scores are exact.
    """

    segment: Array
    column: Array
    matched: Array
    counters: Counters
    estimate: Array | None = None
    error: Array | None = None

    def __len__(self) -> int:
        return len(self.column)

    def take(self, chosen: Array) -> Hits:
        """The hits at these positions, in this order."""
        return Hits(
            self.segment[chosen],
            self.column[chosen],
            self.matched[chosen],
            self.counters,
            None if self.estimate is None else self.estimate[chosen],
            None if self.error is None else self.error[chosen],
        )


@dataclass(frozen=True, slots=True)
class ExcludedColumns:
    """Columns to leave out, by segment: of deleted tables, of the query's own table and of its
    copies."""

    columns: Sequence[Array]
