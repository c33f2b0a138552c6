"""Hits of the engines with counters of the work, and how hits of partitions are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, cast

import numpy as np

from lakejoin.model import Array


class AddableCounters:
    """Counters that can be added: numbers, and dicts of numbers by name."""

    __slots__ = ()

    def add(self, other: Self) -> None:
        """Add the counts of another search, such as that of the next segment."""
        for counter in fields(cast(Any, self)):
            own, added = getattr(self, counter.name), getattr(other, counter.name)
            if isinstance(own, dict):
                for name, count in added.items():
                    own[name] = own.get(name, 0) + count
            else:
                setattr(self, counter.name, own + added)


@dataclass(slots=True)
class Counters(AddableCounters):
    """What a search read and what it skipped, summed over the segments.

    `lists` counts the posting lists of the query's values, equal lists once; `lists_read` of them
    were read. `candidates` are the columns seen in them; `sets_read` sets were read for an exact
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

    `estimate` and `error` (one standard deviation) are containments from sketches; None if the
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
        return cast(Hits, _taken(self, chosen))


@dataclass(frozen=True, slots=True)
class ExcludedColumns:
    """Columns to leave out, by segment: of deleted tables, the query's own and its copies."""

    columns: Sequence[Array]


@dataclass(frozen=True, slots=True, eq=False)
class RankedHits:
    """Hits of any engine, sorted by falling `score`, rising `size`, then the order of the index."""

    hits: Any
    size: Array
    score: Array

    def __len__(self) -> int:
        return len(self.hits)


def merge_ranked_hits(
    parts: Sequence[RankedHits], segment_indexes_of_parts: Sequence[Array], k: int | None
) -> RankedHits:
    """Merge the hits of several partitions and keep the best k, or all;
    `segment_indexes_of_parts` are the indexes of their segments in the whole index.

    >>> from lakejoin.engines.hits import Counters, Hits
    >>> def part(column, matched):
    ...     hits = Hits(np.zeros(1, int), np.array([column]), np.array([matched]), Counters())
    ...     return RankedHits(hits, np.ones(1), hits.matched)
    >>> both = merge_ranked_hits([part(7, 2), part(8, 5)], [np.array([0]), np.array([1])], 10)
    >>> both.hits.segment.tolist(), both.hits.column.tolist(), both.hits.matched.tolist()
    ([1, 0], [8, 7], [5, 2])
    """
    renumbered = [
        replace(part.hits, segment=np.asarray(segment_indexes)[part.hits.segment])
        for part, segment_indexes in zip(parts, segment_indexes_of_parts, strict=True)
    ]
    hits = _joined(renumbered)
    size = np.concatenate([part.size for part in parts])
    score = np.concatenate([part.score for part in parts])
    column = hits.table if hasattr(hits, "table") else hits.column
    order = np.lexsort((column, hits.segment, size, -score))[:k]
    return RankedHits(_taken(hits, order), size[order], score[order])


def _joined(parts: Sequence[Any]) -> Any:
    """Concatenate hits and add up their counters."""
    first = parts[0]
    joined: dict[str, Any] = {}
    for column in fields(first):
        values = [getattr(part, column.name) for part in parts]
        if column.name == "counters":
            joined[column.name] = total = type(values[0])()
            for value in values:
                total.add(value)
        elif isinstance(values[0], np.ndarray):
            joined[column.name] = np.concatenate(values)
        elif isinstance(values[0], tuple):
            joined[column.name] = tuple(item for value in values for item in value)
    return replace(first, **joined)


def _taken(hits: Any, order: Array) -> Any:
    positions = order.tolist()
    selected: dict[str, Any] = {}
    for column in fields(hits):
        value = getattr(hits, column.name)
        if isinstance(value, np.ndarray):
            selected[column.name] = value[order]
        elif isinstance(value, tuple) and value:
            selected[column.name] = tuple(value[position] for position in positions)
    return replace(hits, **selected)
