"""The super keys of segments against plain Python, and what becomes of them as a lake changes."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakejoin
from fake_spark import FakeSpark
from lakejoin.errors import DamagedIndex, InputError
from lakejoin.locations import Location
from lakejoin.pipeline.build import Cluster
from lakejoin.pipeline.compaction import compact_index
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.row_filters import (
    BloomFilter,
    XashFeatures,
    XashFilter,
    ones_needed,
    xash_numbers,
)
from lakejoin.store.segment import Segment, add_components, default_components
from lakejoin.store.segment_builder import SegmentBuilder
from lakejoin.store.super_keys import FILTER_KINDS, SuperKeyComponent, SuperKeyOptions, SuperKeys
from oracle import superkeys as oracle
from oracle.lakes import PlainTable, canonical_columns, encoded

_QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))

_values = st.one_of(
    st.sampled_from(["Bern", "bern ", "Zürich", "7", "7.0", "2020-01-02", "x" * 300, "日本", ""]),
    st.integers(0, 400).map(str),
    st.text(max_size=8),
    st.none(),
)


@st.composite
def _tables(draw: st.DrawFn) -> list[PlainTable]:
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


def segment_of(folder: Path | str, tables: list[PlainTable], options: SuperKeyOptions) -> Segment:
    builder = SegmentBuilder(Location.of(folder) / "s")
    for table in tables:
        builder.add(encoded(table))
    return Segment(Location.of(folder) / "s", builder.finish(default_components(128, options)))


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
    options: SuperKeyOptions, searched: list[list[tuple[Any, ...]]], columns: list[int]
) -> list[oracle.Hash]:
    """The hash of each table, from nothing but the values."""
    kind, bits = options.kind, options.bits
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


def agrees(segment: Segment, tables: list[PlainTable], options: SuperKeyOptions) -> None:
    kept = segment.superkeys
    assert (kept.kind, kept.bits, kept.words) == (options.kind, options.bits, options.bits // 64)
    searched = searched_rows(segment, tables)
    widths = [len(t.columns) for t in tables]
    ends = np.cumsum(widths).tolist()
    columns = [int(segment.indexed[e - w : e].sum()) for e, w in zip(ends, widths, strict=True)]
    for number, hash_of in enumerate(by_hand(options, searched, columns)):
        rows = searched[number]
        keys = kept.of_table(number)
        expected = oracle.to_words([oracle.super_key(row, hash_of) for row in rows], options.bits)
        assert np.array_equal(keys, expected)
        texts = sorted({v for row in rows for v in row if v is not None})
        asked = kept.of_texts(pa.array([*texts, None], pa.large_string()), number)
        single = oracle.to_words([*(hash_of(t) for t in texts), frozenset()], options.bits)
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


@pytest.mark.parametrize("kind", [k for k in FILTER_KINDS if k != "simhash"])
@_QUICK
@given(tables=_tables(), bits=st.sampled_from([128, 256, 512]))
def test_super_keys_of_random_lakes(kind: str, tables: list[PlainTable], bits: int) -> None:
    options = SuperKeyOptions(kind, bits)
    with tempfile.TemporaryDirectory() as folder:
        agrees(segment_of(folder, tables, options), tables, options)


SMALL = [
    PlainTable("a.csv", {"x": ["Ann", "Bob", None], "y": ["UK", "uk", "US"], "z": ["1", "2", "3"]}),
    PlainTable("b.csv", {"x": ["0.5", "1.25"], "y": ["Ann", "Zoë"]}),
    PlainTable("c.csv", {"x": [None, None]}),
]


@pytest.mark.parametrize("kind", FILTER_KINDS)
def test_super_keys_of_a_small_lake(kind: str, tmp_path: Path) -> None:
    options = SuperKeyOptions(kind, 128)
    segment = segment_of(tmp_path, SMALL, options)
    agrees(segment, SMALL, options)
    assert not segment.superkeys.of_table(2).any(), "nulls add nothing"
    assert segment.indexed.tolist() == [True, True, True, False, True, False]
    groups = segment.superkeys.groups().tolist()
    assert groups == ([24, 24, 24] if kind == "fitted" else [0, 0, 0])


def test_a_lake_of_many_rows_goes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakejoin.store.super_keys._PART", 1000)
    monkeypatch.setattr("lakejoin.store.row_filters._SLICE", 700)
    table = PlainTable(
        "t.csv",
        {"few": [f"f{i % 300}" for i in range(5000)], "many": [f"m {i}" for i in range(5000)]},
    )
    for kind in ("xash", "fitted"):
        options = SuperKeyOptions(kind, 256)
        tables = [SMALL[0], table, SMALL[1]]
        agrees(segment_of(tmp_path / kind, tables, options), tables, options)


@pytest.mark.parametrize(
    "parts",
    [
        XashFeatures(True, False, False, False),
        XashFeatures(False, True, False, False),
        XashFeatures(True, True, False, False),
        XashFeatures(True, True, True, False),
        XashFeatures(True, True, True, True),
    ],
)
def test_the_parts_of_xash_come_back_from_the_file(parts: XashFeatures, tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL, SuperKeyOptions())
    place = Location.of(tmp_path / "parts.lj")
    with ArrayFileWriter(place) as out:
        SuperKeyComponent(SuperKeyOptions("xash", 256), parts).build(segment, out)
    kept = SuperKeys(ArrayFile(place, out.record))
    assert isinstance(kept.filter, XashFilter)
    alpha = ones_needed(256, len(segment.dictionary) - segment.postings.unsearched)
    assert kept.filter.numbers.tolist() == xash_numbers(256, alpha, parts).tolist()
    ann = kept.of_texts(pa.array(["ann"], pa.large_string()), 0)[0]
    assert not np.any(ann & ~kept.of_table(0)[0])
    assert np.bitwise_count(ann).sum() == parts.length + parts.characters * (alpha - 1)


def test_a_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    for broken, said in (({"kind": "later"}, "upgrade lakejoin"), ({"bits": 256}, "inconsistent")):
        place = Location.of(tmp_path / "x.lj")
        with ArrayFileWriter(place) as out:
            segment = segment_of(tmp_path, SMALL, SuperKeyOptions("bloom"))
            SuperKeyComponent(SuperKeyOptions("bloom")).build(segment, out)
            out.meta.update(broken)
        with pytest.raises(DamagedIndex, match=said):
            SuperKeys(ArrayFile(place, out.record))


def test_damage_is_noticed_before_keys_are_used(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL, SuperKeyOptions())
    file = Path((segment.location / segment.record.components["superkeys"].file).uri)
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedIndex, match="do not match their checksum"):
        Segment(segment.location, segment.record).superkeys.of_table(0)


def test_a_segment_without_super_keys_is_sound(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL, SuperKeyOptions())
    kept = {n: c for n, c in segment.record.components.items() if n != "superkeys"}
    older = Segment(segment.location, replace(segment.record, components=kept))
    assert "super keys match the rows" not in list(older.check())
    with pytest.raises(DamagedIndex, match="has no superkeys; update it with: lakejoin index"):
        _ = older.superkeys


def test_other_kinds_and_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="unknown row filter 'md5'; use one of xash, bloom"):
        SuperKeyOptions("md5")
    with pytest.raises(InputError, match="128, 256 or 512 bits, not 64"):
        SuperKeyOptions(bits=64)


def test_wrong_keys_are_noticed(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL, SuperKeyOptions())
    other = SuperKeyComponent(SuperKeyOptions("xash"), XashFeatures(rotation=False))
    record = add_components(
        Segment(segment.location, segment.record),
        [_Wrong(other)],  # type: ignore[list-item]
    )
    with pytest.raises(DamagedIndex, match="super keys match the rows"):
        list(Segment(segment.location, record).check())


class _Wrong:
    """Super keys whose parameters say something else than they were made with."""

    name, version, made_with = "superkeys", 1, "wrong"

    def __init__(self, honest: SuperKeyComponent) -> None:
        self._honest = honest

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        self._honest.build(source, out)
        alpha = ones_needed(128, len(source.dictionary) - source.postings.unsearched)
        out.add("numbers", xash_numbers(128, alpha, XashFeatures()))


# -- a lake that changes -----------------------------------------------------------------------

Index = Callable[..., Any]

PEOPLE = "name,town,year\nAnn,Bern,1980\nBob,Oslo,1990\nEve,Thun,2001\n"


def hash_in(kept: SuperKeys, table: int) -> oracle.Hash:
    """What a table's values are hashed with, by the parameters that the segment keeps."""
    if isinstance(kept.filter, BloomFilter):
        hashes = kept.filter.hashes.tolist()
        return oracle.Bloom(kept.bits, hashes[table] if len(hashes) > 1 else hashes[0])
    assert isinstance(kept.filter, XashFilter)
    order = np.argsort(kept.filter.rank_of).tolist()
    letters = "".join(oracle.ALPHABET[c] for c in order)
    return oracle.Xash(kept.bits, int(kept.filter.numbers[2]) + 1, letters)


