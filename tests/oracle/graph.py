"""Brute force: every pair of columns of a lake, by Python sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lakejoin.store.segment import Segment
from oracle.search import set_of


@dataclass(frozen=True, order=True)
class PlainPair:
    """A pair under its smaller column: see `lakejoin.search.graph.pairs.Pairs`."""

    segment: int
    column: int
    size: int
    other_segment: int
    other_column: int
    other_size: int
    shared: int


def nodes(segments: Sequence[Segment], least: int) -> Iterator[tuple[int, int, int, set[str]]]:
    """(segment, column, table, values) of all live columns that are searched and large enough."""
    for number, segment in enumerate(segments):
        for table in range(segment.catalog.tables.num_rows):
            if table in segment.record.dead:
                continue
            entry = segment.catalog.table(table)
            for column in range(entry.first, entry.first + entry.width):
                values = set_of(segment, column)
                if len(values) >= max(1, least):
                    yield number, column, table, values


def all_pairs(
    segments: Sequence[Segment], share: float, least: int, most: int = 1 << 30
) -> list[PlainPair]:
    """Compares every column with every other."""
    found: dict[tuple[int, int], list[PlainPair]] = {}
    every = list(nodes(segments, least))
    for number, column, table, mine in every:
        for other_number, other_column, other_table, theirs in every:
            if (number, table) == (other_number, other_table):
                continue
            if (len(theirs), number, column) < (len(mine), other_number, other_column):
                continue  # the other one is the smaller, or as large and the later
            shared = len(mine & theirs)
            if shared >= max(1, math.ceil(share * len(mine) - 1e-9)):
                pair = PlainPair(
                    number, column, len(mine), other_number, other_column, len(theirs), shared
                )
                found.setdefault((number, column), []).append(pair)
    kept = []
    for pairs in found.values():
        pairs.sort(key=lambda p: (-p.shared, p.other_size, p.other_segment, p.other_column))
        kept += pairs[:most]
    return sorted(kept)
