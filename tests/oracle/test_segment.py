"""Segments against brute force: rows, sets, multiplicities, posting lists, groups, look-ups."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.errors import DamagedIndex
from lakejoin.kernels import hashes
from lakejoin.locations import Location
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.index_records import ComponentRecord
from lakejoin.store.segment import COMPONENTS, Segment
from lakejoin.store.segment_builder import SegmentBuilder, live_tables
from oracle.lakes import PlainTable, canonical_columns, counts, encoded, posting_lists

_QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

_values = st.one_of(
    st.sampled_from(
        ["a", "A", "b", "B ", "c", "7", "7.0", "x" * 300, "Zoë", "ZOË", "n/a", "", None]
    ),
    st.integers(0, 30).map(str),
    st.text(max_size=6),
    st.none(),
)


@st.composite
def _tables(draw: st.DrawFn, name: str) -> PlainTable:
    width = draw(st.integers(0, 4))
    rows = draw(st.sampled_from([0, 1, 2, 5, 20, 300]))
    pool = draw(st.lists(_values, min_size=1, max_size=12))
    columns = {}
    for c in range(width):
        if draw(st.booleans()):
            columns[f"c{c}"] = (
                draw(st.lists(_values, min_size=rows, max_size=rows))
                if rows <= 20
                else [f"{name}-{c}-{i}" for i in range(rows)]
            )
        else:
            columns[f"c{c}"] = [pool[(i * 7 + c) % len(pool)] for i in range(rows)]
    return PlainTable(name, columns)


_lakes = st.integers(1, 5).flatmap(lambda n: st.tuples(*(_tables(f"t{i}.csv") for i in range(n))))


def build(folder: Path | str, tables: list[PlainTable], all_columns: bool = True) -> Segment:
    """A segment of these tables."""
    place = Location.of(folder) / "s"
    builder = SegmentBuilder(place, all_columns=all_columns)
    for table in tables:
        builder.add(encoded(table))
    return Segment(place, builder.finish(COMPONENTS))


def agrees(segment: Segment, tables: list[PlainTable]) -> None:
    """Asserts everything that the segment says of these tables."""
    data = [encoded(t) for t in tables]
    columns = [cells for table in data for cells in canonical_columns(table)]
    names = [c.name for table in data for c in table.columns]
    assert segment.catalog.columns["name"].to_pylist() == names
    texts = segment.dictionary.texts.take(np.arange(len(segment.dictionary))).to_pylist()
    assert sorted(texts) == sorted({v for cells in columns for v in cells if v is not None})
    indexed = segment.indexed.tolist()
    sets = []
    for number, cells in enumerate(columns):
        expected = counts(cells)
        codes, multiplicity = segment.rows.set_with_counts(number, len(cells))
        assert {texts[c]: m for c, m in zip(codes, multiplicity, strict=True)} == expected
        if indexed[number]:
            assert segment.postings.codes_of(number).tolist() == codes.tolist()
            assert segment.postings.repeats_of(number).tolist() == multiplicity.tolist()
            assert segment.postings.set_sizes()[number] == len(expected)
        sets.append(set(expected) if indexed[number] else None)
    lists_agree(segment, texts, posting_lists(sets))
    look_ups_agree(segment, texts)
    rows_agree(segment, tables)
    assert list(segment.check())


def lists_agree(segment: Segment, texts: list[str], lists: dict[str, tuple[int, ...]]) -> None:
    starts = segment.postings.group_start().tolist()
    seen = []
    for group in range(segment.postings.groups):
        columns = tuple(segment.postings.columns_of(group).tolist())
        for code in range(starts[group], starts[group + 1]):
            assert lists.get(texts[code], ()) == columns
        seen.append(columns)
    assert len(set(seen)) == len(seen), "equal posting lists form one group"
    assert [len(c) for c in seen] == sorted(len(c) for c in seen), "groups rise in frequency"
    rebuilt = Segment(segment.location, segment.record).posting_lists()
    assert rebuilt[0].tolist() == starts
    assert len(rebuilt[1]) == len(starts)


def look_ups_agree(segment: Segment, texts: list[str]) -> None:
    asked = [*texts, "nowhere", None, *reversed(texts)]
    found = segment.dictionary.find(pa.array(asked, pa.large_string())).tolist()
    known = {text: code for code, text in enumerate(texts)}
    missing = int(NOT_FOUND)
    assert found == [missing if a is None else known.get(a, missing) for a in asked]


def rows_agree(segment: Segment, tables: list[PlainTable]) -> None:
    for number, table in enumerate(tables):
        entry = segment.catalog.table(number)
        assert (entry.name, entry.rows, entry.width) == (
            table.name,
            table.rows,
            len(table.columns),
        )
        shown = segment.to_arrow(entry)
        data = encoded(table)
        for got, cells, canonical in zip(
            shown.columns, table.columns.values(), canonical_columns(data), strict=True
        ):
            expected = [c if v is not None else None for c, v in zip(cells, canonical, strict=True)]
            assert got.to_pylist() == expected
        middle = segment.to_arrow(entry, 1, 3)
        assert middle.columns == shown.slice(1, 2).columns


@_QUICK
@given(_lakes, st.booleans())
def test_segment_agrees_with_brute_force(lake: tuple[PlainTable, ...], every: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        agrees(build(folder, list(lake), every), list(lake))


@_QUICK
@given(_lakes, st.data())
def test_merging_segments_loses_nothing(lake: tuple[PlainTable, ...], data: st.DataObject) -> None:
    tables = list(lake)
    cut = data.draw(st.integers(0, len(tables)))
    with tempfile.TemporaryDirectory() as folder:
        parts = [
            build(Path(folder) / str(i), part)
            for i, part in enumerate((tables[:cut], tables[cut:]))
        ]
        place = Location.of(folder) / "merged"
        builder = SegmentBuilder(place, all_columns=True)
        for part in parts:
            for table in live_tables(part):
                builder.add(table)
        agrees(Segment(place, builder.finish(COMPONENTS)), tables)


@pytest.mark.parametrize("bad_seeds", [1, 3])
def test_equal_hashes_of_different_texts_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad_seeds: int
) -> None:
    honest = hashes.hash_strings
    seeds: list[int] = []

    def poor(offsets: np.ndarray, data: np.ndarray, seed: np.uint64, out: np.ndarray) -> None:
        honest(offsets, data, seed, out)
        if int(seed) not in seeds:
            seeds.append(int(seed))
        if seeds.index(int(seed)) < bad_seeds:
            out &= np.uint64(0xF << 60 | 0x3)

    monkeypatch.setattr(hashes, "hash_strings", poor)
    tables = [
        PlainTable(
            "a", {"x": [f"v{i}" for i in range(500)], "y": [f"V{i % 50}" for i in range(500)]}
        ),
        PlainTable("b", {"z": [f"v{i}" for i in range(250, 750)]}),
    ]
    segment = build(tmp_path, tables)
    assert segment.dictionary.seed == seeds[bad_seeds]
    agrees(segment, tables)


def test_texts_that_collide_under_one_seed_do_not_under_another() -> None:
    """Two-word texts made to collide: the second word makes up for what the first one changes."""
    inverse = pow(int(hashes._K1), -1, 1 << 64)
    first = np.frombuffer(b"collides", "<u8")[0]
    other = np.frombuffer(b"COLLIDES", "<u8")[0]

    def after_one_word(word: np.uint64) -> int:
        start = (16 * int(hashes._K3)) % (1 << 64)
        h = ((start ^ (int(word) * int(hashes._K1)) % (1 << 64)) * int(hashes._K2)) % (1 << 64)
        return ((h << 29) | (h >> 35)) % (1 << 64)

    change = (after_one_word(first) ^ after_one_word(other)) % (1 << 64)
    tail = int(np.frombuffer(b"together", "<u8")[0])
    other_tail = ((tail * int(hashes._K1) ^ change) * inverse) % (1 << 64)
    data = np.frombuffer(
        b"collides" + tail.to_bytes(8, "little") + b"COLLIDES" + other_tail.to_bytes(8, "little"),
        np.uint8,
    )
    offsets, out = np.array([0, 16, 32]), np.empty(2, np.uint64)
    hashes.hash_strings(offsets, data, np.uint64(0), out)
    assert out[0] == out[1], "the construction holds for the usual seed"
    for seed in (1, 2, 3, 1 << 40, (1 << 64) - 1):
        hashes.hash_strings(offsets, data, np.uint64(seed), out)
        assert out[0] != out[1]


def test_lists_that_do_not_match_the_sets_are_found(tmp_path: Path) -> None:
    tables = [PlainTable("a", {"x": ["p", "q"], "y": ["q", "r"]})]
    segment = build(tmp_path, tables)
    old = segment.file("postings")
    with ArrayFileWriter(segment.location / "other.lj") as out:
        for name in old.names():
            array = old.array(name).all()
            out.add(name, np.zeros_like(array) if name == "lists" else array)
    wrong = ComponentRecord(3, "other.lj", out.record.bytes, out.record.checksum)
    record = replace(segment.record, components={**segment.record.components, "postings": wrong})
    with pytest.raises(DamagedIndex, match="posting lists"):
        list(Segment(segment.location, record).check())


def test_many_values_in_many_buckets(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    tables = []
    for t in range(6):
        blocks = rng.integers(0, 40, size=rng.integers(1, 12))
        cells = [f"id-{b}-{i}" for b in dict.fromkeys(blocks.tolist()) for i in range(900)]
        tables.append(PlainTable(f"t{t}", {"id": cells, "half": [c[: len(c) - 1] for c in cells]}))
    agrees(build(tmp_path, tables), tables)


def test_an_empty_segment_and_empty_tables(tmp_path: Path) -> None:
    tables = [PlainTable("none", {}), PlainTable("empty", {"a": [], "b": []}),
              PlainTable("nulls", {"a": [None, "", "N/A"]})]  # fmt: skip
    agrees(build(tmp_path / "1", tables), tables)
    agrees(build(tmp_path / "2", []), [])
