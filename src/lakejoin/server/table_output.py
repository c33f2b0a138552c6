"""How tables leave the server: cells as JSON, summaries of columns, and exports as CSV, Parquet or
Arrow."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import call
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pyarrow.types as t

from lakejoin.model import ColumnType

if TYPE_CHECKING:
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


def export_table(
    table: ServedTable, format: ExportFormat, run: Callable[[Callable[[], Any]], Any] = call
) -> Iterator[bytes]:
    """Yield the bytes of the file in chunks; `run` calls what reads rows."""
    sink = _ChunkSink()
    schema = table.read_rows(0, 0).schema
    schema = _safe_schema(schema) if format == "csv" else schema
    writer = _writer(sink, schema, format)
    try:
        for begin in range(0, table.rows, _BATCH_ROWS):
            rows = run(partial(table.read_rows, begin, begin + _BATCH_ROWS))
            writer.write_table(_safe_rows(rows, schema) if format == "csv" else rows.cast(schema))
            yield sink.take()
    finally:
        writer.close()
    yield sink.take()


def download_name(name: str, format: ExportFormat) -> str:
    """The file name of a download: plain letters, and no path.

    >>> download_name('a/../b "x".csv.gz', "parquet")
    'b_x.parquet'
    """
    last = re.split(r"[/\\]", name)[-1]
    stem = re.sub(r"(\.(csv|tsv|json|jsonl|parquet|xlsx|gz|zst|dat|txt))+$", "", last.lower())
    plain = re.sub(r"[^\w-]+", "_", stem, flags=re.ASCII).strip("_")[:80]
    return f"{plain or 'table'}.{format}"


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
    safe: list[str] = _safe_texts(pa.array(names, pa.large_string())).to_pylist()
    return safe


def _safe_schema(schema: pa.Schema) -> pa.Schema:
    kinds = [_csv_type(field.type) for field in schema]
    return pa.schema(list(zip(_escape_names(schema.names), kinds, strict=True)))


def _csv_type(kind: pa.DataType) -> pa.DataType:
    plain = t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_date(kind)
    return kind if plain or t.is_timestamp(kind) else pa.large_string()


def _safe_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Put a `'` before texts that a spreadsheet would run as formulas."""
    columns: Sequence[Any] = [
        column.cast(field.type) for column, field in zip(rows.columns, schema, strict=True)
    ]
    safe = [
        _safe_texts(column) if pa.types.is_large_string(column.type) else column
        for column in columns
    ]
    return pa.Table.from_arrays(safe, schema=schema)


def _safe_texts(texts: Any) -> Any:
    is_formula = pc.and_not(
        pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _NUMBER)
    )
    quote, separator = pa.scalar("'", texts.type), pa.scalar("", texts.type)
    return pc.if_else(is_formula, pc.binary_join_element_wise(quote, texts, separator), texts)


_BINS = 20
_VALUES = 10
_NUMBER_TYPES = (ColumnType.INTEGER, ColumnType.DECIMAL)


def summarize_column(values: pa.ChunkedArray, column: Mapping[str, Any]) -> dict[str, Any]:
    """Summarize the values of a column; `column` has its name, type and counts.

    >>> column = {"column": "n", "type": "integer", "distinct": 3, "nulls": 0, "rows": 4}
    >>> summarize_column(pa.chunked_array([["1", "2", "2", "9"]]), column)["bins"]
    [{'from': 1.0, 'to': 2.0, 'rows': 1}, {'from': 2.0, 'to': 3.0, 'rows': 2}, \
{'from': 8.0, 'to': 9.0, 'rows': 1}]
    """
    summary: dict[str, Any] = {
        "column": column["column"],
        "kind": "none",
        "bins": [],
        "values": [],
        "others": 0,
        **{key: column[key] for key in ("distinct", "nulls", "rows")},
    }
    kind = ColumnType(column["type"])
    if kind is ColumnType.EMPTY or not len(values):
        return summary
    if kind in _NUMBER_TYPES and (numbers := _numbers(values)) is not None:
        return {**summary, "kind": "numbers", "bins": _bins(numbers, kind is ColumnType.INTEGER)}
    if kind is ColumnType.DATE and (days := _days(values)) is not None:
        return {**summary, "kind": "dates", "bins": _day_bins(days)}
    return {**summary, "kind": "values", **_frequent(values)}


