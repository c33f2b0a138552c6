"""The super keys of segments against plain Python, and what becomes of them as a lake changes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

import lakejoin
from fake_spark import FakeSpark
from lakejoin.errors import DamagedIndex, InputError
from lakejoin.locations import Location
from lakejoin.pipeline.compaction import compact_index
from lakejoin.spark import Cluster
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.index_records import SuperKeyOptions
from lakejoin.store.manifest import Manifest, read_manifest
from lakejoin.store.segment import Segment, add_components
from lakejoin.store.super_keys import BloomFilter, SuperKeyComponent, SuperKeys
from oracle import superkeys as oracle
from oracle.lakes import PlainTable
from published.row_filters import PUBLISHED
from store.checked_super_keys import MANY_ROWS, QUICK, SMALL, agrees, segment_of, tables_to_filter


@QUICK
@given(tables=tables_to_filter(), bits=st.sampled_from([128, 256, 512]))
def test_super_keys_of_random_lakes(tables: list[PlainTable], bits: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        agrees(segment_of(folder, tables, bits), tables, "fitted", bits)


def test_super_keys_of_a_small_lake(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    agrees(segment, SMALL, "fitted", 128)
    assert not segment.superkeys.of_table(2).any(), "nulls add nothing"
    assert segment.indexed.tolist() == [True, True, True, False, True, False]
    assert segment.superkeys.groups().tolist() == [24, 24, 24]


def test_a_lake_of_many_rows_goes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakejoin.store.super_keys._PART", 1000)
    monkeypatch.setattr("lakejoin.store.super_keys._SLICE", 700)
    tables = [SMALL[0], MANY_ROWS, SMALL[1]]
    agrees(segment_of(tmp_path, tables, 256), tables, "fitted", 256)


def test_names_on_disk_stay(tmp_path: Path) -> None:
    """An index that was built before opens with its super keys in use."""
    segment = segment_of(tmp_path, SMALL, 256)
    assert segment.record.components["superkeys"].made_with == "fitted-256"
    assert segment.file("superkeys").meta == {"kind": "fitted", "bits": 256}
    assert isinstance(segment.superkeys.filter, BloomFilter)
    options = json.loads(Manifest().to_bytes())["options"]
    assert options["super_keys"] == {"kind": "fitted", "bits": 128}


def test_a_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    for broken, said in (({"kind": "later"}, "another kind"), ({"bits": 256}, "inconsistent")):
        place = Location.of(tmp_path / "x.lj")
        with ArrayFileWriter(place) as out:
            segment = segment_of(tmp_path, SMALL)
            SuperKeyComponent().build(segment, out)
            out.meta.update(broken)
        with pytest.raises(DamagedIndex, match=said):
            SuperKeys(ArrayFile(place, out.record))


def test_damage_is_noticed_before_keys_are_used(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    file = Path((segment.location / segment.record.components["superkeys"].file).uri)
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedIndex, match="do not match their checksum"):
        Segment(segment.location, segment.record).superkeys.of_table(0)


def test_a_segment_without_super_keys_is_sound(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    kept = {n: c for n, c in segment.record.components.items() if n != "superkeys"}
    older = Segment(segment.location, replace(segment.record, components=kept))
    assert "super keys match the rows" not in list(older.check())
    assert not older.has_super_keys
    assert older.superkeys is None, "it is searched without them"


def test_other_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="128, 256 or 512 bits, not 64"):
        SuperKeyOptions(bits=64)


def test_wrong_keys_are_noticed(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    record = add_components(
        Segment(segment.location, segment.record),
        [_Wrong(SuperKeyComponent())],  # type: ignore[list-item]
    )
    with pytest.raises(DamagedIndex, match="super keys match the rows"):
        list(Segment(segment.location, record).check())


class _Wrong:
    """Super keys whose parameters say something else than they were made with."""

    name, version, made_with = "superkeys", 1, "fitted-wrong"

    def __init__(self, honest: SuperKeyComponent) -> None:
        self._honest = honest

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        self._honest.build(source, out)
        out.add("hashes", np.full(len(SMALL), 3, dtype=np.uint8))


# -- a lake that changes -----------------------------------------------------------------------

Index = Callable[..., Any]

PEOPLE = "name,town,year\nAnn,Bern,1980\nBob,Oslo,1990\nEve,Thun,2001\n"


def hash_in(kept: SuperKeys, table: int) -> oracle.Hash:
    """What a table's values are hashed with, by the parameters that the segment keeps."""
    assert isinstance(kept.filter, BloomFilter)
    hashes = kept.filter.hashes.tolist()
    return oracle.Bloom(kept.bits, hashes[table] if len(hashes) > 1 else hashes[0])


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


