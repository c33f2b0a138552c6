"""Small lakes that are searched for composite keys, beside what brute force sees of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from lakejoin.engines.composite.engine import Mate
from lakejoin.engines.composite.hits import KeyHits
from lakejoin.engines.composite.query import KeyQuery, key_query
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.model import ValueRules
from lakejoin.search.query_tables import FrameTable
from lakejoin.store.index_records import SuperKeyOptions
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.segment import Component, Segment
from lakejoin.store.segment_tables import SegmentTables
from lakejoin.store.super_keys import BloomFilter, SuperKeyComponent
from oracle import mate as oracle
from oracle.lakes import Cells, PlainTable
from oracle.search import lake_of
from published.mate import ROW_FILTERS, PublishedMate, PublishedOptions
from published.row_filters import filtered_segment

INITIAL = ("items", "cardinality")
EVERY = [
    PublishedOptions(row_filter, bounds, initial)
    for row_filter, bounds, initial in product(ROW_FILTERS, (True, False), INITIAL)
]


def components(
    options: SuperKeyOptions | None = None, row_filter: type[BloomFilter] = BloomFilter
) -> tuple[Component, ...]:
    return PostingsComponent(), SuperKeyComponent(options or SuperKeyOptions(), row_filter)


class KeyLake:
    """A small lake, opened, beside what brute force sees of it."""

    def __init__(
        self,
        folder: Path,
        groups: Sequence[Sequence[PlainTable]],
        every: bool = True,
        keys: SuperKeyOptions | None = None,
        row_filter: type[BloomFilter] = BloomFilter,
    ) -> None:
        lake = lake_of(folder, groups, every, components=components(keys, row_filter))
        self.segments: tuple[Segment, ...] = lake.snapshot.segments
        if row_filter is not BloomFilter:
            self.segments = tuple(filtered_segment(s, row_filter) for s in self.segments)
        self.plain = [
            [
                oracle.Columns.of(table, indexed[first : first + len(table.columns)])
                for table, first in zip(tables, places.first.tolist(), strict=True)
            ]
            for tables, places, indexed in (
                (tables, SegmentTables(segment), segment.indexed.tolist())
                for tables, segment in zip(groups, self.segments, strict=True)
            )
        ]

    def excluded(self, hidden: Sequence[Sequence[int]]) -> ExcludedColumns:
        """All columns of the hidden tables."""
        return ExcludedColumns(
            [
                SegmentTables(segment).columns_of(np.array(sorted(tables), dtype=np.int64))
                for segment, tables in zip(self.segments, hidden, strict=True)
            ]
        )

    def first(self, segment: int, table: int) -> int:
        return int(SegmentTables(self.segments[segment]).first[table])

    def agree(
        self,
        mine: PlainTable,
        k: int,
        options: Sequence[PublishedOptions] = EVERY,
        fixed: Sequence[str | None] = (),
        hidden: Sequence[Sequence[int]] = (),
    ) -> list[oracle.Score]:
        """Asserts that every option finds what brute force does, down to the mappings."""
        query, wanted = asked(mine, fixed)
        known = self._known(wanted, fixed)
        expected = oracle.top(self.plain, known, k, hidden)
        excluded = self.excluded(hidden) if hidden else None
        ours = [Mate(k, initial) for initial in sorted({one.initial for one in options}, key=str)]
        for engine in (*ours, *(PublishedMate(k, one) for one in options)):
            hits = engine.search(query, self.segments, excluded)
            assert answered(hits) == expected, engine
            self._mappings_agree(hits, known)
            assert len(hits.mapping) == len(hits.runner_up) == len(expected)
            counters = hits.counters
            assert 0 <= counters.rows_true <= counters.rows_passed <= counters.rows_seen
            assert len(expected) <= counters.tables_read <= counters.tables
        return expected

    def _known(
        self, wanted: Sequence[oracle.Combination], fixed: Sequence[str | None]
    ) -> list[list[oracle.Joinability]]:
        return [[oracle.joinability(t, wanted, fixed) for t in tables] for tables in self.plain]

    def _mappings_agree(
        self, hits: KeyHits, joinable: Sequence[Sequence[oracle.Joinability]]
    ) -> None:
        for i, (segment, table, matched) in enumerate(answered(hits)):
            known = joinable[segment][table]
            first = self.first(segment, table)
            best, second = hits.mapping[i], hits.runner_up[i]
            places = tuple(column - first for column in best.columns)
            assert places in known.best_mappings()
            assert best.matched == matched
            assert (None if second is None else second.matched) == known.next_best()
            if second is not None:
                others = tuple(column - first for column in second.columns)
                assert others != places
                assert known.scores[others] == second.matched


def asked(
    mine: PlainTable, fixed: Sequence[str | None] = ()
) -> tuple[KeyQuery, list[oracle.Combination]]:
    """The query that all columns of a table make, and its combinations by brute force."""
    frame = pa.table({name: pa.array(cells, pa.string()) for name, cells in mine.columns.items()})
    own = FrameTable(frame, ValueRules(), mine.name)
    query = key_query(own, range(len(mine.columns)), fixed)
    key = oracle.Columns.of(mine, [True] * len(mine.columns)).columns
    counted = oracle.combinations(key)
    wanted = list(counted)
    assert combinations_of(query) == wanted
    assert query.counts.tolist() == list(counted.values())
    assert len(query) == len(wanted)
    assert query.rows == mine.rows
    return query, wanted


def combinations_of(query: KeyQuery) -> list[oracle.Combination]:
    tokens = [part.to_pylist() for part in query.tokens]
    return [
        tuple(tokens[part][value] for part, value in enumerate(row))
        for row in query.combinations.tolist()
    ]


def answered(hits: KeyHits) -> list[oracle.Score]:
    return list(zip(hits.segment.tolist(), hits.table.tolist(), hits.matched.tolist(), strict=True))


@contextmanager
def key_lake(
    groups: Sequence[Sequence[PlainTable]],
    every: bool = True,
    keys: SuperKeyOptions | None = None,
    row_filter: type[BloomFilter] = BloomFilter,
) -> Iterator[KeyLake]:
    with tempfile.TemporaryDirectory() as folder:
        yield KeyLake(Path(folder), groups, every, keys, row_filter)


def plain(name: str, *columns: Cells) -> PlainTable:
    return PlainTable(name, {f"c{i}": cells for i, cells in enumerate(columns)})


_cells = st.one_of(
    st.sampled_from(["a", "A", "b", "B ", "Zoë", "ZOË", "ﬁne", "日本", "😀", "x" * 300, "", None]),
    st.integers(0, 6).map(str),
    st.text(max_size=3),
)


@st.composite
def _tables(draw: st.DrawFn, pool: Sequence[str | None], width: int, rows: int) -> PlainTable:
    """Cells drawn from one pool, so that values stand in every column; some columns repeat."""
    number = st.integers(0, len(pool) - 1)
    columns: list[Cells] = []
    for _ in range(width):
        kind = draw(st.sampled_from(["drawn", "drawn", "drawn", "copy", "constant"]))
        if kind == "copy" and columns:
            columns.append(draw(st.sampled_from(columns)))
        elif kind == "constant":
            columns.append([pool[draw(number)]] * rows)
        else:
            drawn = draw(st.lists(number, min_size=rows, max_size=rows))
            columns.append([pool[place] for place in drawn])
    return plain("", *columns)


@st.composite
def key_lakes(draw: st.DrawFn) -> tuple[list[list[PlainTable]], PlainTable]:
    """Segments of tables and a table of mine, all with cells of the same few values."""
    pool = draw(st.lists(_cells, min_size=1, max_size=8))
    shapes = st.tuples(st.integers(1, 5), st.sampled_from([0, 1, 2, 6, 15]))
    segments = draw(st.lists(st.lists(shapes, max_size=4), min_size=1, max_size=5))
    groups = [
        [
            PlainTable(f"{s}-{t}.csv", draw(_tables(pool, *shape)).columns)
            for t, shape in enumerate(tables)
        ]
        for s, tables in enumerate(segments)
    ]
    wide, rows = draw(st.integers(2, 4)), draw(st.sampled_from([1, 2, 6, 15]))
    return groups, PlainTable("mine.csv", draw(_tables(pool, wide, rows)).columns)


def loses_no_row(lake: KeyLake, mine: PlainTable) -> None:
    """Asserts that searches with super keys find what brute force and the other filters find."""
    query, _ = asked(mine)
    for bounds, k in product((True, False), (1, 100)):
        lake.agree(mine, k, [PublishedOptions("superkeys", bounds)])
    # Nothing is left out for want of rank: the rows that count are the same for all.
    true = {
        row_filter: PublishedMate(100, PublishedOptions(row_filter, False)).search(
            query, lake.segments
        )
        for row_filter in ROW_FILTERS
    }
    assert len({hits.counters.rows_true for hits in true.values()}) == 1


def agrees_on_near_misses(folder: Path, bits: int, row_filter: type[BloomFilter]) -> None:
    """A lake of near misses: the same values in every column, few rows that count."""
    rng = np.random.default_rng(bits)
    words = ["oslo", "bern", "ulm", "zoë", "日本", "x" * 40, "7", "1999", "new york", "😀"]
    groups = [
        [plain(f"{s}-{t}.csv", *_drawn(rng, words, 5, 120)) for t in range(6)] for s in range(2)
    ]
    mine = plain("mine.csv", *_drawn(rng, words, 3, 60))
    lake = KeyLake(folder, groups, keys=SuperKeyOptions(bits=bits), row_filter=row_filter)
    query, wanted = asked(mine)
    lake.agree(mine, 3, [PublishedOptions(bounds=b) for b in (True, False)])
    hits = PublishedMate(100, PublishedOptions(bounds=False)).search(query, lake.segments)
    true = [sum(oracle.true_rows(t, wanted)) for tables in lake.plain for t in tables]
    assert hits.counters.rows_true == sum(true)
    if row_filter.kind != "simhash":  # which passes nearly all
        assert hits.counters.rows_passed < hits.counters.rows_seen, "the filter is used"


def _drawn(rng: np.random.Generator, words: Sequence[str], width: int, rows: int) -> list[Cells]:
    return [[words[i] for i in rng.integers(0, len(words), rows)] for _ in range(width)]
