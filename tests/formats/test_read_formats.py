"""Every format, plain and packed, gives the same table."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc
from pyarrow import parquet as pq

from lakejoin.errors import InputError, UnreadableFile
from lakejoin.formats.file_reader import Table, open_tables, read
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import ReadLimits, Skipped, SourceFile

ROWS = [{"id": i, "town": ["Ulm", "Köln", "Hof"][i % 3], "share": i / 4} for i in range(50)]
TABLE = pa.Table.from_pylist(ROWS)
TEXTS = [{key: str(value) for key, value in row.items()} for row in ROWS]


def csv_bytes() -> bytes:
    lines = ["id,town,share", *(",".join(row.values()) for row in TEXTS)]
    return ("\n".join(lines) + "\n").encode()


def bytes_of(write: Callable[[Any], object]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def arrow_bytes(new: Callable[..., Any]) -> bytes:
    out = io.BytesIO()
    with new(out, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return out.getvalue()


def avro_bytes() -> bytes:
    fastavro = pytest.importorskip("fastavro")
    fields = [("id", "long"), ("town", ["null", "string"]), ("share", "double")]
    schema = {"type": "record", "name": "r", "fields": [{"name": n, "type": t} for n, t in fields]}
    return bytes_of(lambda out: fastavro.writer(out, fastavro.parse_schema(schema), ROWS))


FORMATS: dict[str, Callable[[], bytes]] = {
    "csv": csv_bytes,
    "json": lambda: json.dumps(ROWS).encode(),
    "jsonl": lambda: "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "parquet": lambda: bytes_of(lambda out: pq.write_table(TABLE, out)),
    "arrow": lambda: arrow_bytes(pa.ipc.new_file),
    "arrow stream": lambda: arrow_bytes(pa.ipc.new_stream),
    "orc": lambda: bytes_of(lambda out: orc.write_table(TABLE, out)),
    "avro": avro_bytes,
}


def packed_zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return bytes(out.getvalue())


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": packed_zstd,
}


def texts(table: Table) -> list[dict[str, str]]:
    return [{k: str(v) for k, v in row.items()} for row in table.to_arrow().to_pylist()]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("named", [True, False])
def test_formats_in_packings(tmp_path: Path, form: str, packing: str, named: bool) -> None:
    path = tmp_path / (f"t.{form.split(maxsplit=1)[0]}{packing}" if named else "unnamed")
    path.write_bytes(PACKINGS[packing](FORMATS[form]()))
    table = read(path)
    assert isinstance(table, Table)
    assert texts(table) == TEXTS
    assert table.name == path.name
    assert table.format == form.split(maxsplit=1)[0]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_a_member_twice(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for rows in (1, 2, 3):
            archive.writestr("a.csv", "x,y\n" + "1,one\n" * rows)
    tables = read(path)
    assert isinstance(tables, list)
    assert {t.name: t.to_arrow().num_rows for t in tables} == {
        "t.zip#a.csv": 1,
        "t.zip#a.csv~2": 2,
        "t.zip#a.csv~3": 3,
    }


def test_a_zip_of_everything(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for form, make in FORMATS.items():
            archive.writestr(f"in/{form.replace(' ', '-')}", make())
        archive.writestr("x.csv.gz", gzip.compress(csv_bytes()))
        archive.writestr("page.html", "<html></html>")
        archive.writestr(".hidden", "a,b\n1,2\n")
        archive.writestr("__MACOSX/x.csv", "a,b\n1,2\n")
    found = list(open_tables(source_of(path)))
    skipped = [f for f in found if isinstance(f, Skipped)]
    assert [(s.name, s.reason) for s in skipped] == [("all.zip#page.html", "not a table")]
    tables = read(path)
    assert isinstance(tables, list)
    assert len(tables) == len(FORMATS) + 1
    assert all(texts(table) == TEXTS for table in tables)
    assert "all.zip#in/csv" in {table.name for table in tables}


def source_of(path: Path) -> SourceFile:
    return SourceFile(path.name, str(path), path.stat().st_size, path.stat().st_mtime_ns)


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("create table a (id integer, town text, share real)")
    connection.executemany("insert into a values (:id, :town, :share)", ROWS)
    connection.execute('create table "odd name" (x)')
    connection.executemany('insert into "odd name" values (?)', [(1,), ("b",), (None,), (b"\xff",)])
    connection.commit()
    connection.close()
    tables = read(path)
    assert isinstance(tables, list)
    assert [t.name for t in tables] == ["d.sqlite#a", "d.sqlite#odd name"]
    assert tables[0].to_arrow().schema.types == [pa.int64(), pa.string(), pa.float64()]
    assert texts(tables[0]) == TEXTS
    assert tables[1].to_arrow().column(0).to_pylist() == ["1", "b", None, "\ufffd"]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    cases = {
        "t.parquet": FORMATS["parquet"]()[:-20],
        "t.orc": FORMATS["orc"]()[:40],
        "t.arrow": FORMATS["arrow"]()[:100],
        "t.avro": FORMATS["avro"]()[:30],
        "t.sqlite": b"SQLite format 3\x00" + b"\x01" * 100,
        "t.zip": b"PK\x03\x04" + b"\x00" * 50,
        "t.json": b'{"a": [1, 2',
        "t.csv.gz": gzip.compress(csv_bytes())[:-30],
        "t.csv.bz2": bz2.compress(csv_bytes())[:-30],
    }
    for name, data in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(UnreadableFile, match=f"^{name}"):
            read(path)


def test_limits(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    with pytest.raises(UnreadableFile, match="too large when unpacked"):
        read(path, ReadLimits(expanded_bytes=100_000))
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{i}" for i in range(50)) + "\n" + ",".join("1" * 50) + "\n")
    with pytest.raises(UnreadableFile, match="too many columns"):
        read(wide, ReadLimits(columns=10))
    long = tmp_path / "long.csv"
    long.write_text("a,b\n1,x\n2," + "y" * 500 + "\n3,z\n")
    table = read(long, ReadLimits(cell_bytes=100))
    assert isinstance(table, Table)
    assert table.to_arrow().column("b").to_pylist() == ["x", None, "z"]
    assert [(loss.reason, loss.count) for loss in table.losses] == [("cell over the size limit", 1)]


def test_batches_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i},x{i}\n" for i in range(200_000)))
    (stream,) = open_tables(source_of(path), ReadLimits(batch_bytes=1 << 17))
    assert isinstance(stream, TableStream)
    sizes = [batch.num_rows for batch in stream.batches()]
    assert sum(sizes) == 200_000
    assert max(sizes) < 40_000
    assert sum(batch.num_rows for batch in stream.batches()) == 200_000  # a second time


def test_structs_are_columns_and_lists_are_json_text_too(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table({"a": [[1, 2], None], "b": [{"x": "é"}, {"x": None}], "c": [b"ok", b"\xff"]})
    pq.write_table(table, path)
    read_back = read(path)
    assert isinstance(read_back, Table)
    assert read_back.to_arrow().to_pydict() == {
        "a": ["[1,2]", None],
        "b.x": ["é", None],
        "c": ["ok", "/w=="],
        "_row": read_back.to_arrow().column("_row").to_pylist(),
    }


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([{"a": 1}, {"b": True}], {"a": ["1", None], "b": [None, "true"]}),
        ({"a": [1, 2], "b": ["x", None]}, {"a": ["1", "2"], "b": ["x", None]}),
        ({"meta": 1, "data": [{"a": 1.5}]}, {"a": ["1.5"]}),
        ([["x", "y"], [1, 2]], {"x": ["1"], "y": ["2"]}),
        ([1, "b"], {"value": ["1", "b"]}),
        ({"DE": {"n": 1}, "FR": {"n": 2}}, {"key": ["DE", "FR"], "n": ["1", "2"]}),
        ({"a": 1, "b": {"c": 2}}, {"a": ["1"], "b.c": ["2"]}),
        (
            {
                "type": "FeatureCollection",
                "features": [{"properties": {"n": 1}, "geometry": {"type": "Point"}}],
            },
            {"n": ["1"], "geometry": ['{"type":"Point"}']},
        ),
    ],
)
def test_forms_of_json(tmp_path: Path, document: Any, expected: dict[str, list[str]]) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document, indent=1))
    table = read(path)
    assert isinstance(table, Table)
    assert table.to_arrow().to_pydict() == expected


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "{}", "[" * 100_000, '{"a":', '[{"a":1},]'])
def test_json_without_a_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(UnreadableFile):
        read(path)


def test_json_lines_count_what_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n\nnot json\n{"a": "\\ud800"}\n')
    table = read(path)
    assert isinstance(table, Table)
    assert table.to_arrow().column("a").to_pylist() == ["1", "?"]
    assert [(loss.reason, loss.count) for loss in table.losses] == [("line is not JSON", 1)]


def test_missing_file() -> None:
    with pytest.raises(InputError, match="there is no file"):
        read("/nowhere/t.csv")


def test_other_libraries(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(csv_bytes())
    table = read(path)
    assert isinstance(table, Table)
    assert repr(table) == "Table('t.csv', csv, 50 rows x 3 columns)"
    pytest.importorskip("pandas")
    assert table.to_pandas().shape == (50, 3)
    pytest.importorskip("polars")
    assert table.to_polars().shape == (50, 3)


def test_a_clean_file_needs_no_compiled_kernel(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = tmp_path / "t.csv"
    path.write_bytes(csv_bytes())
    code = (
        "import sys; from lakejoin.formats.file_reader import read; "
        f"assert read({str(path)!r}).rows.num_rows == 50; "
        "print([m for m in ('numba', 'pandas', 'pyspark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_remote_files() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/there/t.csv.gz", gzip.compress(csv_bytes()))
    memory.pipe("/there/t.parquet", FORMATS["parquet"]())
    try:
        for name in ("t.csv.gz", "t.parquet"):
            table = read(f"memory://there/{name}")
            assert isinstance(table, Table)
            assert texts(table) == TEXTS
    finally:
        memory.rm("/there", recursive=True)


def zipped(members: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def source(path: Path) -> SourceFile:
    return SourceFile(path.name, str(path), path.stat().st_size, 0)


def opened(path: Path, limits: ReadLimits) -> tuple[list[Table], list[Skipped]]:
    """The tables that can be read, and what is skipped, as a build sees them."""
    tables: list[Table] = []
    skipped: list[Skipped] = []
    for stream in open_tables(source(path), limits):
        try:
            if isinstance(stream, Skipped):
                skipped.append(stream)
            else:
                tables.append(Table.of(stream))
        except UnreadableFile as problem:
            skipped.append(Skipped(problem.path, problem.reason, problem.detail))
    return tables, skipped


def test_one_budget_for_all_that_a_file_unfolds_to(tmp_path: Path) -> None:
    million = b"a,b\n" + b"1,2\n" * 250_000
    inner = zipped({f"{i}.csv": million for i in range(15)})
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped({f"{i}.zip": inner for i in range(10)}))
    assert path.stat().st_size < 100_000  # for 150 MB
    tables, skipped = opened(path, ReadLimits(expanded_bytes=6_000_000))
    assert 0 < sum(table.rows.num_rows for table in tables) * 4 < 6_000_000
    assert [s.reason for s in skipped] == ["too large when unpacked"]
    assert skipped[0].detail == "more than 6000000 bytes in one file; the rest of it is not read"


def test_budgets_of_members_tables_and_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    path.write_bytes(zipped({f"{i}.csv": csv_bytes() for i in range(9)}))
    for limits, reason in (
        (ReadLimits(members=4), "too many members"),
        (ReadLimits(tables=4), "too many tables"),
        (ReadLimits(rows=4 * len(ROWS)), "too many rows"),
    ):
        tables, skipped = opened(path, limits)
        assert [table.name for table in tables] == [f"t.zip#{i}.csv" for i in range(4)]
        assert [(s.name, s.reason) for s in skipped] == [("t.zip#4.csv", reason)]
    base = tmp_path / "t.sqlite"
    with sqlite3.connect(base) as connection:
        for i in range(5):
            connection.execute(f"create table t{i} (a text)")
            connection.execute(f"insert into t{i} values ('x')")
    connection.close()
    tables, skipped = opened(base, ReadLimits(tables=3))
    assert len(tables) == 3 and [s.reason for s in skipped] == ["too many tables"]


def test_reading_twice_is_counted_once(tmp_path: Path) -> None:
    text = b"a,b\n" + b"1,2\n" * 50_000
    path = tmp_path / "t.zip"
    path.write_bytes(zipped({"t.csv.gz": gzip.compress(text)}))
    limits = ReadLimits(expanded_bytes=len(text) + 20_000, rows=50_000)
    (stream,) = open_tables(source(path), limits)
    assert isinstance(stream, TableStream)
    for _ in range(3):
        assert sum(batch.num_rows for batch in stream.batches()) == 50_000


def test_an_archive_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.zip"
    path.write_bytes(zipped({f"{i}.csv": csv_bytes() for i in range(20)}))
    archives: list[zipfile.ZipFile] = []
    open_archive = zipfile.ZipFile.__init__

    def counting(archive: zipfile.ZipFile, *given: Any, **options: Any) -> None:
        archives.append(archive)
        open_archive(archive, *given, **options)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", counting)
    streams = list(open_tables(source(path)))
    for stream in streams:  # after the archive was listed to its end
        assert isinstance(stream, TableStream) and Table.of(stream).rows.num_rows == len(ROWS)
    (archive,) = archives
    assert archive.fp is not None
    del stream, streams
    assert archive.fp is None, "it is closed with its last member"


def test_a_workbook_that_unfolds_too_far(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    path.write_bytes(zipped({"xl/workbook.xml": b"<x/>", "xl/worksheets/a.xml": bytes(9_000_000)}))
    with pytest.raises(UnreadableFile, match="too large when unpacked"):
        read(path, ReadLimits(expanded_bytes=6_000_000))
