"""Brute force: every pair of columns of a lake, by Python sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lakejoin.graph.graph_refresh import EarlierGraph
from lakejoin.store.graph_files import PAIR_FIELDS, StoredGraph, concat_pairs
from lakejoin.store.segment import Segment
from lakejoin.store.snapshot import Snapshot
from oracle.search import set_of


@dataclass(frozen=True, order=True)
class PlainPair:
    """A pair under its smaller column: see `lakejoin.graph.column_pairs.Pairs`."""

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


def stored_pairs(stored: StoredGraph, snapshot: Snapshot) -> list[PlainPair]:
    """What a graph has: the same whether read from the smaller columns or from the larger."""
    kept, seen = EarlierGraph(stored, snapshot), []
    for turned in (False, True):
        found = []
        for number in range(len(stored.segments)):
            file = stored.pairs(number, turned)
            if file is not None:
                found.append(kept.still_valid(file.pairs_of(np.arange(len(file.start) - 1))))
        every = concat_pairs([one.reverse() if turned else one for one in found])
        rows = zip(*(getattr(every, name).tolist() for name in PAIR_FIELDS), strict=True)
        seen.append(sorted(PlainPair(*row) for row in rows))
    assert seen[0] == seen[1]
    return seen[0]
