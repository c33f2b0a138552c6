"""Write Arrow tables to files in the formats that real lakes have.

All writers are deterministic: the same table gives the same bytes, without time stamps.
"""

from __future__ import annotations

import contextlib
import datetime
import gzip
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet

from lakejoin.quoting import quote_identifier

Writer = Callable[["pa.Table", Path], None]


def file_suffix(style: str) -> str:
    """The suffix of a file in a format of `WRITERS`.

    >>> [file_suffix(style) for style in ("csv", ";csv", "utf-16 csv", "jsonl.gz")]
    ['csv', 'csv', 'csv', 'jsonl.gz']
    """
    return style.rpartition(" ")[2].lstrip(";|")


def write_sqlite(tables: Mapping[str, pa.Table], path: Path) -> None:
    """Write all tables to one SQLite file, with SQLite column types."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            for name, table in tables.items():
                columns = ", ".join(
                    f"{quote_identifier(field.name)} {_sqlite_type(field.type)}"
                    for field in table.schema
                )
                marks = ", ".join("?" * table.num_columns)
                connection.execute(f"CREATE TABLE {quote_identifier(name)} ({columns})")
                connection.executemany(
                    f"INSERT INTO {quote_identifier(name)} VALUES ({marks})",
                    zip(*(column.to_pylist() for column in table.columns), strict=True),
                )
    finally:
        connection.close()


def write_excel(tables: Mapping[str, pa.Table], path: Path) -> None:
    """Write all tables to one workbook, one sheet per table, with a header row."""
    import xlsxwriter

    workbook = xlsxwriter.Workbook(str(path), {"strings_to_urls": False})
    workbook.set_properties({"created": datetime.datetime(2020, 1, 1)})
    for name, table in tables.items():
        sheet = workbook.add_worksheet(name[:31])
        for index, (title, column) in enumerate(
            zip(table.column_names, table.columns, strict=True)
        ):
            sheet.write(0, index, title)
            sheet.write_column(1, index, column.to_pylist())
    workbook.close()


def _csv(delimiter: str = ",", charset: str = "utf-8", compressed: bool = False) -> Writer:
    def write(table: pa.Table, path: Path) -> None:
        sink = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(delimiter=delimiter, batch_size=65536)
        pyarrow.csv.write_csv(table, sink, options)
        data: bytes = sink.getvalue().to_pybytes()
        if charset != "utf-8":
            # A table with characters that the charset lacks stays UTF-8.
            with contextlib.suppress(UnicodeEncodeError):
                data = data.decode("utf-8").encode(charset)
        path.write_bytes(_gzipped(data) if compressed else data)

    return write


def _json(lines: bool, compressed: bool = False) -> Writer:
    def write(table: pa.Table, path: Path) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        records = table.to_pylist()
        data = ("\n".join(map(encode, records)) if lines else encode(records)).encode("utf-8")
        path.write_bytes(_gzipped(data) if compressed else data)

    return write


def _parquet(table: pa.Table, path: Path) -> None:
    pyarrow.parquet.write_table(table, path, compression="zstd")


def _feather(table: pa.Table, path: Path) -> None:
    pyarrow.feather.write_feather(table, str(path), compression="lz4")


def _orc(table: pa.Table, path: Path) -> None:
    pyarrow.orc.write_table(table, str(path), compression="zstd")


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=1, mtime=0)


def _sqlite_type(arrow_type: Any) -> str:
    if pa.types.is_integer(arrow_type) or pa.types.is_boolean(arrow_type):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(arrow_type) else "TEXT"


# The writers of formats: a file suffix, preceded by `;`, `|`, `cp1252` or `utf-16` if needed.
WRITERS: dict[str, Writer] = {
    "csv": _csv(),
    ";csv": _csv(";"),
    "|txt": _csv("|"),
    "tsv": _csv("\t"),
    "cp1252 csv": _csv(charset="cp1252"),
    "cp1252 ;csv": _csv(";", charset="cp1252"),
    "utf-16 csv": _csv(charset="utf-16"),
    "csv.gz": _csv(compressed=True),
    "json": _json(lines=False),
    "jsonl": _json(lines=True),
    "jsonl.gz": _json(lines=True, compressed=True),
    "parquet": _parquet,
    "feather": _feather,
    "orc": _orc,
}