def every_row_is_covered(folder: Path) -> dict[str, int]:
    """Compares all live tables with plain Python under each segment's own parameters."""
    found = {}
    snapshot = lakejoin.open(folder).snapshot
    for segment, table in snapshot.tables():
        kept = segment.superkeys
        hash_of = hash_in(kept, table.table_id)
        texts = segment.dictionary.texts.take(np.arange(len(segment.dictionary))).to_pylist()
        columns = [
            [None if c == 0xFFFFFFFF else texts[c] for c in segment.rows.codes(n, table.rows)]
            for n in range(table.first, table.first + table.width)
            if segment.indexed[n]
        ]
        rows = list(zip(*columns, strict=True)) if columns else [()] * table.rows
        expected = oracle.to_words([oracle.super_key(row, hash_of) for row in rows], kept.bits)
        assert np.array_equal(kept.of_table(table.table_id), expected)
        found[table.name] = table.rows
    assert not [c for c in snapshot.check() if c.problem]
    return found


@pytest.mark.parametrize("kind", ["fitted", "xash"])
def test_super_keys_follow_the_lake(kind: str, lake: Path, index: Index, tmp_path: Path) -> None:
    home = tmp_path / "index"
    (lake / "people.csv").write_text(PEOPLE)
    index(lake, super_key_kind=kind)
    assert every_row_is_covered(home)["people.csv"] == 3
    changes = {
        "rows added": PEOPLE + "Ivo,Genève,1970\nŁukasz,Łódź,1999\n",
        "a column added": "name,town,year,code\nAnn,Bern,1980,CH\nBob,Oslo,1990,NO\n",
        "a column removed": "name,year\nAnn,1980\nBob,1990\nEve,2001\n",
        "a cell changed": "name,year\nAnn,1981\nBob,1990\nEve,2001\n",
        "rows removed": "name,year\nAnn,1981\n",
    }
    for what, text in changes.items():
        (lake / "people.csv").write_text(text)
        assert index(lake).changed == 1, what
        assert every_row_is_covered(home)["people.csv"] == text.count("\n") - 1, what
    (lake / "more.csv").write_text("a,b\nx,y\n")
    (lake / "people.csv").unlink()
    index(lake)
    names = every_row_is_covered(home)
    assert "more.csv" in names
    assert "people.csv" not in names
    compact_index(Location.of(home), Cluster(FakeSpark()), lambda progress: None)
    assert every_row_is_covered(home) == names
    fresh = tmp_path / "fresh"
    lakejoin.index([lake], fresh, spark=FakeSpark())
    assert every_row_is_covered(fresh) == names


