"""The vectors of segments against plain Python, and what becomes of them as they are damaged."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.encoders import Encoder, open_encoder
from lakejoin.errors import BuildFailed, DamagedIndex
from lakejoin.locations import Location
from lakejoin.store import meaning_vectors as meaning_module
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.meaning_vectors import MeaningComponent, StoredVectorEncoder, all_store_vectors
from lakejoin.store.segment import COMPONENTS, Segment, add_components
from lakejoin.store.segment_builder import SegmentBuilder
from oracle.lakes import PlainTable, canonical_columns, encoded

_QUICK = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))

TEXTUAL = {"text", "mixed"}
SMALL = [
    PlainTable("a.csv", {"city": ["Bern", "Oslo", "bern ", None], "n": ["1", "2", "3", "4"]}),
    PlainTable(
        "b.csv", {"town": ["Thun", "Oslo", "2", "x y"], "share": ["0.5", "1.5", "2.5", "3.5"]}
    ),
]


def characters() -> Encoder:
    return open_encoder("characters")


IDENTITY = characters().identity


def segment_of(
    folder: Path | str, tables: Sequence[PlainTable], keep: bool = False, every: bool = False
) -> Segment:
    builder = SegmentBuilder(Location.of(folder) / "s", every)
    for table in tables:
        builder.add(encoded(table))
    component = MeaningComponent(characters, IDENTITY, keep, "characters")
    return Segment(Location.of(folder) / "s", builder.finish((*COMPONENTS, component)))


def texts_by_hand(segment: Segment, tables: Sequence[PlainTable]) -> set[str]:
    """The distinct values of the searched columns of text, by plain Python."""
    columns = [cells for table in tables for cells in canonical_columns(encoded(table))]
    types = segment.catalog.columns["type"].cast(pa.string()).to_pylist()
    kinds = zip(types, segment.indexed.tolist(), columns, strict=True)
    return {
        cell
        for kind, indexed, cells in kinds
        if indexed and kind in TEXTUAL
        for cell in cells
        if cell is not None
    }


def holds(segment: Segment, tables: Sequence[PlainTable]) -> None:
    """All that is promised of a segment's vectors."""
    kept = segment.meaning
    codes = kept.codes.all()
    assert (np.diff(codes.astype(np.int64)) > 0).all(), "codes ascend"
    texts = segment.dictionary.texts.take(codes)
    assert set(texts.to_pylist()) == texts_by_hand(segment, tables)
    assert (kept.identity, kept.encoder_name) == (IDENTITY, "characters")
    assert kept.compact.count == len(kept) == len(texts)
    assert sorted(kept.compact.order.tolist()) == list(range(len(kept)))
    source = kept.source(segment.dictionary.texts, characters())
    assert (source.count, source.dimension) == (len(kept), kept.dimension)
    ids = np.arange(len(kept))[::-1]
    assert np.array_equal(source.take(ids), characters().encode(texts)[::-1])
    assert np.array_equal(kept.ids_of(codes), np.arange(len(kept)))
    assert not [p for p in segment.check() if "damaged" in p]


_values = st.one_of(
    st.sampled_from(["Bern", "bern ", "Zürich", "7", "7.0", "2020-01-02", "x" * 300, "日本", ""]),
    st.integers(0, 40).map(str),
    st.text(max_size=8),
    st.none(),
)


@given(
    tables=st.lists(st.lists(st.lists(_values, max_size=12), min_size=1, max_size=3), max_size=3),
    keep=st.booleans(),
    every=st.booleans(),
)
@_QUICK
def test_all_values_of_text_columns_have_vectors(tables: Any, keep: bool, every: bool) -> None:
    plain = []
    for number, columns in enumerate(tables):
        rows = min(map(len, columns))
        cells = {f"c{i}": column[:rows] for i, column in enumerate(columns)}
        plain.append(PlainTable(f"t{number}.csv", cells))
    with tempfile.TemporaryDirectory() as folder:
        holds(segment_of(folder, plain, keep, every), plain)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(
    "tables",
    [
        [],
        [PlainTable("n.csv", {"n": ["1", "2"]})],
        [PlainTable("n.csv", {"n": [None, None]})],
        [PlainTable("one.csv", {"name": ["Bern", "Bern"]})],
        [PlainTable("many.csv", {"name": [f"street {i} of town {i % 7}" for i in range(3000)]})],
        SMALL,
    ],
    ids=["empty", "numbers", "nulls", "one value", "many", "small"],
)
def test_lakes_of_every_size(tmp_path: Path, tables: list[PlainTable], keep: bool) -> None:
    holds(segment_of(tmp_path, tables, keep), tables)


