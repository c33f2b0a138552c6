"""The tasks for a huge file: its chunks are parsed in parallel, then assembled to one table.

Three rounds: *scan* finds where records begin near each cut (see `lakejoin.formats.file_chunks`);
*chunk* writes each chunk to a file in the scratch folder, with its columns encoded on their own;
*assemble* builds the table column by column, with one column in memory at a time. If a chunk fails,
the file is read as a whole instead.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lakejoin.errors import is_disk_full
from lakejoin.formats.file_chunks import ChunkPlan, FileChunk, open_chunk, scan_chunk
from lakejoin.locations import Location
from lakejoin.model import ColumnData, Dialect, Loss, Skipped, SourceFile, TableData, string_buffers
from lakejoin.pipeline.job import Job
from lakejoin.pipeline.segment_tasks import SegmentWriter, encode_stream, watch_reader
from lakejoin.pipeline.task_progress import ProgressReporter, find_suspects
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord
from lakejoin.values.column_encoder import ColumnChunk, ColumnEncoder


@dataclass(frozen=True, slots=True)
class ParsedChunk:
    """A parsed chunk, and the file with its columns."""

    source: SourceFile
    chunk_index: int
    count: int
    uri: str
    record: FileRecord
    rows: int
    names: tuple[str, ...]
    format: str
    dialect: Dialect | None
    losses: tuple[Loss, ...]
    notes: tuple[str, ...] = ()


def scan_cut(job: Job, batch: int, item: tuple[ChunkPlan, int]) -> Iterator[tuple[str, Any]]:
    """Find where records begin near one cut of a file."""
    split, cut = item
    if find_suspects(job.scratch, batch):
        yield "broken", split.source.name
        return
    reporter = ProgressReporter(job.scratch, batch)
    reporter.begin_file(0, split.source.name)
    try:
        (scan,) = watch_reader(job, (scan_chunk(split, n) for n in (cut,)))
        yield "scan", (split.source.name, cut, scan)
    except Exception:  # noqa: BLE001 (reading the whole file reports the problem)
        yield "broken", split.source.name
    reporter.finish()


def parse_chunk(job: Job, batch: int, chunk: FileChunk) -> Iterator[tuple[str, Any]]:
    """Parse one chunk and write its columns to the scratch folder."""
    if find_suspects(job.scratch, batch):
        yield "broken", chunk.source.name
        return
    reporter = ProgressReporter(job.scratch, batch)
    reporter.begin_file(0, chunk.source.name)
    begin = time.perf_counter()
    try:
        parsed = _parse(job, batch, chunk, reporter.note.attempt)
        yield "chunk", parsed
        reporter.add_cells(parsed.rows * len(parsed.names))
    except Exception as problem:
        if is_disk_full(problem):
            raise
        yield "broken", chunk.source.name
    yield "seconds", {"read": time.perf_counter() - begin}
    reporter.finish()


def _parse(job: Job, batch: int, chunk: FileChunk, attempt: str) -> ParsedChunk:
    stream = open_chunk(chunk, job.limits)
    encoders, rows = encode_stream(job, stream)
    location = job.scratch / f"chunk-{batch:06d}-{attempt}.lj"
    with ArrayFileWriter(location) as out:
        for index, encoder in enumerate(encoders):
            part = encoder.to_chunk()
            offsets, data = string_buffers(part.dictionary)
            out.add(f"{index}.offsets", offsets - offsets[0])
            out.add(f"{index}.bytes", data[int(offsets[0]) : int(offsets[-1])])
            out.add(f"{index}.cells", part.cells)
    return ParsedChunk(
        chunk.source,
        chunk.index,
        chunk.count,
        location.uri,
        out.record,
        rows,
        stream.column_names,
        stream.format,
        stream.dialect,
        tuple(stream.losses),
        stream.notes,
    )


def assemble_table(
    job: Job, batch: int, chunks: Sequence[ParsedChunk]
) -> Iterator[tuple[str, Any]]:
    reporter = ProgressReporter(job.scratch, batch)
    begin = time.perf_counter()
    segments = SegmentWriter(job, batch)
    try:
        segments.add(_table(job, sorted(chunks, key=lambda p: p.chunk_index)))
    except (MemoryError, ValueError) as problem:  # one bad file must not stop the job
        segments.abandon()
        name = chunks[0].source.name
        detail = f"{type(problem).__name__}: {problem}"[:300]
        yield "skipped", (name, Skipped(name, "could not be assembled", detail))
    reading = time.perf_counter() - begin - segments.seconds
    yield from segments.outcomes()
    yield "seconds", {"read": reading, "build": segments.seconds}
    reporter.end_file(0, 0)
    reporter.finish()


def _table(job: Job, chunks: Sequence[ParsedChunk]) -> TableData:
    first = chunks[0]
    counted: dict[str, Loss] = {}
    for loss in (loss for chunk in chunks for loss in chunk.losses):
        total = counted.get(loss.reason, Loss(loss.reason, 0, loss.detail))
        counted[loss.reason] = Loss(loss.reason, total.count + loss.count, total.detail)
    return TableData(
        first.source.name,
        first.source.name,
        sum(p.rows for p in chunks),
        (_column(job, name, index, chunks) for index, name in enumerate(first.names)),
        first.format,
        first.dialect,
        tuple(counted.values()),
        first.notes,
    )


def _column(job: Job, name: str, index: int, chunks: Sequence[ParsedChunk]) -> ColumnData:
    encoder = ColumnEncoder(name, job.options.rules)
    for chunk in chunks:
        # Reopened for each column: mapped pages count as this worker's memory.
        encoder.append_chunk(_part(ArrayFile(Location.of(chunk.uri), chunk.record), index))
    return encoder.finish()


def _part(file: ArrayFile, index: int) -> ColumnChunk:
    import pyarrow as pa

    offsets, data, cells = (
        file.array(f"{index}.{name}").all() for name in ("offsets", "bytes", "cells")
    )
    dictionary = pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data)
    )
    return ColumnChunk(dictionary, cells)
