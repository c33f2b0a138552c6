"""Write the pairs of a segment, merged from an earlier graph and newly counted ones, and reversed.

Both go through a segment by ranges of columns, so that memory does not grow with the lake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.graph.graph_refresh import EarlierGraph, cut_columns
from lakejoin.graph.pairs import best_of_each, sorted_best_first
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.graph_files import (
    PairFileWriter,
    ColumnPairs,
    PairSlices,
    cut_ranges,
    concat_pairs,
)

Array = np.ndarray[Any, Any]

_PAIRS = 1 << 22  # pairs in memory at a time
_COLUMN = 0xFFFFFFFF  # the half of a packed (segment, column) that holds the column


@dataclass(frozen=True, slots=True, eq=False)
class EarlierPairs:
    """What an earlier graph has of a segment (index `number` there); the columns `again` have been
    recounted."""

    kept: EarlierGraph
    number: int
    again: Array


def write_pairs(
    out: ArrayFileWriter,
    sizes: Array,
    counted: Sequence[PairSlices],
    old: EarlierPairs | None,
    most: int,
    turned: Callable[[ColumnPairs], None],
) -> tuple[int, int]:
    """Write the best pairs of all columns of a segment, and pass their reverse to `turned`; returns
    the number of pairs, and how many columns have more."""
    writer = PairFileWriter(out, sizes)
    cut_before = _cut_before(old)
    step = max(1, _PAIRS // (most + 1))
    for begin in range(0, len(sizes), step):
        end = min(begin + step, len(sizes))
        batches, held = [], 0
        for pairs in _sources(counted, old, begin, end):
            batches.append(pairs)
            held += len(pairs)
            if held > _PAIRS:  # one more than is kept, to see which columns have more
                batches = [best_of_each(concat_pairs(batches), most + 1)[0]]
                held = len(batches[0])
        best, cut = best_of_each(concat_pairs(batches), most)
        before = cut_before[(cut_before >= begin) & (cut_before < end)]
        writer.append(best, np.concatenate([cut & _COLUMN, before]))
        if len(best):
            turned(best.turned())
    return writer.finish()


def write_reverse_pairs(out: ArrayFileWriter, sizes: Array, slices: Sequence[PairSlices]) -> int:
    """Write the pairs of a segment's columns with smaller columns, those that share most first;
    returns the number of pairs."""
    writer = PairFileWriter(out, sizes)
    number = np.zeros(len(sizes), dtype=np.int64)
    for part in slices:
        number += np.bincount(part.columns(), minlength=len(sizes))
    for begin, end in cut_ranges(np.concatenate(([0], np.cumsum(number))), _PAIRS):
        pairs = concat_pairs([part.of(begin, end) for part in slices])
        writer.append(pairs.take(sorted_best_first(pairs)), np.zeros(0, dtype=np.int64))
    return writer.finish()[0]


def _sources(counted: Sequence[PairSlices], old: EarlierPairs | None, begin: int, end: int) -> Iterator[ColumnPairs]:
    """The known pairs of the columns [begin, end)."""
    file = None if old is None else old.kept.stored.pairs(old.number)
    if old is not None and file is not None:
        columns = np.arange(begin, end)
        yield old.kept.still(file.of(columns[~np.isin(columns, old.again)]))
    for part in counted:
        yield part.of(begin, end)


def _cut_before(old: EarlierPairs | None) -> Array:
    file = None if old is None else old.kept.stored.pairs(old.number)
    if old is None or file is None:
        return np.zeros(0, dtype=np.int64)
    cut = cut_columns(file, old.kept, old.number)
    return cut[~np.isin(cut, old.again)]