def test_a_value_counts_where_a_text_column_holds_it(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    texts = segment.dictionary.texts.take(segment.meaning.codes.all()).to_pylist()
    assert "2" in texts, "b.csv has it among its towns"
    assert not {"1", "3"} & set(texts), "a.csv has them as numbers"
    assert segment.has_meaning.tolist() == [True, False, True, False]


def test_full_vectors_are_kept_where_asked(tmp_path: Path) -> None:
    kept = segment_of(tmp_path / "kept", SMALL, keep=True).meaning
    assert kept.vectors is not None
    assert len(kept.vectors) == len(kept) * kept.dimension
    segment = segment_of(tmp_path / "other", SMALL)
    assert segment.meaning.vectors is None
    with pytest.raises(ValueError, match="an encoder characters 1"):
        segment.meaning.source(segment.dictionary.texts, None)


def test_few_bytes_are_kept_of_a_value(tmp_path: Path) -> None:
    names = [f"{i % 91} {'abcdefghij'[i % 10] * 3} street, {i} town" for i in range(20_000)]
    segment = segment_of(tmp_path, [PlainTable("a.csv", {"address": names})])
    size = segment.record.components["meaning"].bytes
    assert size / len(segment.meaning) <= 80 + (1 << 17) / len(names), "the axes are kept once"


def test_a_slow_encoder_sees_every_text_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def lengths(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[len(text), 1.0] for text in texts]

    monkeypatch.setattr(meaning_module, "_BATCH", 7)
    encoder = open_encoder(lengths)
    seen.clear()
    names = [f"name {'x' * (1 + i % 30)} {i}" for i in range(100)]
    plain = segment_of(tmp_path, [PlainTable("a.csv", {"name": names})])
    component = MeaningComponent(lambda: encoder, encoder.identity, keep=True)
    record = add_components(Segment(plain.location, plain.record), [component])
    assert sorted(seen) == sorted(names)
    kept = Segment(plain.location, record).meaning
    source = kept.source(plain.dictionary.texts, None)
    texts = plain.dictionary.texts.take(kept.codes.all())
    assert np.array_equal(source.take(np.arange(100)), encoder.encode(texts))
    assert kept.encoder_name is None


def test_the_encoder_must_be_the_one_that_was_meant(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    other = MeaningComponent(characters, "words 1 {}")
    with pytest.raises(BuildFailed, match="but this index uses"):
        add_components(segment, [other])


def test_a_segment_without_vectors_says_how_to_get_them(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    components = {n: c for n, c in segment.record.components.items() if n != "meaning"}
    older = Segment(segment.location, replace(segment.record, components=components))
    assert not [p for p in older.check() if "vectors" in p]
    with pytest.raises(DamagedIndex, match=r"has no meaning; .*: lakejoin index --with meaning"):
        _ = older.meaning


@pytest.mark.parametrize("keep", [False, True])
def test_damage_is_found(tmp_path: Path, keep: bool) -> None:
    segment = segment_of(tmp_path, SMALL, keep)
    path = tmp_path / "s" / segment.record.components["meaning"].file
    whole = path.read_bytes()
    for place in range(0, len(whole), len(whole) // 30):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with pytest.raises(DamagedIndex, match=path.name):
            list(Segment(segment.location, segment.record).check())
    path.write_bytes(whole[:-100])
    with pytest.raises(DamagedIndex, match="bytes and should have"):
        _ = Segment(segment.location, segment.record).meaning


class _Wrong:
    """Vectors of other values than the text columns hold, or that say nothing of their encoder."""

    name, version, made_with = "meaning", 1, "wrong"

    def __init__(self, codes: list[int], **meta: Any) -> None:
        self._codes = np.array(codes, dtype=np.uint32)
        self._meta = meta

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        MeaningComponent(characters, IDENTITY).build(source, out)
        out.meta.update(self._meta)
        out.add("codes", self._codes)


def test_vectors_of_other_values_are_noticed(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    right = segment.meaning.codes.all().tolist()
    spare = next(c for c in range(len(segment.dictionary)) if c not in right)
    others = sorted([spare, *right[1:]])
    record = add_components(segment, [_Wrong(others)])  # type: ignore[list-item]
    with pytest.raises(DamagedIndex, match="vectors match the texts"):
        list(Segment(segment.location, record).check())
    out_of_order = _Wrong([*right[1:], right[0]])
    for wrong in (
        out_of_order,
        _Wrong(right[1:]),
        _Wrong(right, identity=""),
        _Wrong(right, dimension=0),
    ):
        record = add_components(segment, [wrong])  # type: ignore[list-item]
        with pytest.raises(DamagedIndex, match="inconsistent"):
            list(Segment(segment.location, record).check())


def test_kept_vectors_stand_for_the_encoder(tmp_path: Path) -> None:
    one = segment_of(tmp_path / "one", SMALL[:1], keep=True)
    other = segment_of(tmp_path / "other", SMALL[1:], keep=True)
    assert all_store_vectors([one.record, other.record])
    assert not all_store_vectors([one.record, segment_of(tmp_path / "third", SMALL).record])
    known = StoredVectorEncoder([one, other])
    assert (known.identity, known.dimension) == (IDENTITY, one.meaning.dimension)
    texts = pa.array(["thun", "bern", "oslo", "2"], pa.large_string())
    assert np.array_equal(known.encode(texts), characters().encode(texts))
    with pytest.raises(BuildFailed, match="no vector is stored for 'paris'"):
        known.encode(pa.array(["bern", "paris"], pa.large_string()))
