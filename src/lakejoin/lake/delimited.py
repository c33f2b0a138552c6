"""CSV, TSV and other delimited text as tables of text columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from lakejoin.errors import UnreadableFile
from lakejoin.lake.blob import Blob
from lakejoin.lake.dialect import Layout, detect_layout
from lakejoin.lake.encoding import Decoder, Utf8Stream, detect_encoding
from lakejoin.lake.tables import Losses, TableStream
from lakejoin.model import ReadLimits

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE = 1 << 17


def open_delimited(blob: Blob, limits: ReadLimits) -> TableStream:
    """The table of a delimited text file."""
    head = blob.head(SAMPLE)
    whole = len(head) < SAMPLE
    encoding = detect_encoding(head, whole)
    sample = Decoder(encoding.name, Losses()).utf8(head, final=whole).decode("utf-8", "ignore")
    if not whole:
        cut = max(sample.rfind("\n"), sample.rfind("\r"))
        sample = sample[: cut + 1] or sample
    layout = detect_layout(sample)
    if len(layout.names) > limits.columns:
        raise UnreadableFile(blob.name, "too many columns", f"the limit is {limits.columns}")
    dialect = replace(layout.dialect, encoding=encoding.name)

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        with blob.open() as file:
            stream = io.BufferedReader(Utf8Stream(file, encoding.name, losses), 1 << 20)
            stream.read(layout.body)
            carry = b""
            while block := stream.read(limits.batch_bytes):
                data = carry + block
                cut = _boundary(data, dialect.quote.encode())
                carry = data[cut:]
                if cut:
                    yield _parse(data[:cut], layout, losses)
            if carry.strip():
                yield _parse(carry, layout, losses)

    return TableStream(blob.name, "csv", layout.names, reading, dialect, layout.notes, limits)


def _boundary(data: bytes, quote: bytes) -> int:
    at = data.rfind(b"\n")
    odd = data.count(quote, 0, at + 1) % 2
    while odd and at >= 0:
        at = data.rfind(b"\n", 0, data.rfind(quote, 0, at))
        odd = not odd
    return at + 1


def _parse(data: bytes, layout: Layout, losses: Losses) -> pa.RecordBatch:
    import pyarrow as pa
    from pyarrow import csv as pcsv

    names = list(layout.names)
    try:
        table = pcsv.read_csv(
            pa.py_buffer(data),
            pcsv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
            pcsv.ParseOptions(delimiter=layout.dialect.delimiter, newlines_in_values=True),
            pcsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
        return table.combine_chunks().to_batches()[0]
    except pa.ArrowInvalid:
        rows = list(
            csv.reader(io.StringIO(data.decode(), newline=""), delimiter=layout.dialect.delimiter)
        )
        columns = list(zip_longest(names, *rows, fillvalue=None))
        losses.add("row does not fit", sum(1 for r in rows if len(r) != len(names)))
        return pa.RecordBatch.from_arrays(
            [pa.array(c[1:], pa.string()) for c in columns[: len(names)]], names=names
        )
