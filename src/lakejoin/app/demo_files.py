"""Writes an Arrow table as a file in one of the ways that real lakes hold tables.

Every way is deterministic: the same table gives the same bytes, with no time stamp in them.
"""

from __future__ import annotations

import contextlib
import datetime
import gzip
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Writer = Callable[["pa.Table", Path], None]


def writer_for(suffix: str) -> Writer:
    """The writer for a file suffix, with `;`, `|`, `cp1252` or `utf-16` before it where it matters.

    >>> writer_for("csv").__name__
    'write'
    """
    return _WRITERS[suffix]


def file_suffix(way: str) -> str:
    """The suffix of a file written in a way that `writer_for` knows.

    >>> [file_suffix(way) for way in ("csv", ";csv", "utf-16 csv", "jsonl.gz")]
    ['csv', 'csv', 'csv', 'jsonl.gz']
    """
    return way.rpartition(" ")[2].lstrip(";|")


def write_sqlite(tables: Mapping[str, pa.Table], path: Path) -> None:
    """All tables into one SQLite file, with column types as SQLite understands them."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            for name, table in tables.items():
                columns = ", ".join(
                    f"{_quoted(field.name)} {_sqlite_type(field.type)}" for field in table.schema
                )
                marks = ", ".join("?" * table.num_columns)
                connection.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
                connection.executemany(
                    f"INSERT INTO {_quoted(name)} VALUES ({marks})",
                    zip(*(column.to_pylist() for column in table.columns), strict=True),
                )
    finally:
        connection.close()


def write_excel(tables: Mapping[str, pa.Table], path: Path) -> None:
    """All tables into one workbook, a sheet each, with a header row."""
    import xlsxwriter

    workbook = xlsxwriter.Workbook(str(path), {"strings_to_urls": False})
    workbook.set_properties({"created": datetime.datetime(2020, 1, 1)})
    for name, table in tables.items():
        sheet = workbook.add_worksheet(name[:31])
        for place, (title, column) in enumerate(
            zip(table.column_names, table.columns, strict=True)
        ):
            sheet.write(0, place, title)
            sheet.write_column(1, place, column.to_pylist())
    workbook.close()


def _csv(delimiter: str = ",", encoding: str = "utf-8", packed: bool = False) -> Writer:
    def write(table: pa.Table, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.csv

        sink = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(delimiter=delimiter, batch_size=65536)
        pyarrow.csv.write_csv(table, sink, options)
        data: bytes = sink.getvalue().to_pybytes()
        if encoding != "utf-8":
            # A table with letters that the encoding lacks stays UTF-8.
            with contextlib.suppress(UnicodeEncodeError):
                data = data.decode("utf-8").encode(encoding)
        path.write_bytes(_gzipped(data) if packed else data)

    return write


def _json(lines: bool, packed: bool = False) -> Writer:
    def write(table: pa.Table, path: Path) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        records = table.to_pylist()
        data = ("\n".join(map(encode, records)) if lines else encode(records)).encode("utf-8")
        path.write_bytes(_gzipped(data) if packed else data)

    return write


def _parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path, compression="zstd")


def _feather(table: pa.Table, path: Path) -> None:
    import pyarrow.feather

    pyarrow.feather.write_feather(table, str(path), compression="lz4")


def _orc(table: pa.Table, path: Path) -> None:
    import pyarrow.orc

    pyarrow.orc.write_table(table, str(path), compression="zstd")


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=1, mtime=0)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sqlite_type(arrow_type: Any) -> str:
    import pyarrow as pa

    if pa.types.is_integer(arrow_type) or pa.types.is_boolean(arrow_type):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(arrow_type) else "TEXT"


_WRITERS: dict[str, Writer] = {
    "csv": _csv(),
    ";csv": _csv(";"),
    "|txt": _csv("|"),
    "tsv": _csv("\t"),
    "cp1252 csv": _csv(encoding="cp1252"),
    "cp1252 ;csv": _csv(";", encoding="cp1252"),
    "utf-16 csv": _csv(encoding="utf-16"),
    "csv.gz": _csv(packed=True),
    "json": _json(lines=False),
    "jsonl": _json(lines=True),
    "jsonl.gz": _json(lines=True, packed=True),
    "parquet": _parquet,
    "feather": _feather,
    "orc": _orc,
}
