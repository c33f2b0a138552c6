"""Runs and times the searches of `nary.py`: options of ours, row filters, and DuckDB."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from lakejoin.engines.composite import KeyCounters
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.index_records import ComponentRecord
from lakejoin.store.segment import Segment
from lakejoin.store.super_keys import SuperKeyComponent
from nary_duckdb import DuckKeys, HashedKey
from nary_queries import Asked
from published.mate import PublishedMate, PublishedOptions
from published.row_filters import filtered_segment

K = 10
OPENED = ("catalog", "dictionary", "rows", "postings", "column_rows", "indexed")


@contextmanager
def with_keys(segments: Sequence[Segment], component: SuperKeyComponent) -> Iterator[list[Segment]]:
    """The same segments with other super keys, which are gone afterwards."""
    made: list[Segment] = []
    files = []
    try:
        for segment in segments:
            name = f"measured-{time.monotonic_ns():x}.lj"
            files.append(segment.location / name)
            with ArrayFileWriter(files[-1]) as out:
                component.build(segment, out)
            record = ComponentRecord(
                component.version, name, out.record.bytes, out.record.checksum, component.made_with
            )
            kept = {**segment.record.components, component.name: record}
            other = Segment(segment.location, replace(segment.record, components=kept))
            # What is opened and verified already is shared.
            other.__dict__.update({n: getattr(segment, n) for n in OPENED})
            made.append(filtered_segment(other, component.row_filter))
        yield made
    finally:
        for file in files:
            Path(str(file)).unlink(missing_ok=True)


@dataclass(slots=True)
class Run:
    """One contender's answers: CPU seconds by query (medians), and what each search counted."""

    name: str
    cpu: Array
    counters: list[KeyCounters] = field(default_factory=list)

    def precision(self, chosen: Array) -> Array:
        """Of the rows that passed, the share that hold a combination: by query.

        Where no row passed, none passed wrongly: one.
        """
        return np.array(
            [
                self.counters[i].rows_true / max(1, self.counters[i].rows_passed)
                if self.counters[i].rows_passed
                else 1.0
                for i in chosen
            ]
        )

    def sums(self, chosen: Array) -> dict[str, int]:
        """What was counted, in all."""
        keys = ("rows_seen", "rows_passed", "rows_true", "tables", "tables_read", "items")
        return {key: int(sum(getattr(self.counters[i], key) for i in chosen)) for key in keys}


@dataclass(slots=True)
class Lake:
    """A lake to search, its queries, and the scores that all contenders must give."""

    name: str
    segments: Sequence[Segment]
    queries: Sequence[Asked]
    scores: list[Array | None] = field(init=False)

    def __post_init__(self) -> None:
        self.scores = [None] * len(self.queries)

    def groups(self) -> dict[str, Array]:
        """The numbers of the queries by group."""
        names = list(dict.fromkeys(query.group for query in self.queries))
        return {
            name: np.array([i for i, q in enumerate(self.queries) if q.group == name])
            for name in names
        }

    def check(self, name: str, i: int, found: Array) -> None:
        """The scores must be those that the first contender gave."""
        known = self.scores[i]
        if known is None:
            self.scores[i] = np.array(found)
        elif not np.array_equal(known, found):
            query = self.queries[i].name
            raise SystemExit(f"{name} disagrees on {query}: {known.tolist()} and {found.tolist()}")


def ours(
    lake: Lake,
    name: str,
    options: PublishedOptions,
    repeats: int,
    segments: Sequence[Segment] | None = None,
) -> Run:
    """Times our search with some options; every query is asked once before it is timed."""
    opened = lake.segments if segments is None else segments
    taken = np.zeros((repeats, len(lake.queries)))
    counters = []
    for i, query in enumerate(lake.queries):
        hits = PublishedMate(K, options).search(query.key, opened, query.excluded)
        lake.check(name, i, hits.matched)
        counters.append(hits.counters)
    for r in range(repeats):
        for i, query in enumerate(lake.queries):
            begin = time.process_time()
            PublishedMate(K, options).search(query.key, opened, query.excluded)
            taken[r, i] = time.process_time() - begin
    return Run(name, np.median(taken, axis=0), counters)


def duckdb(lake: Lake, path: Path, repeats: int) -> Run:
    """Times DuckDB over the same cells; it must give the same scores."""
    peer = DuckKeys(path)
    keys = [HashedKey.of(query.key, query.own) for query in lake.queries]
    for key in keys[:1]:
        peer.search(key, K)
    taken = np.zeros((repeats, len(keys)))
    for r in range(repeats):
        for i, key in enumerate(keys):
            begin = time.process_time()
            found = peer.search(key, K)
            taken[r, i] = time.process_time() - begin
            lake.check("DuckDB", i, found)
    peer.close()
    return Run("DuckDB", np.median(taken, axis=0))


def fetched(lake: Lake, path: Path) -> list[dict[str, float]]:
    """By query: how many cells the initial column fetches, by how it is chosen (7.5.4)."""
    peer = DuckKeys(path)
    rows = []
    for query in lake.queries:
        key = query.key
        items = peer.items(HashedKey.of(key, query.own), lake.segments)
        total = items.sum(axis=1)
        distinct = [len(tokens) for tokens in key.tokens]
        longest = [max(map(len, tokens.to_pylist()), default=0) for tokens in key.tokens]
        chosen = [
            list(PublishedMate(K, PublishedOptions("none")).search(key, [segment]).counters.initial)
            for segment in lake.segments
        ]
        ours_ = sum(
            int(items[key.columns.index(name[0]), s]) if name else 0
            for s, name in enumerate(chosen)
        )
        rows.append(
            {
                "lakejoin": ours_,
                "cardinality": int(total[int(np.argmin(distinct))]),
                "column order": int(total[0]),
                "longest text": int(total[int(np.argmax(longest))]),
                "best": int(total.min()),
                "worst": int(total.max()),
            }
        )
    peer.close()
    return rows
