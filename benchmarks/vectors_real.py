"""The text columns of an index as a lake of vectors: real values, by the encoder of the index.

Queries are some of its columns, of different tables, and these tables are left out of the lake.
Vectors of texts that mean nothing to the encoder are left out too: they match nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.meaning.vector_space import open_text_space
from lakejoin.locations import Location
from lakejoin.search.meaning_search import MeaningIndex
from lakejoin.store.segment import Segment
from lakejoin.store.segment_tables import SegmentTables
from lakejoin.store.snapshot import Snapshot
from vectors_data import Array, Lake
from vectors_ours import Indexed

FEWEST, MOST = 10, 300  # values of a query
Place2 = tuple[int, int]  # (segment, column)


def real_lake(index: Path, queries: int, seed: int = 1) -> tuple[Lake, Callable[[], Indexed]]:
    """(the lake in memory, what makes the contender that searches the index itself)."""
    snapshot = Snapshot(Location.of(index))
    encoder = MeaningIndex(snapshot).encoder()
    columns = [(s, c) for s, one in enumerate(snapshot.segments) for c in _meant(one).tolist()]
    asked, excluded = _chosen(snapshot, columns, queries, seed)
    hidden = {(s, c) for s, own in enumerate(excluded.columns) for c in own.tolist()}
    kept = [one for one in columns if one not in hidden]
    texts, start, ids = _texts(snapshot, [*kept, *asked])
    vectors = encoder.encode(texts)
    sets = [ids[a:b] for a, b in itertools.pairwise(start)]
    sets = [own[vectors[own].any(axis=1)] for own in sets]
    used = np.unique(np.concatenate(sets[: len(kept)]))
    number = np.full(len(vectors), -1, np.int64)
    number[used] = np.arange(len(used))
    mine = [np.sort(number[own]) for own in sets[: len(kept)]]
    begin = np.concatenate([[0], np.cumsum([len(own) for own in mine])]).astype(np.int64)
    lake = Lake(
        "real",
        vectors[used],
        begin,
        np.concatenate(mine),
        tuple(vectors[own] for own in sets[len(kept) :]),
    )
    origin = np.array(kept).T
    return lake, lambda: Indexed(
        [open_text_space(one, encoder) for one in snapshot.segments], excluded, origin
    )


def _meant(segment: Segment) -> Array:
    """The columns of a segment that have a meaning, and values."""
    alive = np.ones(segment.column_count, bool)
    for table in segment.record.dead:
        entry = segment.catalog.table(table)
        alive[entry.first : entry.first + entry.width] = False
    return np.flatnonzero(segment.has_meaning & alive & (segment.postings.set_sizes() > 0))


def _chosen(
    snapshot: Snapshot, columns: list[Place2], queries: int, seed: int
) -> tuple[list[Place2], ExcludedColumns]:
    """Columns to ask with, no two of a table, and all columns of their tables and of dead ones."""
    places = [SegmentTables(one) for one in snapshot.segments]
    hidden: list[set[int]] = [set(one.record.dead) for one in snapshot.segments]
    asked: list[Place2] = []
    for i in np.random.default_rng(seed).permutation(len(columns)).tolist():
        s, c = columns[i]
        table = places[s].table_of(c)
        size = int(snapshot.segments[s].postings.set_sizes(np.array([c]))[0])
        if FEWEST <= size <= MOST and table not in hidden[s]:
            asked.append((s, c))
            hidden[s].add(table)
        if len(asked) == queries:
            break
    return asked, ExcludedColumns(
        [
            place.columns_of(np.array(sorted(own), dtype=np.int64))
            for place, own in zip(places, hidden, strict=True)
        ]
    )


def _texts(snapshot: Snapshot, columns: list[Place2]) -> tuple[pa.LargeStringArray, Array, Array]:
    """(distinct texts, start, ids): each column's values by their number among the texts."""
    chunks, numbers, before = [], {}, 0
    for s, segment in enumerate(snapshot.segments):
        codes = segment.meaning.codes.all()
        chunks.append(segment.dictionary.texts.take(codes))
        numbers[s] = (before, codes)
        before += len(codes)
    encoded = pa.chunked_array(chunks).combine_chunks().dictionary_encode()
    which = encoded.indices.to_numpy()
    sets = []
    for s, c in columns:
        begin, codes = numbers[s]
        own = snapshot.segments[s].postings.codes_of(c)
        sets.append(np.unique(which[begin + np.searchsorted(codes, own)]))
    start = np.concatenate([[0], np.cumsum([len(own) for own in sets])])
    return encoded.dictionary, start, np.concatenate(sets)
