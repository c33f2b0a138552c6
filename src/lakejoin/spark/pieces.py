"""A file too large for one task: its pieces are parsed in parallel, then put together.

Three rounds: cuts are *scanned* for where records begin (see `lakejoin.lake.split`); *pieces* are
parsed, each to one file of the scratch folder with its columns encoded against themselves; the
table is *assembled* column by column, so that one column at a time is in memory. A file of which a
piece fails is read as a whole instead.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakejoin.errors import disk_is_full
from lakejoin.model import ColumnData, Dialect, Loss, Skipped, SourceFile, TableData
from lakejoin.spark.job import Job
from lakejoin.spark.progress import Reporter, suspects
from lakejoin.spark.reading import SegmentWriter, encode_stream, watched
from lakejoin.storage import Place
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord
from lakejoin.store.dictionary import string_buffers

if TYPE_CHECKING:
    from lakejoin.lake.columns import ColumnPart
    from lakejoin.lake.split import Piece, Split


@dataclass(frozen=True, slots=True)
class ParsedPiece:
    """A piece that was parsed, and the file that holds its columns."""

    source: SourceFile
    number: int
    count: int
    place: str
    record: FileRecord
    rows: int
    names: tuple[str, ...]
    format: str
    dialect: Dialect | None
    losses: tuple[Loss, ...]
    notes: tuple[str, ...] = ()


def scan_cut(job: Job, batch: int, item: tuple[Split, int]) -> Iterator[tuple[str, Any]]:
    """Scans one cut of a file for where its records begin."""
    from lakejoin.lake.split import scan_piece

    split, number = item
    if suspects(job.scratch, batch):
        yield "broken", split.source.name
        return
    reporter = Reporter(job.scratch, batch)
    reporter.begin_file(0, split.source.name)
    try:
        (scan,) = watched(job, (scan_piece(split, n) for n in (number,)))
        yield "scan", (split.source.name, number, scan)
    except Exception:  # noqa: BLE001 (reading the whole file will say what is wrong)
        yield "broken", split.source.name
    reporter.finish()


def parse_piece(job: Job, batch: int, piece: Piece) -> Iterator[tuple[str, Any]]:
    """Parses one piece and leaves its columns in the scratch folder."""
    if suspects(job.scratch, batch):
        yield "broken", piece.source.name
        return
    reporter = Reporter(job.scratch, batch)
    reporter.begin_file(0, piece.source.name)
    begin = time.perf_counter()
    try:
        parsed = _parse(job, batch, piece, reporter.note.attempt)
        yield "piece", parsed
        reporter.add_cells(parsed.rows * len(parsed.names))
    except Exception as problem:
        if disk_is_full(problem):
            raise
        yield "broken", piece.source.name
    yield "seconds", {"read": time.perf_counter() - begin}
    reporter.finish()


def _parse(job: Job, batch: int, piece: Piece, attempt: str) -> ParsedPiece:
    from lakejoin.lake.split import open_piece

    stream = open_piece(piece, job.limits)
    encoders, rows = encode_stream(job, stream, watched)
    place = job.scratch / f"piece-{batch:06d}-{attempt}.lj"
    with ArrayFileWriter(place) as out:
        for number, encoder in enumerate(encoders):
            part = encoder.part()
            offsets, data = string_buffers(part.dictionary)
            out.add(f"{number}.offsets", offsets - offsets[0])
            out.add(f"{number}.bytes", data[int(offsets[0]) : int(offsets[-1])])
            out.add(f"{number}.cells", part.cells)
    return ParsedPiece(
        piece.source,
        piece.number,
        piece.count,
        place.uri,
        out.record,
        rows,
        stream.column_names,
        stream.format,
        stream.dialect,
        tuple(stream.losses),
        stream.notes,
    )


def assemble(job: Job, batch: int, pieces: Sequence[ParsedPiece]) -> Iterator[tuple[str, Any]]:
    """Puts the pieces of one table together, into a segment of its own."""
    reporter = Reporter(job.scratch, batch)
    begin = time.perf_counter()
    segments = SegmentWriter(job, batch)
    try:
        segments.add(_table(job, sorted(pieces, key=lambda p: p.number)))
    except (MemoryError, ValueError) as problem:  # one bad file never stops the job
        segments.abandon()
        name = pieces[0].source.name
        what = f"{type(problem).__name__}: {problem}"[:300]
        yield "skipped", (name, Skipped(name, "could not be put together", what))
    reading = time.perf_counter() - begin - segments.seconds
    yield from segments.outcomes()
    yield "seconds", {"read": reading, "build": segments.seconds}
    reporter.end_file(0, 0)
    reporter.finish()


def _table(job: Job, pieces: Sequence[ParsedPiece]) -> TableData:
    first = pieces[0]
    counted: dict[str, Loss] = {}
    for loss in (loss for piece in pieces for loss in piece.losses):
        known = counted.get(loss.reason, Loss(loss.reason, 0, loss.detail))
        counted[loss.reason] = Loss(loss.reason, known.count + loss.count, known.detail)
    return TableData(
        first.source.name,
        first.source.name,
        sum(p.rows for p in pieces),
        (_column(job, name, number, pieces) for number, name in enumerate(first.names)),
        first.format,
        first.dialect,
        tuple(counted.values()),
        first.notes,
    )


def _column(job: Job, name: str, number: int, pieces: Sequence[ParsedPiece]) -> ColumnData:
    from lakejoin.lake.columns import ColumnEncoder

    encoder = ColumnEncoder(name, job.options.rules)
    for piece in pieces:
        # Opened anew for each column: what is mapped counts as this worker's memory.
        encoder.append_part(_part(ArrayFile(Place.of(piece.place), piece.record), number))
    return encoder.finish()


def _part(file: ArrayFile, number: int) -> ColumnPart:
    import pyarrow as pa

    from lakejoin.lake.columns import ColumnPart

    offsets, data, cells = (
        file.array(f"{number}.{name}").all() for name in ("offsets", "bytes", "cells")
    )
    dictionary = pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data)
    )
    return ColumnPart(dictionary, cells)
