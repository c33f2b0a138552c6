"""The pairs of a segment, put together from what was kept and what was counted, and turned.

Both go through a segment by ranges of columns, so that memory does not grow with the lake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.search.graph.kept import Kept, cut_still
from lakejoin.search.graph.pairs import best_of_each, sorted_best_first
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.pairs import PairFileWriter, Pairs, Slices, cut_ranges, together

Array = np.ndarray[Any, Any]

_PAIRS = 1 << 22  # that are held at a time
_COLUMN = 0xFFFFFFFF  # the half of a place that tells the column


@dataclass(frozen=True, slots=True, eq=False)
class Old:
    """What a graph before has of a segment, whose number there is `number`; the columns `again`
    have been counted anew."""

    kept: Kept
    number: int
    again: Array


def gather(
    out: ArrayFileWriter,
    sizes: Array,
    counted: Sequence[Slices],
    old: Old | None,
    most: int,
    turned: Callable[[Pairs], None],
) -> tuple[int, int]:
    """Writes the best pairs of all columns of a segment, and hands them over to be `turned`;
    returns how many there are, and how many columns have more."""
    writer = PairFileWriter(out, sizes)
    cut_before = _cut_before(old)
    step = max(1, _PAIRS // (most + 1))
    for begin in range(0, len(sizes), step):
        end = min(begin + step, len(sizes))
        found, held = [], 0
        for pairs in _sources(counted, old, begin, end):
            found.append(pairs)
            held += len(pairs)
            if held > _PAIRS:  # one more than are kept, so that it is seen which have more
                found = [best_of_each(together(found), most + 1)[0]]
                held = len(found[0])
        best, cut = best_of_each(together(found), most)
        before = cut_before[(cut_before >= begin) & (cut_before < end)]
        writer.append(best, np.concatenate([cut & _COLUMN, before]))
        if len(best):
            turned(best.turned())
    return writer.finish()


def turn(out: ArrayFileWriter, sizes: Array, slices: Sequence[Slices]) -> int:
    """Writes the pairs of a segment's columns with smaller ones, those that share most first;
    returns how many there are."""
    writer = PairFileWriter(out, sizes)
    number = np.zeros(len(sizes), dtype=np.int64)
    for one in slices:
        number += np.bincount(one.columns(), minlength=len(sizes))
    for begin, end in cut_ranges(np.concatenate(([0], np.cumsum(number))), _PAIRS):
        pairs = together([one.of(begin, end) for one in slices])
        writer.append(pairs.take(sorted_best_first(pairs)), np.zeros(0, dtype=np.int64))
    return writer.finish()[0]


def _sources(counted: Sequence[Slices], old: Old | None, begin: int, end: int) -> Iterator[Pairs]:
    """What is known of the columns [begin, end)."""
    file = None if old is None else old.kept.stored.pairs(old.number)
    if old is not None and file is not None:
        columns = np.arange(begin, end)
        yield old.kept.still(file.of(columns[~np.isin(columns, old.again)]))
    for one in counted:
        yield one.of(begin, end)


def _cut_before(old: Old | None) -> Array:
    file = None if old is None else old.kept.stored.pairs(old.number)
    if old is None or file is None:
        return np.zeros(0, dtype=np.int64)
    cut = cut_still(file, old.kept, old.number)
    return cut[~np.isin(cut, old.again)]
