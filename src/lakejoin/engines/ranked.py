"""Merge the hits of several partitions of an index into one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class RankedHits:
    """Hits of any engine with their sort keys: higher `score` first, then smaller `size`, then the
    order of the index."""

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
    """The hits at these positions, in this order."""
    positions = order.tolist()
    selected: dict[str, Any] = {}
    for column in fields(hits):
        value = getattr(hits, column.name)
        if isinstance(value, np.ndarray):
            selected[column.name] = value[order]
        elif isinstance(value, tuple) and value:
            selected[column.name] = tuple(value[position] for position in positions)
    return replace(hits, **selected)
