"""Seeded lakes with composite keys planted, and the partial matches that make false positives.

    python benchmarks/nary_lake.py FOLDER [--kind open-data] [--cells 4000000]

Every table draws its columns from a few shared domains (see `nary_words`), so that any one column
of a key matches nearly everywhere. For each query there are tables that hold a known share of its
combinations, the columns in another order and among others, and *decoys* that hold the same values
in rows that do not match. Web tables have 5 columns on average, open data 26, as in the paper.

The index is written by the segment builder in this process, without files of the tables.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from lakejoin.locations import Location
from lakejoin.model import Array, ColumnData, ColumnProfile, TableData, null_id
from lakejoin.store.manifest import IndexOptions, Manifest, Totals
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.segment import Segment
from lakejoin.store.segment_builder import SegmentBuilder
from lakejoin.store.snapshot import Snapshot
from lakejoin.values.column_encoder import narrow_ids
from nary_words import Vocabulary, make_vocabulary

VERSION = 2
NULLS = 0.02  # of the cells of background tables
SEGMENTS = 2
LONGEST_KEY = 10


@dataclass(frozen=True, slots=True)
class Shape:
    """What the tables of a kind of lake are like, and its queries.

    `bands` are the upper limits of the queries' combinations, as in the paper's table 1.
    """

    widths: tuple[int, int]
    median_rows: int
    spread: float
    most_rows: int
    bands: tuple[int, ...]
    queries: int
    holders: int
    decoys: int


SHAPES = {
    "web-table": Shape((3, 7), 12, 1.1, 2_000, (10, 100, 1_000), 10, 10, 10),
    "open-data": Shape((16, 36), 400, 1.3, 40_000, (100, 1_000, 10_000), 6, 8, 8),
}


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """A key that was planted: numbers of values, a row a combination, and its columns' domains."""

    name: str
    band: int
    domains: tuple[int, ...]
    values: Array

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Made:
    """A table before it is encoded: columns of value numbers (-1 is a null) and their domains."""

    name: str
    columns: list[Array]
    domains: list[int]


