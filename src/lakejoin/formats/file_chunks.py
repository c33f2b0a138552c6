"""Split a large file into chunks that are read in parallel and together equal the whole.

A delimited file is cut at line starts. Each cut is scanned on its own: how many quotes it has, and
where its first record begins if it starts outside or inside a quoted cell. Combining these answers
in order tells which of the two applies to each cut. If quotes are irregular, their parity means
nothing, and record starts are found by reading the file once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import pyarrow as pa

from lakejoin.errors import UnreadableFile
from lakejoin.formats.charsets import Decoder, Utf8Blocks
from lakejoin.formats.delimited.grammar import (
    Grammar,
    first_record,
    quote_positions,
    quotes_are_regular,
    record_end,
    regular_quotes,
    tokenize,
)
from lakejoin.formats.delimited.text_layout import Layout
from lakejoin.formats.delimited.text_reader import (
    FOOTER_WINDOW,
    Footer,
    add_footer_loss,
    add_preamble_loss,
    find_footer,
    parse_batches,
    read_layout,
)
from lakejoin.formats.file_kinds import compression_of, recognise_format
from lakejoin.formats.json_files import is_json_lines, json_lines_stream, parse_lines
from lakejoin.formats.nested_shapes import NestedTable, Shape, plan_tables
from lakejoin.formats.table_stream import DEFAULT_LIMITS, Blob, ByteRange, TableStream, open_range
from lakejoin.formats.typed_files import open_parquet, parquet_row_groups, plan_parquet
from lakejoin.model import ReadLimits, SourceFile
from lakejoin.values.plain_columns import Losses

_NO_BYTES = ByteRange(0, 0)
_SPLITTABLE = ("utf-8", "utf-8-sig", "cp1252", "latin-1")


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """A file and where it can be cut, before anything is known about its records."""

    source: SourceFile
    format: str
    cuts: tuple[ByteRange, ...] = ()
    layout: Layout | None = None
    footer: Footer = field(default_factory=Footer)
    row_groups: tuple[tuple[int, ...], ...] = ()
    nested: NestedTable | None = None


@dataclass(frozen=True, slots=True)
class FileChunk:
    """A part of a file that can be read on its own; `index` of `count`, in order."""

    source: SourceFile
    format: str
    index: int
    count: int
    byte_range: ByteRange = _NO_BYTES
    layout: Layout | None = None
    footer: Footer | None = None
    row_groups: tuple[int, ...] = ()
    nested: NestedTable | None = None
    first_row: int = 0


def plan_chunks(
    source: SourceFile, chunk_bytes: int, limits: ReadLimits = DEFAULT_LIMITS
) -> ChunkPlan | None:
    """Plan where to cut a file; None if it has to be read as a whole."""
    blob = Blob.of_file(source)
    head = blob.head(1 << 12)
    if source.size <= chunk_bytes or compression_of(head) is not None:
        return None
    form = recognise_format(head, blob.label)
    if form == "parquet":
        groups = _grouped_row_groups(parquet_row_groups(blob), chunk_bytes)
        if len(groups) < 2:
            return None
        return ChunkPlan(source, form, row_groups=groups, nested=plan_parquet(blob, limits))
    if form == "json" and is_json_lines(blob):
        return ChunkPlan(
            source, "jsonl", tuple(_cuts(blob, ByteRange(0, source.size), chunk_bytes))
        )
    if form == "csv":
        return _plan_delimited(blob, source, chunk_bytes, limits)
    return None


def scan_chunk(plan: ChunkPlan, index: int, limits: ReadLimits = DEFAULT_LIMITS) -> CutScan:
    """Scan one cut; cuts can be scanned in parallel."""
    if plan.format == "parquet":
        return CutScan()
    cut = plan.cuts[index]
    blob = Blob.of_file(plan.source)
    if plan.format == "jsonl":
        return scan_json_lines(blob, cut, limits)
    assert plan.layout is not None
    return scan_quotes(blob, cut, Grammar.of(plan.layout.dialect))


def resolve_chunks(
    plan: ChunkPlan, scans: Sequence[CutScan], limits: ReadLimits = DEFAULT_LIMITS
) -> list[FileChunk]:
    source, form = plan.source, plan.format
    if form == "parquet":
        count = len(plan.row_groups)
        return [
            FileChunk(source, form, i, count, row_groups=g, nested=plan.nested)
            for i, g in enumerate(plan.row_groups)
        ]
    if form == "jsonl":
        shape = Shape()
        for scan in scans:
            if scan.shape is not None:
                shape.merge(scan.shape, limits.columns)
        if shape.values is not None or not shape.keys:
            raise UnreadableFile(source.name, "too many columns", f"the limit is {limits.columns}")
        nested = plan_tables(source.name, shape, limits)
        firsts = [0, *accumulate(scan.rows for scan in scans)]
        count = len(plan.cuts)
        return [
            FileChunk(source, form, i, count, cut, nested=nested, first_row=firsts[i])
            for i, cut in enumerate(plan.cuts)
        ]
    starts = starts_by_parity(plan.cuts, scans)
    if starts is None:
        assert plan.layout is not None
        grammar = Grammar.of(plan.layout.dialect)
        blob = Blob.of_file(source)
        starts = starts_by_reading(blob, plan.cuts, grammar, limits)
    ends = [*starts[1:], plan.cuts[-1].end]
    ranges = [ByteRange(s, e) for s, e in zip(starts, ends, strict=True) if e > s]
    return [
        FileChunk(source, form, i, len(ranges), r, plan.layout, plan.footer)
        for i, r in enumerate(ranges)
    ]


def open_chunk(chunk: FileChunk, limits: ReadLimits = DEFAULT_LIMITS) -> TableStream:
    """Open one chunk; all chunks in order yield the same rows as the whole file."""
    source = chunk.source
    blob = Blob.of_file(source)
    if chunk.format == "parquet":
        return open_parquet(blob, limits, chunk.row_groups, chunk.nested)
    if chunk.format == "jsonl":
        lines = Blob(blob.name, blob.label, lambda: open_range(blob, chunk.byte_range))
        assert chunk.nested is not None
        return json_lines_stream(lines, chunk.nested, limits, first_row=chunk.first_row)
    layout = chunk.layout
    assert layout is not None

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        if chunk.index == 0:
            add_preamble_loss(layout, losses)
        # The byte order mark of a file is before the first chunk.
        charset = layout.dialect.encoding.removesuffix("-sig")
        with open_range(blob, chunk.byte_range) as file:
            blocks = Utf8Blocks(file, charset, losses)
            yield from parse_batches(blocks, layout, limits, losses, footer=False)
        if chunk.index == chunk.count - 1 and chunk.footer is not None:
            add_footer_loss(chunk.footer, losses)

    kind = "tsv" if layout.dialect.delimiter == "\t" else "csv"
    return TableStream(blob.name, kind, layout.names, reading, layout.dialect, layout.notes, limits)


# -- planning ---------------------------------------------------------------------------------


def _grouped_row_groups(sizes: Sequence[int], chunk_bytes: int) -> tuple[tuple[int, ...], ...]:
    groups: list[tuple[int, ...]] = []
    current: list[int] = []
    total = 0
    for index, size in enumerate(sizes):
        if current and total + size > chunk_bytes:
            groups.append(tuple(current))
            current, total = [], 0
        current.append(index)
        total += size
    return (*groups, tuple(current)) if current else tuple(groups)


def _plan_delimited(
    blob: Blob, source: SourceFile, chunk_bytes: int, limits: ReadLimits
) -> ChunkPlan | None:
    layout = read_layout(blob, limits)
    dialect = layout.dialect
    if dialect.encoding not in _SPLITTABLE or dialect.newline == "\r":
        return None
    begin = _raw_offset(blob, layout)
    if begin is None or begin >= source.size:
        return None
    footer = _raw_footer(blob, layout, begin, source.size)
    cuts = tuple(_cuts(blob, ByteRange(begin, source.size - footer.removed), chunk_bytes))
    return ChunkPlan(source, "csv", cuts, layout, footer) if len(cuts) > 1 else None


def _raw_offset(blob: Blob, layout: Layout) -> int | None:
    """Where the rows begin in the raw bytes of the file; None if decoding changed the text."""
    charset = layout.dialect.encoding
    head = blob.head(4 * layout.body + 16)
    text = Decoder(charset, Losses()).utf8(head, final=True)[: layout.body]
    try:
        raw = text.decode("utf-8").encode(charset)
    except UnicodeError:
        return None
    return len(raw) if head.startswith(raw) else None


def _raw_footer(blob: Blob, layout: Layout, begin: int, size: int) -> Footer:
    start = max(begin, size - FOOTER_WINDOW)
    with open_range(blob, ByteRange(start, size)) as file:
        tail = file.read(size - start)
    return find_footer(tail, layout.dialect, layout.width, at_start=start == begin)


def _cuts(blob: Blob, whole: ByteRange, chunk_bytes: int) -> Iterator[ByteRange]:
    """Yield ranges of about `chunk_bytes` that begin at line starts."""
    at = whole.start
    while at < whole.end:
        end = _line_start(blob, at + chunk_bytes, whole.end)
        yield ByteRange(at, end)
        at = end


def _line_start(blob: Blob, at: int, end: int) -> int:
    """The first line start at or after a position."""
    while at < end:
        with open_range(blob, ByteRange(at - 1, min(end, at + (1 << 16)))) as file:
            block = file.read(1 << 17)
        line_end = block.find(b"\n")
        if line_end >= 0:
            return at + line_end
        at += len(block) - 1
    return end


_BLOCK = 8 << 20


@dataclass(frozen=True, slots=True)
class CutScan:
    """What scanning one cut shows.

    `first` is where its first record begins if the cut starts outside or inside a quoted cell
    (None if no record begins in it), `regular` whether its quotes are regular in that case, `odd`
    whether its number of quotes is odd. `shape` and `rows` are what JSON Lines contain.
    """

    first: tuple[int | None, int | None] = (None, None)
    regular: tuple[bool, bool] = (True, True)
    odd: bool = False
    shape: Shape | None = None
    rows: int = 0


# -- scanning ---------------------------------------------------------------------------------


def scan_json_lines(blob: Blob, cut: ByteRange, limits: ReadLimits) -> CutScan:
    shape, rows = Shape(), 0
    for block in _line_blocks(Blob(blob.name, blob.label, lambda: open_range(blob, cut))):
        values, _ = parse_lines(block)
        shape.add(values, limits.nesting, limits.columns)
        rows += len(values)
    return CutScan(shape=shape, rows=rows)


def _line_blocks(blob: Blob) -> Iterator[list[str]]:
    with blob.open() as file:
        carry = b""
        while block := file.read(_BLOCK):
            data = carry + block
            end = data.rfind(b"\n") + 1
            carry = data[end:]
            yield data[:end].decode("utf-8", "replace").split("\n")
        if carry:
            yield [carry.decode("utf-8", "replace")]


def scan_quotes(blob: Blob, cut: ByteRange, grammar: Grammar) -> CutScan:
    """Scan a cut in blocks of whole lines, under both assumptions about its start."""
    odd = False
    regular = [True, True]
    first: list[int | None] = [cut.start, None]
    with open_range(blob, cut) as file:
        carry, base = b"", cut.start
        while True:
            block = file.read(_BLOCK)
            data = carry + block
            end = len(data) if not block else data.rfind(b"\n") + 1
            lines = data[:end]
            if lines:
                array = np.frombuffer(lines, np.uint8)
                quotes = quote_positions(array, grammar)
                outside, inside = regular_quotes(array, grammar, quotes)
                regular[0] &= inside if odd else outside
                regular[1] &= outside if odd else inside
                if first[1] is None:
                    begin = first_record(lines, grammar, inside=not odd)
                    first[1] = None if begin is None else base + begin
                odd ^= quotes.size % 2 == 1
            base += end
            carry = data[end:]
            if not block:
                return CutScan((first[0], first[1]), (regular[0], regular[1]), odd)


# -- where records begin ----------------------------------------------------------------------


def starts_by_parity(cuts: Sequence[ByteRange], scans: Sequence[CutScan]) -> list[int] | None:
    """Record starts at or after each cut; None if a quote is irregular."""
    starts: list[int] = []
    inside = False
    for cut, scan in zip(cuts, scans, strict=True):
        if not scan.regular[inside]:
            return None
        first = scan.first[inside]
        if first is not None and first < cut.end:
            starts.append(first)
        inside ^= scan.odd
    return None if inside else starts


def starts_by_reading(
    blob: Blob, cuts: Sequence[ByteRange], grammar: Grammar, limits: ReadLimits
) -> list[int]:
    """The same by reading all records in order, exactly as the whole file is read."""
    pending = [cut.start for cut in cuts[1:]]
    starts = [cuts[0].start]
    whole = ByteRange(cuts[0].start, cuts[-1].end)
    with open_range(blob, whole) as file:
        carry, base = b"", whole.start
        while True:
            block = file.read(limits.batch_bytes)
            data = carry + block
            final = not block
            used, record_starts = _records(data, grammar, final, 2 * limits.batch_bytes)
            for start in record_starts + base:
                if pending and start >= pending[0] and start < whole.end:
                    starts.append(int(start))
                    pending = [cut for cut in pending if cut > start]
            base += used
            carry = data[used:]
            if final:
                return starts


def _records(
    data: bytes, grammar: Grammar, final: bool, reach: int
) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """How many bytes the complete records take, and positions where a record begins."""
    cut = len(data) if final else record_end(data, grammar)
    if cut and grammar.simple and quotes_are_regular(np.frombuffer(data, np.uint8, cut), grammar):
        return cut, np.array([cut], dtype=np.int64)
    tokens = tokenize(data, grammar, final, reach)
    return tokens.used, tokens.row_start.astype(np.int64)
