"""Parse blocks of delimited text to batches: regular ones by Arrow's CSV reader, others by ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.formats.delimited.text_layout import Layout
from lakejoin.formats.delimited.grammar import (
    Grammar,
    Tokens,
    cells_of,
    quotes_are_regular,
    record_end,
    tokenize,
)
from lakejoin.values.losses import Losses
from lakejoin.formats.delimited.record_repair import FittedRecord, fit_record

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


class RowParser:
    """Parse the text after the header to batches, block by block.

    >>> from lakejoin.formats.delimited.text_layout import detect_layout
    >>> text = "a,b\\n1,2\\n3,4\\n"
    >>> layout = detect_layout(text)
    >>> parser = RowParser(layout, Losses(), reach=1 << 20)
    >>> batch, used = parser.parse(text.encode()[layout.body :], final=True)
    >>> batch.to_pydict(), used
    ({'a': ['1', '3'], 'b': ['2', '4']}, 8)
    """

    def __init__(self, layout: Layout, losses: Losses, reach: int) -> None:
        self._layout = layout
        self._grammar = Grammar.of(layout.dialect)
        self._losses = losses
        self._reach = reach

    def parse(self, data: bytes, final: bool) -> tuple[pa.RecordBatch | None, int]:
        """Parse the complete records of `data`; returns their rows and how many bytes they take."""
        cut = len(data) if final else record_end(data, self._grammar)
        if cut and self._is_plain(data, cut):
            batch = self._by_arrow(data[:cut] if cut < len(data) else data)
            if batch is not None:
                return batch, cut
            tokens = tokenize(data[:cut], self._grammar, True, self._reach)
        else:
            tokens = tokenize(data, self._grammar, final, self._reach)
        return (self._by_tokens(tokens) if tokens.rows else None), tokens.used

    def _is_plain(self, data: bytes, cut: int) -> bool:
        if not self._grammar.simple:
            return False
        if data.find(b"\r", 0, cut) >= 0 and _lone_returns(data, cut):
            return False
        return quotes_are_regular(np.frombuffer(data, np.uint8, count=cut), self._grammar)

    def _by_arrow(self, data: bytes) -> pa.RecordBatch | None:
        """Parse by Arrow's reader; None if a record does not fit and needs repair."""
        import pyarrow as pa
        from pyarrow import csv

        names = list(self._layout.names)
        quote = chr(self._grammar.quote) if self._grammar.quote >= 0 else ""
        quoted = bool(quote) and quote.encode() in data
        if data[:1] in b"\r\n" and not data.strip(b"\r\n"):
            return None
        try:
            table = csv.read_csv(
                pa.py_buffer(data),
                csv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 16),
                csv.ParseOptions(
                    delimiter=self._grammar.separator.decode(),
                    quote_char=quote if quoted else False,
                    newlines_in_values=quoted,
                    ignore_empty_lines=len(names) > 1,
                ),
                csv.ConvertOptions(
                    check_utf8=False,
                    column_types=dict.fromkeys(names, pa.string()),
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        return table.combine_chunks().to_batches()[0] if table.num_rows else None

    # -- records that may need repair ---------------------------------------------------------

    def _by_tokens(self, tokens: Tokens) -> pa.RecordBatch | None:
        width = self._layout.width
        counts = np.diff(tokens.row_cell)
        keep = np.ones(tokens.rows, np.bool_)
        if width > 1:
            single = np.flatnonzero(counts == 1)
            first = tokens.row_cell[single]
            empty = tokens.starts[first] == tokens.ends[first]
            keep[single[empty]] = False
            for row in single[~empty]:
                keep[row] = bool(tokens.raw(int(row)).strip())
        rows = np.flatnonzero(keep)
        if rows.size == 0:
            return None
        bad = np.flatnonzero(counts[rows] != width)
        fitted = [self._fit(tokens, int(rows[i])) for i in bad]
        return _batch(tokens, rows, bad, fitted, self._layout, self._grammar)

    def _fit(self, tokens: Tokens, row: int) -> FittedRecord:
        text = tokens.raw(row).decode("utf-8", "replace")
        cells = None if tokens.row_kind[row] else cells_of(tokens, row, self._grammar)
        fitted = fit_record(text, cells, self._grammar, self._layout.width, self._layout.hints)
        self._losses.add(fitted.reason, 1, f"first: {text[:60]}")
        return fitted


def _lone_returns(data: bytes, cut: int) -> bool:
    """Whether there are carriage returns without a line feed: text for us, line ends for Arrow."""
    return data.count(b"\r", 0, cut) != data.count(b"\r\n", 0, cut)


def _batch(
    tokens: Tokens,
    rows: Array,
    bad: Array,
    fitted: list[FittedRecord],
    layout: Layout,
    grammar: Grammar,
) -> pa.RecordBatch:
    """Gather the cells column by column; repaired cells come from a text appended to the data."""
    import pyarrow as pa

    data, patches = tokens.data, _Patches(fitted, len(tokens.data), layout.width)
    if fitted:
        data = np.concatenate([data, np.frombuffer(patches.text, dtype=np.uint8)])
    first = tokens.row_cell[rows].copy()
    first[bad] = 0
    columns = []
    for k in range(layout.width):
        cell = first + k
        cell[bad] = 0
        start, end, kind = tokens.starts[cell], tokens.ends[cell], tokens.kinds[cell]
        start[bad], end[bad], kind[bad] = patches.starts[:, k], patches.ends[:, k], 0
        missing = bad[patches.missing[:, k]]
        columns.append(_column(data, start, end, kind, missing, grammar))
    return pa.RecordBatch.from_arrays(columns, names=list(layout.names))


class _Patches:
    """The cells of repaired records as one text with offsets."""

    def __init__(self, fitted: list[FittedRecord], base: int, width: int) -> None:
        cells = [cell for record in fitted for cell in record.cells]
        texts = [b"" if cell is None else cell.encode("utf-8", "replace") for cell in cells]
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        ends = base + np.cumsum(sizes)
        shape = (len(fitted), width)
        self.text = b"".join(texts)
        self.ends = ends.reshape(shape)
        self.starts = (ends - sizes).reshape(shape)
        missing = np.fromiter((cell is None for cell in cells), np.bool_, len(cells))
        self.missing = missing.reshape(shape)


def _column(
    data: Array, start: Array, end: Array, kind: Array, missing: Array, grammar: Grammar
) -> pa.Array:
    import pyarrow as pa

    from lakejoin.kernels import delimited_text as kernel

    offsets = np.empty(start.size + 1, np.int32)
    kernel.cell_bytes(data, start, end, kind, grammar.quote, grammar.escape, offsets)
    text = np.empty(int(offsets[-1]), np.uint8)
    kernel.copy_cells(data, start, end, kind, grammar.quote, grammar.escape, text)
    mask = None
    if missing.size:
        valid = np.ones(start.size, np.bool_)
        valid[missing] = False
        mask = pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [mask, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), start.size, buffers, null_count=missing.size)