def test_other_super_keys_come_without_reading_files(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sizes() -> set[tuple[str, int]]:
        segments = lakejoin.open(tmp_path / "index").snapshot.segments
        return {(s.superkeys.kind, s.superkeys.bits) for s in segments}

    index(lake, memory=1)
    (lake / "people.csv").write_text(PEOPLE)
    index(lake, super_key_kind="xash", super_key_bits=512)
    assert sizes() == {("xash", 512)}, "in all segments, old and new"
    assert every_row_is_covered(tmp_path / "index")["people.csv"] == 3
    monkeypatch.setattr("lakejoin.pipeline.segment_tasks.tables_of", None)
    report = index(lake)
    assert (report.version, sizes()) == (2, {("xash", 512)}), "a refresh keeps them"
    folders = list((tmp_path / "index" / "segments").iterdir())
    assert any(len(list(f.glob("superkeys-*"))) == 2 for f in folders), "older readers may go on"
    monkeypatch.setattr("lakejoin.store.commit.KEEP_SECONDS", -1.0)
    monkeypatch.setattr("lakejoin.store.commit.clean_index.__defaults__", (-1.0,))
    report = index(lake, super_key_kind="bloom", super_key_bits=256)
    assert all(len(list(f.glob("superkeys-*"))) == 1 for f in folders), "but not for ever"
    assert (report.version, report.unchanged) == (3, 6)
    assert sizes() == {("bloom", 256)}
    assert not [c for c in lakejoin.open(tmp_path / "index").snapshot.check() if c.problem]
    with pytest.raises(InputError, match="bits, not 100"):
        index(lake, super_key_bits=100)