class Plan:
    """What a lake holds, drawn from its seed."""

    def __init__(self, kind: str, cells: int, queries: int = 0, seed: int = 1) -> None:
        self.kind, self.cells, self.seed = kind, cells, seed
        self.shape = SHAPES[kind]
        self.vocabulary: Vocabulary = make_vocabulary(seed)
        rng = np.random.default_rng([seed, 1])
        count = queries or self.shape.queries
        self.queries = [
            self._query(rng, band, n) for band in range(len(self.shape.bands)) for n in range(count)
        ]
        self.long = self._long_query(rng) if kind == "open-data" else None

    def _query(self, rng: np.random.Generator, band: int, number: int) -> Planted:
        high = self.shape.bands[band]
        low = high // 10 if band else 2
        n = int(np.exp(rng.uniform(np.log(low), np.log(max(low + 1, 0.4 * high)))))
        domains = rng.choice(self.vocabulary.shared(), 2, replace=False)
        name = f"{self.kind} ({high:,}) {number}"
        return Planted(name, band, tuple(domains.tolist()), self._combinations(rng, domains, n))

    def _long_query(self, rng: np.random.Generator) -> Planted:
        domains = rng.choice(self.vocabulary.shared(), LONGEST_KEY, replace=False)
        combinations = self._combinations(rng, domains, 1_000)
        return Planted("ten columns", -1, tuple(domains.tolist()), combinations)

    def _combinations(self, rng: np.random.Generator, domains: Array, n: int) -> Array:
        drawn = [self.vocabulary.draw(rng, int(d), 4 * n) for d in domains]
        distinct = np.unique(np.stack(drawn, axis=1), axis=0)
        return distinct[rng.permutation(len(distinct))[:n]]

    # -- tables --------------------------------------------------------------------------------

    def tables(self) -> list[Made]:
        """All tables, in an order that has nothing to do with what they hold."""
        rng = np.random.default_rng([self.seed, 2])
        made = list(self._background(rng))
        for query in self.queries:
            for i in range(self.shape.holders):
                made.append(self._holder(rng, query, (i + 1) / self.shape.holders, i))
            made += [self._decoy(rng, query, i) for i in range(self.shape.decoys)]
        if self.long is not None:
            made += [self._partly(rng, self.long, i) for i in range(20)]
        return [made[i] for i in rng.permutation(len(made))]

    def _background(self, rng: np.random.Generator) -> Iterator[Made]:
        cells = number = 0
        while cells < self.cells:
            rows = self._rows(rng)
            made = self._filled(rng, f"background/{number}", rows, {}, [])
            cells += rows * len(made.columns)
            number += 1
            yield made

    def _rows(self, rng: np.random.Generator) -> int:
        drawn = self.shape.median_rows * np.exp(rng.normal(0, self.shape.spread))
        return int(np.clip(drawn, 1, self.shape.most_rows))

    def _filled(
        self,
        rng: np.random.Generator,
        name: str,
        rows: int,
        given: dict[int, Array],
        domains_given: list[int],
    ) -> Made:
        """A table whose other columns are drawn; the given ones stand anywhere among them."""
        low, high = self.shape.widths
        width = max(int(rng.integers(low, high + 1)), len(given) + 1)
        domains = rng.integers(0, len(self.vocabulary.names), width - len(given)).tolist()
        columns = [self.vocabulary.draw(rng, d, rows) for d in domains]
        for column in columns:
            if rng.random() < 0.3:
                column[rng.random(rows) < NULLS] = -1
        columns += list(given.values())
        domains += domains_given
        order = rng.permutation(width).tolist()
        return Made(name, [columns[i] for i in order], [domains[i] for i in order])

    def _keyed(self, rng: np.random.Generator, query: Planted, name: str, key: Array) -> Made:
        """A table with these rows of key values, and others whose parts are drawn one by one."""
        more = max(2, len(key) // 2)
        drawn = [self.vocabulary.draw(rng, d, more) for d in query.domains]
        both = np.concatenate([key, np.stack(drawn, axis=1)])
        both = both[rng.permutation(len(both))]
        given = {j: both[:, j] for j in range(both.shape[1])}
        return self._filled(rng, name, len(both), given, list(query.domains))

    def _holder(self, rng: np.random.Generator, query: Planted, share: float, i: int) -> Made:
        kept = rng.permutation(len(query))[: max(1, round(share * len(query)))]
        rows = np.repeat(kept, rng.integers(1, 3, len(kept)))
        return self._keyed(rng, query, f"{query.name}/holds {i}", query.values[rows])

    def _decoy(self, rng: np.random.Generator, query: Planted, i: int) -> Made:
        apart = [column[rng.permutation(len(query))] for column in query.values.T]
        return self._keyed(rng, query, f"{query.name}/decoy {i}", np.stack(apart, axis=1))

    def _partly(self, rng: np.random.Generator, query: Planted, i: int) -> Made:
        """Rows that hold the first parts of a combination, more or fewer, and else any values."""
        key = query.values[rng.integers(0, len(query), 1_500)].copy()
        depth = rng.integers(1, LONGEST_KEY + 1, len(key))
        for j, domain in enumerate(query.domains):
            gone = depth <= j
            key[gone, j] = self.vocabulary.draw(rng, domain, int(gone.sum()))
        return self._keyed(rng, query, f"{query.name}/{i}", key)

    # -- queries -------------------------------------------------------------------------------

    def frame(self, query: Planted, columns: int | None = None) -> pa.Table:
        """A query as a table of texts, all its columns or the first of them."""
        wanted = range(len(query.domains) if columns is None else columns)
        return pa.table(
            {
                f"{j} {self.vocabulary.names[query.domains[j]]}": self.vocabulary.texts.take(
                    pa.array(query.values[:, j])
                )
                for j in wanted
            }
        )


def encoded(made: Made, vocabulary: Vocabulary) -> TableData:
    """A table as the builder takes it; its values are canonical already."""
    rows = len(made.columns[0])
    columns = []
    for place, (values, domain) in enumerate(zip(made.columns, made.domains, strict=True)):
        distinct, cells = np.unique(values, return_inverse=True)
        nulls = 0
        if len(distinct) and distinct[0] < 0:
            missing = cells == 0
            nulls = int(missing.sum())
            distinct = distinct[1:]
            cells = narrow_ids(np.where(missing, 0, cells - 1), len(distinct))
            cells[missing] = null_id(cells.dtype)
        else:
            cells = narrow_ids(cells, len(distinct))
        profile = ColumnProfile(
            vocabulary.types[domain], rows, nulls, len(distinct),
            len(distinct) / max(1, rows - nulls), 1, 24, 8.0, 0.5,
        )  # fmt: skip
        texts = vocabulary.texts.take(pa.array(distinct))
        name = f"{vocabulary.names[domain]} {place}"
        none = vocabulary.texts.slice(0, 0)
        columns.append(ColumnData(name, profile, texts, none, np.zeros(0, np.uint32), cells))
    return TableData(made.name, made.name, rows, tuple(columns))


def build(plan: Plan, folder: Path) -> Snapshot:
    """Writes the index of a plan's tables below `folder`, or opens the one that is there."""
    place = Location.of(folder)
    record = folder / "lake.json"
    wanted = {"kind": plan.kind, "cells": plan.cells, "queries": len(plan.queries),
              "seed": plan.seed, "version": VERSION}  # fmt: skip
    if record.exists() and json.loads(record.read_text()) == wanted:
        return Snapshot(place)
    if folder.exists():
        if not record.exists() and any(folder.iterdir()):
            raise SystemExit(f"{folder} holds something else; remove it or name another folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    builders = [SegmentBuilder(place / "segments" / f"s{n}") for n in range(SEGMENTS)]
    tables = plan.tables()
    for number, made in enumerate(tables):
        builders[number % SEGMENTS].add(encoded(made, plan.vocabulary))
    records = tuple(builder.finish([PostingsComponent()]) for builder in builders)
    totals = Totals(tables=len(tables))
    manifest = Manifest(1, options=IndexOptions(), segments=records, totals=totals)
    (place / "MANIFEST.json").replace(manifest.to_bytes())
    record.write_text(json.dumps(wanted) + "\n")
    return Snapshot(place)


@dataclass(frozen=True, slots=True)
class Counted:
    """How large a lake is."""

    tables: int
    columns: int
    rows: int
    cells: int
    values: int
    pairs: int

    @classmethod
    def of(cls, segments: tuple[Segment, ...]) -> Counted:
        """The sums over the segments."""
        names = ("tables", "columns", "rows", "cells", "values", "pairs")
        return cls(*(sum(getattr(s.record, name) for s in segments) for name in names))

    def __str__(self) -> str:
        width = self.columns / max(1, self.tables)
        return (
            f"{self.tables:,} tables, {width:.1f} columns each, {self.rows / 1e6:.2f} M rows, "
            f"{self.cells / 1e6:.1f} M cells, {self.values / 1e6:.2f} M values"
        )


def main() -> None:
    """Makes one lake and prints how large it is."""
    parser = argparse.ArgumentParser(description="Make a lake with planted composite keys.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", choices=list(SHAPES), default="open-data")
    parser.add_argument("--cells", type=int, default=4_000_000, help="of the background tables")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.perf_counter()
    plan = Plan(options.kind, options.cells, seed=options.seed)
    snapshot = build(plan, options.folder)
    print(Counted.of(snapshot.segments), f"\n{time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
