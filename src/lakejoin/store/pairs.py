"""Pairs of columns, in memory and in files that are sorted by the column they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of columns: the one at (`segment`, `column`), of `size` values, has `shared` of them in
    the one at (`other_segment`, `other_column`), of `other_size`."""

    segment: Array
    column: Array
    size: Array
    other_segment: Array
    other_column: Array
    other_size: Array
    shared: Array

    def __len__(self) -> int:
        return len(self.shared)

    def take(self, chosen: Array) -> Pairs:
        """Those at some places, or of a mask, in this order."""
        return Pairs(*(getattr(self, name)[chosen] for name in FIELDS))

    def turned(self) -> Pairs:
        """The same, seen from the other columns."""
        mine = self.segment, self.column, self.size
        return Pairs(self.other_segment, self.other_column, self.other_size, *mine, self.shared)


FIELDS = ("segment", "column", "size", "other_segment", "other_column", "other_size", "shared")
_STORED = FIELDS[3:]  # of each pair; the rest is known from where it stands


def place_of(segment: Array, column: Array) -> Array:
    """Columns as one number each."""
    return np.asarray((np.asarray(segment, dtype=np.int64) << 32) | column)


def together(parts: Sequence[Pairs]) -> Pairs:
    """All pairs of several."""
    none = np.zeros(0, dtype=np.int64)
    return Pairs(*(np.concatenate([none, *(getattr(p, name) for p in parts)]) for name in FIELDS))


def _rows(pairs: Pairs) -> Array:
    return np.stack([getattr(pairs, name).astype(np.uint32) for name in _STORED], axis=1)


class PairFileWriter:
    """Writes the pairs of one segment's columns, which come in their order."""

    def __init__(self, out: ArrayFileWriter, sizes: Array) -> None:
        self._out = out
        self._sizes = sizes
        self._number = np.zeros(len(sizes), dtype=np.int64)
        self._cut = [np.zeros(0, dtype=np.uint32)]
        out.begin("pairs", np.dtype(np.uint32))

    def append(self, pairs: Pairs, cut: Array) -> None:
        """Adds the pairs of some columns, sorted; `cut` are those that have more."""
        self._number += np.bincount(pairs.column, minlength=len(self._number))
        self._cut.append(cut.astype(np.uint32))
        self._out.append(_rows(pairs))

    def finish(self) -> tuple[int, int]:
        """Returns how many pairs there are, and how many columns that have more."""
        cut = np.unique(np.concatenate(self._cut))
        start = np.concatenate(([0], np.cumsum(self._number)))
        self._out.add("start", start.astype(np.int64))
        self._out.add("size", self._sizes.astype(np.uint32))
        self._out.add("cut", cut)
        return int(start[-1]), len(cut)


class PairFile:
    """The pairs of the columns of one segment; each column's begin with those that share most."""

    def __init__(self, file: ArrayFile, segment: int) -> None:
        self._file = file
        self._segment = segment
        self._start = file.array("start").all()

    def __len__(self) -> int:
        return int(self._start[-1])

    @property
    def start(self) -> Array:
        """Where the pairs of each column begin, and the last end."""
        return self._start

    def cut(self) -> Array:
        """The columns that have more partners than they keep."""
        return self._file.array("cut").all().astype(np.int64)

    def of(self, columns: Array) -> Pairs:
        """The pairs of some columns, in their order."""
        columns = np.asarray(columns, dtype=np.int64)
        begin, end = self._start[columns], self._start[columns + 1]
        stored = self._file.array("pairs")
        raw = stored.touch(4 * begin, 4 * end).reshape(-1, 4)
        length = end - begin
        own = np.cumsum(length) - length
        at = np.repeat(begin - own, length) + np.arange(int(length.sum()))
        rows = raw[at].astype(np.int64)
        column = np.repeat(columns, length)
        size = self._file.array("size").take(columns).astype(np.int64)
        whose = np.full(len(at), self._segment), column, np.repeat(size, length)
        return Pairs(*whose, *(rows[:, n] for n in range(4)))

    def ranges(self, most: int, first: Array | None = None) -> list[tuple[int, int]]:
        """Ranges of columns that have about so many pairs together; they begin at columns that are
        among `first`, if these are given."""
        return cut_ranges(self._start, most, first)


def cut_ranges(start: Array, most: int, first: Array | None = None) -> list[tuple[int, int]]:
    """Cuts columns into ranges of at most so many pairs each, where one alone does not have more.

    >>> cut_ranges(np.array([0, 3, 4, 9, 9]), 4)
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.arange(1, len(start)) if first is None else np.append(first[1:], len(start) - 1)
    ends = np.unique(ends)
    upto = start[ends]
    found, begin = [], 0
    while begin < len(start) - 1:
        least = np.searchsorted(ends, begin, "right")
        at = max(least, np.searchsorted(upto, start[begin] + most, "right") - 1)
        found.append((begin, int(ends[at])))
        begin = int(ends[at])
    return found


def write_slices(out: ArrayFileWriter, pairs: Pairs) -> None:
    """Writes pairs of several segments on their way from a task to others."""
    order = np.argsort(place_of(pairs.segment, pairs.column), kind="stable")
    pairs = pairs.take(order)
    segments, first = np.unique(pairs.segment, return_index=True)
    out.add("segment", segments.astype(np.int64))
    out.add("first", np.append(first, len(pairs)).astype(np.int64))
    out.add("column", pairs.column.astype(np.uint32))
    out.add("pairs", _rows(pairs))


class Slices:
    """What `write_slices` wrote for one segment."""

    def __init__(self, file: ArrayFile, segment: int, sizes: Array) -> None:
        self._file = file
        self._segment = segment
        self._sizes = sizes
        segments = file.array("segment").all()
        here = np.searchsorted(segments, segment)
        there = here < len(segments) and segments[here] == segment
        first = file.array("first").all()
        begin, end = first[here : here + 2].tolist() if there else (0, 0)
        self._begin = int(begin)
        self._columns = file.array("column").part(self._begin, int(end))

    def columns(self) -> Array:
        """The column of every pair, rising."""
        return self._columns

    def of(self, begin: int, end: int) -> Pairs:
        """The pairs of the columns [begin, end)."""
        at, to = np.searchsorted(self._columns, [begin, end]).tolist()
        column = self._columns[at:to].astype(np.int64)
        flat = self._file.array("pairs").part(4 * (self._begin + at), 4 * (self._begin + to))
        rows = flat.reshape(-1, 4).astype(np.int64)
        whose = np.full(len(column), self._segment), column, self._sizes[column]
        return Pairs(*whose, *(rows[:, n] for n in range(4)))
