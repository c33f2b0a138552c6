"""Read delimited text as tables of text columns: regular blocks by Arrow's CSV reader, others by
ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lakejoin.errors import UnreadableFile
from lakejoin.formats.charsets import Decoder, Utf8Blocks, detect_charset
from lakejoin.formats.delimited.grammar import (
    Grammar,
    Tokens,
    cells_of,
    quotes_are_regular,
    record_end,
    tokenize,
)
from lakejoin.formats.delimited.record_repair import FittedRecord, fit_record
from lakejoin.formats.delimited.text_layout import Layout, detect_layout, is_prose
from lakejoin.formats.table_stream import Blob, TableStream
from lakejoin.model import Array, Dialect, ReadLimits
from lakejoin.values.plain_columns import Losses


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


SAMPLE = 1 << 17
_TEXT_CONTROLS = (0, 1, 2, 7, 9, 10, 11, 12, 13, 26, 27, 28, 29, 30, 31)
_CONTROL = bytes(b for b in range(32) if b not in _TEXT_CONTROLS)


def open_delimited(blob: Blob, limits: ReadLimits) -> TableStream:
    layout = read_layout(blob, limits)

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        add_preamble_loss(layout, losses)
        with blob.open() as file:
            blocks = Utf8Blocks(file, layout.dialect.encoding, losses)
            blocks.skip(layout.body)
            yield from parse_batches(blocks, layout, limits, losses)

    kind = "tsv" if layout.dialect.delimiter == "\t" else "csv"
    return TableStream(blob.name, kind, layout.names, reading, layout.dialect, layout.notes, limits)


def read_layout(blob: Blob, limits: ReadLimits) -> Layout:
    """Detect charset, dialect and columns from the beginning (and the end) of a text file."""
    head = blob.head(SAMPLE)
    whole = len(head) < SAMPLE
    charset = detect_charset(head, whole)
    data = Decoder(charset.name, Losses()).utf8(head, final=whole)
    if _is_binary(data):
        raise UnreadableFile(blob.name, "not a table", "binary data")
    text = _whole_lines(data, whole).decode("utf-8", "replace")
    layout = detect_layout(text, blob.label)
    if layout is None:
        raise UnreadableFile(blob.name, "empty file")
    if layout.width > limits.columns:
        detail = f"the limit is {limits.columns}"
        raise UnreadableFile(blob.name, "too many columns", detail)
    if layout.width == 1 and is_prose(layout, text, blob.label):
        raise UnreadableFile(blob.name, "not a table", "running text without a delimiter")
    confidence = round(layout.dialect.confidence * charset.confidence, 3)
    dialect = replace(layout.dialect, encoding=charset.name, confidence=confidence)
    if whole:
        footer = find_footer(data[layout.body :], dialect, layout.width, at_start=True)
        dialect = replace(dialect, skip_footer=footer.empty_rows + len(footer.lines))
    return replace(layout, dialect=dialect)


def add_preamble_loss(layout: Layout, losses: Losses) -> None:
    if layout.preamble:
        losses.add("line before the table", len(layout.preamble), layout.preamble[0][:100])


def parse_batches(
    blocks: Utf8Blocks,
    layout: Layout,
    limits: ReadLimits,
    losses: Losses,
    footer: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of UTF-8 text that begins with a record, in batches of bounded size.

    `footer` says that the text runs to the end of the file, so that it may have a footer.
    """
    parser = RowParser(layout, losses, 2 * limits.batch_bytes)
    carry = b""
    reserve = FOOTER_WINDOW if footer else 0
    while True:
        block = blocks.read(limits.batch_bytes)
        final = not block
        data = carry + block if carry else block
        if final and footer:
            data = _without_footer(data, layout, losses)
        # The end of the data may be the footer: it has to wait for the next block.
        usable = data if final or not reserve else data[:-reserve]
        if usable:
            batch, used = parser.parse(usable, final)
            if batch is not None:
                yield batch
            carry = data[used:]
        else:
            carry = data
        if final:
            return


def _without_footer(data: bytes, layout: Layout, losses: Losses) -> bytes:
    """Remove the footer from a text, and record it as a loss."""
    at_start = len(data) <= FOOTER_WINDOW
    footer = find_footer(data[-FOOTER_WINDOW:], layout.dialect, layout.width, at_start)
    add_footer_loss(footer, losses)
    return data[: -footer.removed] if footer.removed else data


def add_footer_loss(footer: Footer, losses: Losses) -> None:
    losses.add("empty row after the table", footer.empty_rows)
    if footer.lines:
        losses.add("line after the table", len(footer.lines), footer.lines[0][:100])


def _whole_lines(data: bytes, whole: bool) -> bytes:
    if whole:
        return data
    cut = max(data.rfind(b"\n"), data.rfind(b"\r"))
    return data[: cut + 1] if cut > 0 else data


def _is_binary(data: bytes) -> bool:
    """Whether more than a few bytes are control characters that texts do not contain."""
    return len(data.translate(None, _CONTROL)) < 0.995 * len(data)


FOOTER_WINDOW = 1 << 16
_MOST_LINES = 60


@dataclass(frozen=True, slots=True)
class Footer:
    """The last `removed` bytes of a text, which do not belong to the table."""

    removed: int = 0
    empty_rows: int = 0
    lines: tuple[str, ...] = ()


def find_footer(tail: bytes, dialect: Dialect, width: int, at_start: bool) -> Footer:
    """Find the footer in the last lines of a text; `at_start` if `tail` begins with a whole line.

    A table of one column has no footer. A line with a quote, or with a delimiter between texts, is
    a row, even if it does not fit.

    >>> tail = b"1,2,3\\n4,5,6\\n,,\\n\\nSource: somebody\\n"
    >>> find_footer(tail, Dialect(), 3, True)
    Footer(removed=21, empty_rows=1, lines=('Source: somebody',))
    """
    grammar = Grammar.of(dialect)
    end_mark = b"\r" if grammar.lone_cr else b"\n"
    begin = 0 if at_start else tail.find(end_mark) + 1
    if width < 2 or grammar.collapse or (not at_start and begin == 0):
        return Footer()
    lines = tail[begin:].split(end_mark)
    quote = bytes((grammar.quote,)) if grammar.quote >= 0 else b"\x00"
    notes: list[str] = []
    empty_rows = 0
    best = (0, 0, 0)
    for taken, line in enumerate(reversed(lines[1:]), start=1):
        text = line.strip(b" \t\r" if grammar.separator != b"\t" else b" \r")
        cells = text.split(grammar.separator)
        # A single quote may close a cell that began lines above.
        empty = not b"".join(cells).replace(2 * quote, b"").strip()
        if empty:
            empty_rows += bool(text)
        elif len(cells) == 1 and quote not in text and len(notes) < _MOST_LINES:
            notes.append(text.decode("utf-8", "replace"))
        else:
            break
        # In a table of two columns, a line without a delimiter may be a row that lacks a cell,
        # unless a gap separates it from the table.
        if width >= 3 or empty or not notes:
            best = (taken, empty_rows, len(notes))
    count, empty_rows, note_count = best
    if count == 0:
        return Footer()
    removed = sum(len(line) for line in lines[len(lines) - count :]) + (count - 1) * len(end_mark)
    return Footer(removed, empty_rows, tuple(reversed(notes[:note_count])))
