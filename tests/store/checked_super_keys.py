"""Segments with super keys, compared with plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from lakejoin.locations import Location
from lakejoin.store.index_records import SuperKeyOptions
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.segment import Segment
from lakejoin.store.segment_builder import SegmentBuilder
from lakejoin.store.super_keys import BloomFilter, SuperKeyComponent
from oracle import superkeys as oracle
from oracle.lakes import PlainTable, canonical_columns, encoded
from published.row_filters import filtered_segment

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))

_values = st.one_of(
    st.sampled_from(["Bern", "bern ", "Zürich", "7", "7.0", "2020-01-02", "x" * 300, "日本", ""]),
    st.integers(0, 400).map(str),
    st.text(max_size=8),
    st.none(),
)


@st.composite
def tables_to_filter(draw: st.DrawFn) -> list[PlainTable]:
    tables = []
    for number in range(draw(st.integers(0, 4))):
        rows = draw(st.sampled_from([0, 1, 3, 20, 300]))
        columns: dict[str, Sequence[str | None]] = {}
        for c in range(draw(st.integers(1, 4))):
            pool = draw(st.lists(_values, min_size=1, max_size=8))
            # Many values make the direct form of rows, few of them the local one.
            many = [f"{number} {c} {i * 7919 % 1009}" for i in range(rows)]
            columns[f"c{c}"] = draw(
                st.sampled_from([many, [pool[(i * 5 + c) % len(pool)] for i in range(rows)]])
            )
        tables.append(PlainTable(f"t{number}.csv", columns))
    return tables


def segment_of(
    folder: Path | str,
    tables: list[PlainTable],
    bits: int = 128,
    row_filter: type[BloomFilter] = BloomFilter,
) -> Segment:
    builder = SegmentBuilder(Location.of(folder) / "s")
    for table in tables:
        builder.add(encoded(table))
    component = SuperKeyComponent(SuperKeyOptions(bits=bits), row_filter)
    record = builder.finish((PostingsComponent(), component))
    segment = Segment(Location.of(folder) / "s", record)
    return segment if row_filter is BloomFilter else filtered_segment(segment, row_filter)


def searched_rows(segment: Segment, tables: list[PlainTable]) -> list[list[tuple[Any, ...]]]:
    """For every table its rows as tuples of the canonical values of searched columns."""
    indexed = iter(segment.indexed.tolist())
    found = []
    for table in tables:
        columns = canonical_columns(encoded(table))
        kept = [cells for cells in columns if next(indexed)]
        found.append(list(zip(*kept, strict=True)) if kept else [()] * table.rows)
    return found


def by_hand(
    kind: str, bits: int, searched: list[list[tuple[Any, ...]]], columns: list[int]
) -> list[oracle.Hash]:
    """The hash of each table, from nothing but the values."""
    values = {v for rows in searched for row in rows for v in row if v is not None}
    average = sum(columns) / len(columns) if columns else 1

    def hashes(count: float, most: int) -> int:
        return min(most, max(1, round(bits / max(count, 1) * np.log(2))))

    def filled(rows: list[tuple[Any, ...]]) -> float:
        return sum(v is not None for row in rows for v in row) / max(len(rows), 1)

    if kind == "xash":
        order = oracle.rarest_first(values)
        return [oracle.Xash(bits, oracle.alpha(bits, len(values)), order)] * len(columns)
    if kind == "simhash":
        return [oracle.SimHash(bits)] * len(columns)
    fixed = {"bloom": hashes(average, 255), "lhbf": 2, "hash": 1}
    return [oracle.Bloom(bits, fixed.get(kind) or hashes(filled(rows), 24)) for rows in searched]


def agrees(segment: Segment, tables: list[PlainTable], kind: str, bits: int) -> None:
    kept = segment.superkeys
    assert kept is not None
    assert (kept.kind, kept.bits, kept.words) == (kind, bits, bits // 64)
    searched = searched_rows(segment, tables)
    widths = [len(t.columns) for t in tables]
    ends = np.cumsum(widths).tolist()
    columns = [int(segment.indexed[e - w : e].sum()) for e, w in zip(ends, widths, strict=True)]
    for number, hash_of in enumerate(by_hand(kind, bits, searched, columns)):
        rows = searched[number]
        keys = kept.of_table(number)
        expected = oracle.to_words([oracle.super_key(row, hash_of) for row in rows], bits)
        assert np.array_equal(keys, expected)
        texts = sorted({v for row in rows for v in row if v is not None})
        asked = kept.of_texts(pa.array([*texts, None], pa.large_string()), number)
        single = oracle.to_words([*(hash_of(t) for t in texts), frozenset()], bits)
        assert np.array_equal(asked, single)
        loses_nothing(keys, rows, dict(zip(texts, asked, strict=False)))
    assert "super keys match the rows" in list(segment.check())


def loses_nothing(keys: Any, rows: list[tuple[Any, ...]], hashes: dict[str, Any]) -> None:
    """A row covers every value of it, and every combination of them."""
    for key, row in list(zip(keys, rows, strict=True))[:20]:
        values = [hashes[v] for v in row if v is not None]
        for size in range(1, len(values) + 1):
            for combination in itertools.combinations(values, size):
                assert not np.any(np.bitwise_or.reduce(combination) & ~key)


SMALL = [
    PlainTable("a.csv", {"x": ["Ann", "Bob", None], "y": ["UK", "uk", "US"], "z": ["1", "2", "3"]}),
    PlainTable("b.csv", {"x": ["0.5", "1.25"], "y": ["Ann", "Zoë"]}),
    PlainTable("c.csv", {"x": [None, None]}),
]

MANY_ROWS = PlainTable(
    "t.csv",
    {"few": [f"f{i % 300}" for i in range(5000)], "many": [f"m {i}" for i in range(5000)]},
)
