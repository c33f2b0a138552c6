"""Export a table as CSV, Parquet or Arrow, streamed; CSV is safe to open in a spreadsheet."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.server.workspace import ServedTable

ExportFormat = Literal["csv", "parquet", "arrow"]

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
}
_BATCH_ROWS = 20_000
# Texts that a spreadsheet may run as a formula: with such a first character, also after blanks or
# invisible characters. Plain numbers are not formulas.
_FORMULA = r"^[\s\pZ\pC]*[=+\-@＝＋－＠﹦﹢﹣﹫]|^[\t\r\n]"
_NUMBER = r"^[+-]?(\d+([.,]\d+)*|\.\d+)([eE][+-]?\d+)?%?$"


def export_table(table: ServedTable, form: ExportFormat) -> Iterator[bytes]:
    """Yield the bytes of the file in chunks."""
    sink = _ChunkSink()
    schema = table.part(0, 0).schema
    schema = _safe_schema(schema) if form == "csv" else schema
    writer = _writer(sink, schema, form)
    try:
        for begin in range(0, table.rows, _BATCH_ROWS):
            rows = table.part(begin, begin + _BATCH_ROWS)
            writer.write_table(_safe_rows(rows, schema) if form == "csv" else rows.cast(schema))
            yield sink.take()
    finally:
        writer.close()
    yield sink.take()


def download_name(name: str, form: ExportFormat) -> str:
    """The file name of a download: plain letters, and no path.

    >>> download_name('a/../b "x".csv.gz', "parquet")
    'b_x.parquet'
    """
    last = re.split(r"[/\\]", name)[-1]
    stem = re.sub(r"(\.(csv|tsv|json|jsonl|parquet|xlsx|gz|zst|dat|txt))+$", "", last.lower())
    plain = re.sub(r"[^\w-]+", "_", stem, flags=re.ASCII).strip("_")[:80]
    return f"{plain or 'table'}.{form}"


class _ChunkSink(io.RawIOBase):
    """A writable file whose bytes are taken out as they are written."""

    def __init__(self) -> None:
        self._written = bytearray()
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        self._written += memoryview(data).cast("B")
        self._position += len(memoryview(data).cast("B"))
        return len(memoryview(data).cast("B"))

    def take(self) -> bytes:
        """Return and clear what was written since the last call."""
        chunk, self._written = bytes(self._written), bytearray()
        return chunk


def _writer(sink: _ChunkSink, schema: pa.Schema, form: ExportFormat) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if form == "csv":
        return pa.csv.CSVWriter(sink, schema)
    if form == "parquet":
        return pa.parquet.ParquetWriter(sink, schema, compression="zstd")
    return pa.ipc.new_file(sink, schema)


def _escape_names(names: Sequence[str]) -> list[str]:
    """Escape column names that a spreadsheet would run as formulas.

    >>> _escape_names(["=1+1", "a", "-5"])
    ["'=1+1", 'a', '-5']
    """
    import pyarrow as pa

    safe: list[str] = _safe_texts(pa.array(names, pa.large_string())).to_pylist()
    return safe


def _safe_schema(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    kinds = [_csv_type(field.type) for field in schema]
    return pa.schema(list(zip(_escape_names(schema.names), kinds, strict=True)))


def _csv_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as t

    plain = t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_date(kind)
    return kind if plain or t.is_timestamp(kind) else pa.large_string()


def _safe_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Put a `'` before texts that a spreadsheet would run as formulas."""
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

    is_formula = pc.and_not(
        pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _NUMBER)
    )
    quote, separator = pa.scalar("'", texts.type), pa.scalar("", texts.type)
    return pc.if_else(is_formula, pc.binary_join_element_wise(quote, texts, separator), texts)
