"""Hits of several parts of an index, put together in one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Hits, of any engine, with all that orders them: the higher `score` first, then the smaller
    `size`, then the order of the index."""

    hits: Any
    size: Array
    score: Array

    def __len__(self) -> int:
        return len(self.hits)


def put_together(parts: Sequence[Ranked], numbers: Sequence[Array], k: int | None) -> Ranked:
    """The best k hits of several parts, or all; `numbers` are those that the segments of each part
    have in the whole index.

    >>> from lakejoin.search.hits import Counters, Hits
    >>> def part(column, matched):
    ...     hits = Hits(np.zeros(1, int), np.array([column]), np.array([matched]), Counters())
    ...     return Ranked(hits, np.ones(1), hits.matched)
    >>> both = put_together([part(7, 2), part(8, 5)], [np.array([0]), np.array([1])], 10)
    >>> both.hits.segment.tolist(), both.hits.column.tolist(), both.hits.matched.tolist()
    ([1, 0], [8, 7], [5, 2])
    """
    renumbered = [
        replace(part.hits, segment=np.asarray(own)[part.hits.segment])
        for part, own in zip(parts, numbers, strict=True)
    ]
    hits = _joined(renumbered)
    size = np.concatenate([part.size for part in parts])
    score = np.concatenate([part.score for part in parts])
    column = hits.table if hasattr(hits, "table") else hits.column
    order = np.lexsort((column, hits.segment, size, -score))[:k]
    return Ranked(_taken(hits, order), size[order], score[order])


def _joined(parts: Sequence[Any]) -> Any:
    """Hits one behind the other; their counters are added up."""
    first = parts[0]
    joined: dict[str, Any] = {}
    for one in fields(first):
        values = [getattr(part, one.name) for part in parts]
        if one.name == "counters":
            joined[one.name] = total = type(values[0])()
            for value in values:
                total.add(value)
        elif isinstance(values[0], np.ndarray):
            joined[one.name] = np.concatenate(values)
        elif isinstance(values[0], tuple):
            joined[one.name] = tuple(item for value in values for item in value)
    return replace(first, **joined)


def _taken(hits: Any, order: Array) -> Any:
    """The hits at these places, in this order."""
    places = order.tolist()
    taken: dict[str, Any] = {}
    for one in fields(hits):
        value = getattr(hits, one.name)
        if isinstance(value, np.ndarray):
            taken[one.name] = value[order]
        elif isinstance(value, tuple) and value:
            taken[one.name] = tuple(value[place] for place in places)
    return replace(hits, **taken)
