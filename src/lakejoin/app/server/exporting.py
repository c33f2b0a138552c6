"""A table as a download: CSV, Parquet or Arrow, streamed, and harmless in a spreadsheet."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.app.server.tables import OpenTable

Format = Literal["csv", "parquet", "arrow"]

MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
}
_ROWS = 20_000  # that are read at once
# What a spreadsheet may run: a text that begins so, also behind blanks of any kind and signs that
# nobody sees; a plain number is none.
_FORMULA = r"^[\s\pZ\pC]*[=+\-@＝＋－＠﹦﹢﹣﹫]|^[\t\r\n]"
_NUMBER = r"^[+-]?(\d+([.,]\d+)*|\.\d+)([eE][+-]?\d+)?%?$"


def exported(table: OpenTable, form: Format) -> Iterator[bytes]:
    """The bytes of the file, piece by piece."""
    sink = _Drain()
    schema = table.part(0, 0).schema
    schema = _safe_schema(schema) if form == "csv" else schema
    writer = _writer(sink, schema, form)
    try:
        for begin in range(0, table.rows, _ROWS):
            rows = table.part(begin, begin + _ROWS)
            writer.write_table(_safe(rows, schema) if form == "csv" else rows.cast(schema))
            yield sink.taken()
    finally:
        writer.close()
    yield sink.taken()


def file_name(name: str, form: Format) -> str:
    """What the download is called: plain letters, and nothing that could lead elsewhere.

    >>> file_name('a/../b "x".csv.gz', "parquet")
    'b_x.parquet'
    """
    last = re.split(r"[/\\]", name)[-1]
    stem = re.sub(r"(\.(csv|tsv|json|jsonl|parquet|xlsx|gz|zst|dat|txt))+$", "", last.lower())
    plain = re.sub(r"[^\w-]+", "_", stem, flags=re.ASCII).strip("_")[:80]
    return f"{plain or 'table'}.{form}"


class _Drain(io.RawIOBase):
    """A file that is taken away as it is written."""

    def __init__(self) -> None:
        self._written = bytearray()
        self._place = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def write(self, data: Any) -> int:
        self._written += memoryview(data).cast("B")
        self._place += len(memoryview(data).cast("B"))
        return len(memoryview(data).cast("B"))

    def taken(self) -> bytes:
        """What was written since it was asked for last."""
        found, self._written = bytes(self._written), bytearray()
        return found


def _writer(sink: _Drain, schema: pa.Schema, form: Format) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if form == "csv":
        return pa.csv.CSVWriter(sink, schema)
    if form == "parquet":
        return pa.parquet.ParquetWriter(sink, schema, compression="zstd")
    return pa.ipc.new_file(sink, schema)


def safe_names(names: Sequence[str]) -> list[str]:
    """Names of columns that no spreadsheet takes for formulas.

    >>> safe_names(["=1+1", "a", "-5"])
    ["'=1+1", 'a', '-5']
    """
    import pyarrow as pa

    found: list[str] = _safe_texts(pa.array(names, pa.large_string())).to_pylist()
    return found


def _safe_schema(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    kinds = [_written_type(field.type) for field in schema]
    return pa.schema(list(zip(safe_names(schema.names), kinds, strict=True)))


def _written_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as t

    plain = t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_date(kind)
    return kind if plain or t.is_timestamp(kind) else pa.large_string()


def _safe(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Texts that a spreadsheet would run get a `'` before them."""
    import pyarrow as pa

    columns: Sequence[Any] = [
        column.cast(field.type) for column, field in zip(rows.columns, schema, strict=True)
    ]
    safe = [
        _safe_texts(column) if pa.types.is_large_string(column.type) else column
        for column in columns
    ]
    return pa.Table.from_arrays(safe, schema=schema)


def _safe_texts(texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    runs = pc.and_not(
        pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _NUMBER)
    )
    mark, nothing = pa.scalar("'", texts.type), pa.scalar("", texts.type)
    return pc.if_else(runs, pc.binary_join_element_wise(mark, texts, nothing), texts)