def test_super_keys_follow_the_lake(lake: Path, index: Index, tmp_path: Path) -> None:
    home = tmp_path / "index"
    (lake / "people.csv").write_text(PEOPLE)
    index(lake)
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
    compact_index(Location.of(home), Cluster(FakeSpark()).start, lambda progress: None)
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
    index(lake, super_key_bits=512)
    assert sizes() == {("fitted", 512)}, "in all segments, old and new"
    assert every_row_is_covered(tmp_path / "index")["people.csv"] == 3
    monkeypatch.setattr("lakejoin.pipeline.segment_tasks.tables_of", None)
    report = index(lake)
    assert (report.version, sizes()) == (2, {("fitted", 512)}), "a refresh keeps them"
    folders = list((tmp_path / "index" / "segments").iterdir())
    assert any(len(list(f.glob("superkeys-*"))) == 2 for f in folders), "older readers may go on"
    monkeypatch.setattr("lakejoin.store.commit.KEEP_SECONDS", -1.0)
    monkeypatch.setattr("lakejoin.store.history.KEEP_SECONDS", -1.0)
    report = index(lake, super_key_bits=256)
    assert all(len(list(f.glob("superkeys-*"))) == 1 for f in folders), "but not for ever"
    assert (report.version, report.unchanged) == (3, 6)
    assert sizes() == {("fitted", 256)}
    assert not [c for c in lakejoin.open(tmp_path / "index").snapshot.check() if c.problem]
    with pytest.raises(InputError, match="bits, not 100"):
        index(lake, super_key_bits=100)


def with_kind(home: Path, row_filter: type[BloomFilter]) -> None:
    """Turns an index into one as older versions built it, with super keys of another kind."""
    manifest = read_manifest(Location.of(home))
    component = SuperKeyComponent(SuperKeyOptions(bits=256), row_filter)
    records = tuple(add_components(s, [component]) for s in lakejoin.open(home).snapshot.segments)
    body = replace(manifest, segments=records).to_bytes()
    text = body.rpartition(b',"checksum"')[0] + b"}"
    text = text.replace(
        b'"kind":"fitted","bits":128', b'"kind":"%b","bits":256' % row_filter.kind.encode()
    )
    digest = xxhash.xxh3_64_hexdigest(text)
    (home / "MANIFEST.json").write_bytes(text[:-1] + f',"checksum":"{digest}"}}\n'.encode())


@pytest.mark.parametrize("row_filter", PUBLISHED.values())
def test_super_keys_of_another_kind_are_rebuilt(
    row_filter: type[BloomFilter],
    lake: Path,
    index: Index,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer() -> tuple[list[tuple[str, tuple[str, ...], int]], tuple[str, ...]]:
        mine = pa.table({"n": ["Ann", "Bob", "Ann"], "y": ["1980", "1990", "1990"]})
        answer = lakejoin.open(home).composite(mine, on=["n", "y"])
        return [(r.table, r.columns, r.matched) for r in answer], answer.notes

    home = tmp_path / "index"
    index(lake, memory=1)
    (lake / "people.csv").write_text(PEOPLE)
    index(lake)
    expected, notes = answer()
    assert expected == [("people.csv", ("name", "year"), 2)]
    assert notes == ()
    with_kind(home, row_filter)
    snapshot = lakejoin.open(home).snapshot
    assert {s.file("superkeys").meta["kind"] for s in snapshot.segments} == {row_filter.kind}
    assert not [c for c in snapshot.check() if c.problem]
    found, (note,) = answer()
    assert found == expected
    assert note.startswith("this index has super keys of a kind that is no longer used, so every")
    assert note.endswith(f"rebuild them with: lakejoin index --index {home}")
    monkeypatch.setattr("lakejoin.pipeline.segment_tasks.tables_of", None)
    assert index(lake).version == 3
    assert answer() == (expected, ())
    assert {s.superkeys.bits for s in lakejoin.open(home).snapshot.segments} == {256}
    assert every_row_is_covered(home)["people.csv"] == 3
    assert index(lake).version == 3, "once is enough"
