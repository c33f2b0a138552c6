"""Read CSV, TSV and other delimited text as tables of text columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lakejoin.errors import UnreadableFile
from lakejoin.formats.blob import Blob
from lakejoin.formats.delimited.text_layout import Layout, detect_layout, is_prose
from lakejoin.formats.charsets import Decoder, Utf8Blocks, detect_charset
from lakejoin.formats.delimited.footer import FOOTER_WINDOW, Footer, find_footer
from lakejoin.formats.delimited.grammar import Grammar
from lakejoin.values.losses import Losses
from lakejoin.formats.delimited.text_reader import RowParser
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import ReadLimits

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE = 1 << 17
_TEXT_CONTROLS = (0, 1, 2, 7, 9, 10, 11, 12, 13, 26, 27, 28, 29, 30, 31)
_CONTROL = bytes(b for b in range(32) if b not in _TEXT_CONTROLS)


def open_delimited(blob: Blob, limits: ReadLimits) -> TableStream:
    """Open a delimited text file."""
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
        footer = footer_of(data[layout.body :], layout, at_start=True)
        dialect = replace(dialect, skip_footer=footer.empty_rows + len(footer.lines))
    return replace(layout, dialect=dialect)


def add_preamble_loss(layout: Layout, losses: Losses) -> None:
    """Record the lines of text before the table as losses."""
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
    footer = footer_of(data[-FOOTER_WINDOW:], layout, at_start=len(data) <= FOOTER_WINDOW)
    add_footer_loss(footer, losses)
    return data[: -footer.removed] if footer.removed else data


def footer_of(tail: bytes, layout: Layout, at_start: bool) -> Footer:
    """The footer in the last bytes of a file."""
    return find_footer(tail, Grammar.of(layout.dialect), layout.width, at_start)


def add_footer_loss(footer: Footer, losses: Losses) -> None:
    """Record the lines after the table as losses."""
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
