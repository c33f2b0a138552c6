"""What an engine found: columns of segments with their scores, and what finding them took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, cast

import numpy as np

Array = np.ndarray[Any, Any]


class Summed:
    """Counters that add up: numbers, and how often something ran by its name."""

    __slots__ = ()

    def add(self, other: Self) -> None:
        """Adds the counts of another search, such as that of the next segment."""
        for one in fields(cast(Any, self)):
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            if isinstance(mine, dict):
                for name, count in theirs.items():
                    mine[name] = mine.get(name, 0) + count
            else:
                setattr(self, one.name, mine + theirs)


@dataclass(slots=True)
class Counters(Summed):
    """What a search read and what it could leave unread, summed over the segments.

    `lists` are the posting lists of the query's values after equal ones were folded into one;
    of these `lists_read` were read. `candidates` are the columns seen in them; `sets_read` sets
    were read for an exact count, and `pruned` columns were ruled out unread. `bytes` is how much
    of the mapped lists and sets (or sketches) was read. `algorithms` says what ran how often.

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
    """Columns found, best first: `segment` and `column` number them, `matched` is the score.

    `estimate` and `error` (one standard deviation) are containments from sketches alone; they are
    None where the scores are exact.
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
        """The hits at these places, in this order."""
        return Hits(
            self.segment[chosen],
            self.column[chosen],
            self.matched[chosen],
            self.counters,
            None if self.estimate is None else self.estimate[chosen],
            None if self.error is None else self.error[chosen],
        )


@dataclass(frozen=True, slots=True)
class Excluded:
    """Columns that must not be found: by segment, their numbers (of tables that have gone, of
    the query's own table and its copies)."""

    columns: Sequence[Array]
