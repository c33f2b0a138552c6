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
# What a spreadsheet may run: a text that begins so, also behind blanks; a plain number is none.
_FORMULA = r"^[\s]*[=+\-@＝＋－＠]|^[\t\r\n]"
_NUMBER = r"^[+-]?(\d+([.,]\d+)*|\.\d+)([eE][+-]?\d+)?%?$"


def exported(table: OpenTable, form: Format) -> Iterator[bytes]:
    """The bytes of the file, piece by piece."""
    sink = _Drain()
    writer = None
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


def safe_name(name: str) -> str:
    """A name of a column that no spreadsheet takes for a formula.

    >>> safe_name("=1+1"), safe_name("a"), safe_name("-5")
    ("'=1+1", 'a', '-5')
    """
    is_formula = re.search(_FORMULA, name) and not re.search(_NUMBER, name)
    return f"'{name}" if is_formula else name


def _safe_schema(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [pa.field(safe_name(field.name), _written_type(field.type)) for field in schema]
    )


def _written_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as t

    plain = t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_date(kind)
    return kind if plain or t.is_timestamp(kind) else pa.large_string()


def _safe(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Texts that a spreadsheet would run get a `'` before them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: Sequence[Any] = [
        column.cast(field.type) for column, field in zip(rows.columns, schema, strict=True)
    ]
    safe = []
    for column in columns:
        if pa.types.is_large_string(column.type):
            runs = pc.and_not(
                pc.match_substring_regex(column, _FORMULA),
                pc.match_substring_regex(column, _NUMBER),
            )
            quoted = pc.binary_join_element_wise(pa.scalar("'", column.type), column,
                                                 pa.scalar("", column.type))  # fmt: skip
            column = pc.if_else(runs, quoted, column)  # noqa: PLW2901
        safe.append(column)
    return pa.Table.from_arrays(safe, schema=schema)
