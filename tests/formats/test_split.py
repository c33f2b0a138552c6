"""The pieces of a file, one after the other, are the whole file."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.formats.file_chunks import (
    FileChunk,
    open_chunk,
    plan_chunks,
    resolve_chunks,
    scan_chunk,
)
from lakejoin.formats.file_reader import Table, open_tables
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import Loss, ReadLimits, SourceFile

LIMITS = ReadLimits(batch_bytes=1 << 10)
CELL = st.text(alphabet='ab19 ,"\n\ré', max_size=8)
RAW = st.text(alphabet='ab19 ,"\né', max_size=12)
QUICK = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def source_of(path: Path) -> SourceFile:
    stat = path.stat()
    return SourceFile(path.name, str(path), stat.st_size, stat.st_mtime_ns)


def whole(source: SourceFile, limits: ReadLimits = LIMITS) -> Table:
    (stream,) = open_tables(source, limits)
    assert isinstance(stream, TableStream)
    return Table.of(stream)


def split_file(source: SourceFile, chunk_bytes: int, limits: ReadLimits) -> list[FileChunk]:
    """The chunks of a file, scanned one after the other; none if it cannot be cut."""
    split = plan_chunks(source, chunk_bytes, limits)
    if split is None:
        return []
    count = len(split.row_groups) or len(split.cuts)
    return resolve_chunks(split, [scan_chunk(split, number) for number in range(count)], limits)


def same_as_whole(path: Path, piece_bytes: int, limits: ReadLimits = LIMITS) -> int:
    """Checks that pieces and whole agree in rows and losses; gives the number of pieces."""
    source = source_of(path)
    expected = whole(source, limits)
    pieces = pickle.loads(pickle.dumps(split_file(source, piece_bytes, limits)))
    if not pieces:
        return 0
    tables = [Table.of(open_chunk(piece, limits)) for piece in pieces]
    assert all(t.column_names == expected.column_names for t in tables)
    assert pa.concat_tables(t.rows for t in tables).equals(expected.rows)
    assert _counts([loss for t in tables for loss in t.losses]) == _counts(expected.losses)
    return len(pieces)


def _counts(losses: list[Loss] | tuple[Loss, ...]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for loss in losses:
        counts[loss.reason] = counts.get(loss.reason, 0) + loss.count
    return counts


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


@QUICK
@given(
    st.lists(st.tuples(CELL, CELL, CELL), min_size=2, max_size=30),
    st.integers(1, 60),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "A title\n\n", "\ufeff"]),
    st.sampled_from(["", "\n\nSource: us\n", ",,\n,,\n"]),
)
def test_quoted_tables(
    tmp_path: Path, rows: list[tuple[str, str, str]], size: int, end: str, top: str, bottom: str
) -> None:
    lines = [",".join(map(quoted, row)) for row in [("id", "name", "town"), *rows]]
    path = tmp_path / "t.csv"
    path.write_bytes((top + "".join(line + end for line in lines) + bottom).encode())
    same_as_whole(path, size)


@QUICK
@given(st.lists(st.tuples(RAW, RAW, RAW), min_size=2, max_size=30), st.integers(1, 60))
def test_tables_with_stray_quotes_and_ragged_rows(
    tmp_path: Path, rows: list[tuple[str, str, str]], size: int
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("".join(",".join(row) + "\n" for row in [("x", "y", "z"), *rows]).encode())
    try:
        whole(source_of(path))
    except Exception as problem:  # noqa: BLE001 (such texts need not hold a table)
        assert "empty" in str(problem)
        return
    same_as_whole(path, size)


def test_every_encoding_that_keeps_bytes(tmp_path: Path) -> None:
    text = "id,näme\n" + "".join(f"{i},Zoë “{i}”\n" for i in range(300))
    for encoding, cut in (("utf-8", 8), ("utf-8-sig", 8), ("cp1252", 8), ("utf-16", 0)):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(text.encode(encoding))
        assert same_as_whole(path, path.stat().st_size // 8 + 1) == cut


def test_bytes_that_are_not_utf8_and_nul(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = b"".join(b"%d,caf\xc3\xa9 %d\n" % (i, i) for i in range(100))
    path.write_bytes(b"id,name\n" + rows + b"100,caf\xe9\n101,a\x00b\n" + rows)
    assert same_as_whole(path, 500) > 3


def test_a_piece_without_a_record(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,2\n3,"' + "long\n" * 200 + '"\n5,6\n')
    assert same_as_whole(path, 50) > 1


def test_irregular_quotes_are_cut_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = "".join(f'{i},{i}" pipe,"a, ""b"" {i}"\n' for i in range(400))
    path.write_text("id,size,note\n" + lines)
    assert same_as_whole(path, 2000) > 3


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [
        {"id": i, "name": f"n\n{i}", **({"extra": [i]} if i % 7 == 3 else {})} for i in range(200)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "oops\n")
    assert same_as_whole(path, 700) > 5


def test_parquet_by_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path, row_group_size=100)
    assert same_as_whole(path, 1000) > 3


@pytest.mark.parametrize("name", ["t.csv.gz", "t.json"])
def test_what_cannot_be_cut(tmp_path: Path, name: str) -> None:
    import gzip

    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000, 0))
    else:
        path.write_text(json.dumps([{"a": i} for i in range(1000)]))
    assert plan_chunks(source_of(path), 100, LIMITS) is None


def test_pieces_do_not_depend_on_the_batch_size(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f'{i},"x\n{i}"\n' for i in range(500)))
    for batch in (64, 1000, 1 << 20):
        assert same_as_whole(path, 800, replace(LIMITS, batch_bytes=batch)) > 3
