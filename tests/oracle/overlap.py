"""Brute force for exact search: every overlap of every column, ranked, and lakes of plain sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import published.probe_set  # noqa: F401 (adds "probe")
from lakejoin.engines.hits import ExcludedColumns, Hits
from lakejoin.engines.overlap import OverlapIndex
from lakejoin.engines.overlap.read_costs import ReadCosts
from lakejoin.kernels.token_groups import group_pairs
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.postings import Postings, PostingsComponent

Found = list[tuple[int, int, int]]

KINDS = ("merge", "stopping", "probe", "josie")
# What is dear and what is free decides what is read, and never what is found.
COSTS = {
    "usual": ReadCosts(),
    "lists are dear": ReadCosts(1e6, 1e6, 0.0, 0.0, 0.0),
    "sets are dear": ReadCosts(1e4, 1e4, 1e9, 1e9, 0.0),
    "looks are dear": ReadCosts(1e4, 1e3, 1e3, 10.0, 1e6),
    "entries are dear": ReadCosts(0.0, 1e4, 2e4, 1e3, 1.0),
    "nothing costs": ReadCosts(0.0, 0.0, 0.0, 0.0, 0.0),
}

_ODD = np.uint64(0x9E3779B97F4A7C15)  # times an odd number: no two tokens get one hash


def ranked(
    matched: Sequence[Sequence[int]],
    sizes: Sequence[Sequence[int]],
    k: int,
    excluded: ExcludedColumns | None = None,
) -> Found:
    """(segment, column, matched) of the k best, from the figures of every column by segment."""
    found = []
    for segment, (own, of) in enumerate(zip(matched, sizes, strict=True)):
        hidden = set(excluded.columns[segment].tolist()) if excluded else set()
        for column, (score, size) in enumerate(zip(own, of, strict=True)):
            if score > 0 and column not in hidden:
                found.append((-score, size, segment, column))
    return [(segment, column, -score) for score, _, segment, column in sorted(found)[:k]]


def answered(hits: Hits) -> Found:
    """What an engine found, in the form of `ranked`."""
    return list(
        zip(hits.segment.tolist(), hits.column.tolist(), hits.matched.tolist(), strict=True)
    )


class PlainSets:
    """The sets of one segment as integers, and what `PostingsComponent` asks for.

    Column c holds `tokens[start[c]:start[c + 1]]`, and is searched if `indexed[c]`.
    """

    def __init__(self, tokens: Array, start: Array, indexed: Array) -> None:
        self.tokens, self.start, self.indexed = tokens, start, indexed
        self.groups = group_pairs(lambda: tokens.astype(np.uint64) * _ODD, start, indexed)
        by_code = tokens[self.groups.first_pair]
        self._code = np.argsort(by_code)
        self._token = by_code[self._code]

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]], indexed: Sequence[bool] | None = None) -> PlainSets:
        """From sets of numbers; without `indexed` all are searched."""
        parts = [np.unique(np.fromiter(values, dtype=np.int64)) for values in sets]
        start = np.concatenate(([0], np.cumsum([len(p) for p in parts]))).astype(np.int64)
        tokens = np.concatenate([*parts, np.zeros(0, dtype=np.int64)])
        searched = np.ones(len(parts), dtype=bool) if indexed is None else np.array(indexed, bool)
        return cls(tokens, start, searched)

    @property
    def column_count(self) -> int:
        return len(self.indexed)

    def posting_lists(self) -> tuple[Array, Array, Array]:
        return self.groups.group_start, self.groups.list_start, self.groups.list_columns

    def repeats(self, _: int) -> Array | None:
        return None

    def set_of(self, column: int) -> Array:
        """A column's tokens."""
        return self.tokens[self.start[column] : self.start[column + 1]]

    def codes_of(self, query: Array) -> Array:
        """The ascending codes of those tokens that the segment has."""
        if len(self._token) == 0:
            return np.zeros(0, dtype=np.uint32)
        place = np.minimum(np.searchsorted(self._token, query), len(self._token) - 1)
        return np.sort(self._code[place[self._token[place] == query]]).astype(np.uint32)

    def sizes(self) -> Array:
        """How many values every column has; none where it is not searched."""
        return np.where(self.indexed, np.diff(self.start), 0)

    def overlaps(self, query: Array) -> Array:
        """How many of the query's values every column has; none where it is not searched."""
        shared = np.concatenate(([0], np.cumsum(np.isin(self.tokens, query))))
        return np.where(self.indexed, np.diff(shared[self.start]), 0)

    def write(self, file: Path) -> Postings:
        """The postings of these sets, written to a file."""
        with ArrayFileWriter(Location.of(str(file))) as out:
            PostingsComponent().build(self, out)
        return open_postings(file)


def open_postings(file: Path) -> Postings:
    """Postings mapped afresh: none of their blocks is verified yet."""
    return Postings(ArrayFile(Location.of(str(file))))


def best_of(
    segments: Sequence[PlainSets], query: Array, k: int, excluded: ExcludedColumns | None = None
) -> Found:
    """What a search for some tokens must find."""
    return ranked(
        [s.overlaps(query).tolist() for s in segments],
        [s.sizes().tolist() for s in segments],
        k,
        excluded,
    )


class Sets:
    """Segments of plain sets with an index over them."""

    def __init__(self, folder: Path, segments: Sequence[PlainSets]) -> None:
        self.segments = segments
        self.files = [folder / f"{n}.lj" for n in range(len(segments))]
        self.postings = [s.write(f) for s, f in zip(segments, self.files, strict=True)]

    def index(self, costs: ReadCosts | None = None) -> OverlapIndex:
        return OverlapIndex(self.postings, costs or ReadCosts())

    def codes(self, query: Array) -> list[Array]:
        return [s.codes_of(query) for s in self.segments]

    def agree(
        self,
        index: OverlapIndex,
        query: Array,
        k: int,
        excluded: ExcludedColumns | None = None,
        kinds: Sequence[str] = KINDS,
    ) -> None:
        """Asserts that the algorithms find what brute force does, each twice in the same room."""
        expected = best_of(self.segments, query, k, excluded)
        codes = self.codes(query)
        for kind in (*kinds, *kinds):
            assert answered(index.search(codes, k, kind, excluded)) == expected, (kind, k)


def drawn(rng: np.random.Generator, columns: int, largest: int, vocabulary: int) -> PlainSets:
    """Sets of Zipfian sizes: some of common tokens, some a stretch of a domain, some copies."""
    sizes = np.minimum(largest, (3 / rng.random(columns) ** 1.2)).astype(np.int64)
    sizes[rng.random(columns) < 0.02] = 0
    column = np.repeat(np.arange(columns), sizes)
    common = (vocabulary * rng.random(len(column)) ** 3).astype(np.int64)
    begin = np.cumsum(sizes) - sizes
    domain = rng.integers(0, 8, columns) * (vocabulary // 4)
    near = np.repeat(domain, sizes) + np.arange(len(column)) - np.repeat(begin, sizes)
    tokens = np.where(rng.random(len(column)) < np.repeat(rng.random(columns), sizes), common, near)
    pairs = np.unique(column << 32 | tokens)
    start = np.searchsorted(pairs >> 32, np.arange(columns + 1))
    return PlainSets(pairs & 0xFFFFFFFF, start.astype(np.int64), rng.random(columns) < 0.97)