def _numbers(values: pa.ChunkedArray) -> np.ndarray[Any, Any] | None:
    """The cells that are numbers; None if they are less than half."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        try:
            numbers = values.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
    else:
        plain = pc.replace_substring(pc.utf8_trim_whitespace(values), ",", "")
        is_number = pc.match_substring_regex(plain, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$")
        numbers = pc.cast(pc.filter(plain, is_number), pa.float64())
    parsed = np.asarray(numbers.drop_null().to_numpy())
    parsed = parsed[np.isfinite(parsed)]
    return parsed if len(parsed) * 2 > len(values) - values.null_count else None


def _bins(numbers: np.ndarray[Any, Any], whole: bool) -> list[dict[str, Any]]:
    """Bins of equal width from the smallest to the largest number, without empty ones. Integers get
    an integer width, so that no value straddles two bins."""
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        return [{"from": low, "to": high, "rows": len(numbers)}]
    count, width = _BINS, (high - low) / _BINS
    if whole and high - low < 2**53:
        width = float(np.ceil((high - low) / _BINS))
        count = int(np.ceil((high - low) / width))
    if not np.isfinite(width) or width <= 0:
        return []
    edges = low + width * np.arange(count + 1)
    edges[-1] = max(edges[-1], high)
    rows, _ = np.histogram(numbers, edges)
    bins = zip(edges[:-1].tolist(), edges[1:].tolist(), rows.tolist(), strict=True)
    return [{"from": begin, "to": end, "rows": n} for begin, end, n in bins if n]


def _days(values: pa.ChunkedArray) -> np.ndarray[Any, Any] | None:
    """The cells as days since 1970; None if less than half are dates."""
    if pa.types.is_temporal(values.type):
        try:
            days = values.cast(pa.timestamp("s"), safe=False).cast(pa.date32(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
    else:
        begin = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(values), 0, 10)
        day = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"
        iso = pc.filter(begin, pc.match_substring_regex(begin, day))
        days = pc.strptime(iso, format="%Y-%m-%d", unit="s", error_is_null=True).cast(pa.date32())
    parsed = np.asarray(days.drop_null().cast(pa.int32()).to_numpy())
    return parsed if len(parsed) * 2 > len(values) - values.null_count else None


def _day_bins(days: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    def iso(day: float) -> str:
        return str(np.datetime64(int(day), "D"))

    bins = _bins(days.astype(np.float64), whole=True)
    return [{"from": iso(b["from"]), "to": iso(b["to"]), "rows": b["rows"]} for b in bins]


def _frequent(values: pa.ChunkedArray) -> dict[str, Any]:
    present = values.drop_null()
    if pa.types.is_nested(present.type):
        present = pa.chunked_array([[str(value) for value in present.to_pylist()]], pa.string())
    counted = pc.value_counts(present)
    rows = np.asarray(counted.field("counts"))
    if not len(rows):
        return {"values": [], "others": 0}
    top = np.argsort(-rows, kind="stable")[:_VALUES]
    texts = [cut_text(str(value)) for value in counted.field("values").take(top).to_pylist()]
    counts = rows[top].tolist()
    frequent = [{"value": text, "rows": n} for text, n in zip(texts, counts, strict=True)]
    return {"values": frequent, "others": int(rows.sum()) - sum(counts)}


MAX_CELL_LENGTH = 300  # characters of a cell in a list of rows
_SAFE_INTEGER = 2**53  # JavaScript rounds larger ones


def rows_to_json(table: pa.Table) -> list[list[Any]]:
    """Convert rows to lists of JSON values; long texts are cut and end in `…`.

    >>> rows_to_json(pa.table({"a": ["x", None], "b": [2**60, 1]}))
    [['x', '1152921504606846976'], [None, 1]]
    """
    columns = [column_to_json(column) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def column_to_json(column: pa.ChunkedArray, max_length: int = MAX_CELL_LENGTH) -> list[Any]:
    """Convert a column to JSON values."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.utf8_slice_codeunits(column, 0, max_length + 1)
        return [None if cell is None else cut_text(cell, max_length) for cell in column.to_pylist()]
    if pa.types.is_boolean(kind):
        return list(column.to_pylist())
    if pa.types.is_integer(kind):
        return [c if c is None or abs(c) < _SAFE_INTEGER else str(c) for c in column.to_pylist()]
    if pa.types.is_floating(kind):
        return [c if c is None or np.isfinite(c) else str(c) for c in column.to_pylist()]
    return [
        None if cell is None else cut_text(str(cell), max_length) for cell in column.to_pylist()
    ]


def cut_text(text: str, longest: int = 80) -> str:
    """At most so many characters of a text, with `…` if it is cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
