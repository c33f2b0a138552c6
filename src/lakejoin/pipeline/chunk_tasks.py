"""The tasks for a very large file or logical table: its chunks are parsed in parallel, then
assembled to one table.

Three rounds: *scan* finds where records begin near each cut (see `lakejoin.formats.file_chunks`);
*chunk* writes each chunk to a file in the scratch folder, with its columns encoded on their own,
and so does *group* for some files of a logical table, and *stream* for a table that only its
library reads; *assemble* builds the table column by column, with one column in memory at a time. If
a chunk fails, the file is read as a whole instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakejoin.errors import MissingDependency, UnreadableFile, is_disk_full
from lakejoin.formats.file_chunks import ChunkPlan, FileChunk, open_chunk, scan_chunk
from lakejoin.formats.table_stream import TableStream, with_nested
from lakejoin.locations import Location
from lakejoin.model import (
    Dialect,
    LogicalTable,
    Loss,
    Skipped,
    Source,
    SourceFile,
    string_buffers,
)
from lakejoin.pipeline.job import Job
from lakejoin.pipeline.segment_tasks import (
    SegmentWriter,
    encode_files,
    encode_stream,
    encode_stretches,
    watch_reader,
)
from lakejoin.pipeline.task_progress import ProgressReporter, find_suspects
from lakejoin.pipeline.united_tables import EncodedRows, UnitedColumns, unite_table, unite_tables
from lakejoin.sources.table_files import open_table_file
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord
from lakejoin.values.column_encoder import ColumnChunk


@dataclass(frozen=True, slots=True)
class ParsedChunk:
    """A parsed chunk, or some files of a logical table, of which `source` is the first; and the
    file with its columns. `unread` files could not be read, `partial` columns are not in all.
    `part` names a table that is nested in the records."""

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
    partial: tuple[str, ...] = ()
    unread: int = 0
    part: str = ""

    def encoded_rows(self, constants: tuple[tuple[str, str | None], ...] = ()) -> EncodedRows:
        """The rows, with these columns of one value each."""

        def column(index: int) -> ColumnChunk:
            # Reopened for each column: mapped pages count as this worker's memory.
            return _read_column(ArrayFile(Location.of(self.uri), self.record), index)

        about = (self.format, self.dialect, self.losses, self.notes)
        return EncodedRows(
            self.rows, self.names, column, *about, constants, self.partial, self.part
        )


@dataclass(frozen=True, slots=True)
class Assembly:
    """The chunks of a file or logical table, in order, each with the constants of its rows."""

    source: Source
    chunks: tuple[tuple[ParsedChunk, tuple[tuple[str, str | None], ...]], ...]


def scan_cut(job: Job, batch: int, item: tuple[ChunkPlan, int]) -> Iterator[tuple[str, Any]]:
    """Find where records begin near one cut of a file."""
    split, cut = item
    if find_suspects(job.scratch, batch):
        yield "broken", split.source.name
        return
    reporter = ProgressReporter(job.scratch, batch)
    reporter.begin_file(0, split.source.name)
    try:
        (scan,) = watch_reader(job, (scan_chunk(split, n, job.limits) for n in (cut,)))
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
        for parsed in _parse(job, batch, chunk, reporter.note.attempt):
            yield "chunk", parsed
            reporter.add_cells(parsed.rows * len(parsed.names))
    except Exception as problem:
        if is_disk_full(problem):
            raise
        yield "broken", chunk.source.name
    yield "seconds", {"read": time.perf_counter() - begin}
    reporter.finish()


def _parse(job: Job, batch: int, chunk: FileChunk, attempt: str) -> list[ParsedChunk]:
    """The rows of a chunk, and those of the tables nested in its records: all or nothing."""
    streams = open_chunk(chunk, job.limits).with_children()
    return [
        _parse_stream(job, chunk, stream, f"chunk-{batch:06d}-{attempt}-{number}.lj")
        for number, stream in enumerate(streams)
    ]


def _parse_stream(job: Job, chunk: FileChunk, stream: TableStream, name: str) -> ParsedChunk:
    encoders, rows = encode_stream(job, stream)
    location = job.scratch / name
    record = _write_columns(location, len(encoders), lambda index: encoders[index].to_chunk())
    about = (stream.format, stream.dialect, tuple(stream.losses), stream.notes)
    return ParsedChunk(
        chunk.source,
        chunk.index,
        chunk.count,
        location.uri,
        record,
        rows,
        stream.column_names,
        *about,
        part=stream.part,
    )


def _write_columns(
    location: Location, count: int, column: Callable[[int], ColumnChunk]
) -> FileRecord:
    with ArrayFileWriter(location) as out:
        for index in range(count):
            part = column(index)
            offsets, data = string_buffers(part.dictionary)
            out.add(f"{index}.offsets", offsets - offsets[0])
            out.add(f"{index}.bytes", data[int(offsets[0]) : int(offsets[-1])])
            out.add(f"{index}.cells", part.cells)
    return out.record


def parse_group(job: Job, batch: int, table: LogicalTable) -> Iterator[tuple[str, Any]]:
    """Read some files of a logical table and write their united columns to the scratch folder."""
    deadly = find_suspects(job.scratch, batch)
    reporter = ProgressReporter(job.scratch, batch)
    begin = time.perf_counter()
    runs: list[EncodedRows] = []
    for outcome in encode_files(job, table, reporter, deadly):
        if isinstance(outcome, Skipped):
            yield "skipped", (table.name, outcome)
        else:
            runs.append(outcome)
    unread = len(table.files) - sum(not run.part for run in runs)
    for number, part in enumerate(dict.fromkeys(["", *(run.part for run in runs)])):
        name = f"{batch:06d}-{reporter.note.attempt}-{number}"
        some = [run for run in runs if run.part == part]
        yield "chunk", write_runs(job, name, table, some, unread, part)
    yield "seconds", {"read": time.perf_counter() - begin}
    reporter.finish()


def parse_stream(job: Job, batch: int, item: tuple[LogicalTable, int]) -> Iterator[tuple[str, Any]]:
    """Read a table that only its library reads, as chunks of about this many bytes."""
    table, chunk_bytes = item
    if find_suspects(job.scratch, batch):
        yield "skipped", (table.name, Skipped(table.name, "reader died"))
        return
    reporter = ProgressReporter(job.scratch, batch)
    begin = time.perf_counter()
    reporter.begin_file(0, table.name)
    chunks: list[ParsedChunk] = []
    try:
        opened = watch_reader(job, open_table_file(table, table.files[0], job.limits))
        for stream in with_nested(opened):
            if isinstance(stream, Skipped):
                raise UnreadableFile(stream.name, stream.reason, stream.detail)
            for run in encode_stretches(job, stream, chunk_bytes):
                name = f"{batch:06d}-{reporter.note.attempt}-{len(chunks)}"
                chunks.append(write_runs(job, name, table, [run], 0, stream.part))
                reporter.add_cells(run.rows * len(run.names))
    except Exception as problem:
        if is_disk_full(problem):
            raise
        yield "skipped", (table.name, _describe_failure(table.name, problem))
        chunks = []
    for index, chunk in enumerate(chunks):
        yield "chunk", replace(chunk, chunk_index=index, count=len(chunks))
    yield "seconds", {"read": time.perf_counter() - begin}
    reporter.end_file(0, 0 if chunks else 1)
    reporter.finish()


def write_runs(
    job: Job,
    name: str,
    table: LogicalTable,
    runs: Sequence[EncodedRows],
    unread: int,
    part: str = "",
) -> ParsedChunk:
    columns = UnitedColumns(runs)
    rules = job.options.rules
    names = columns.names
    location = job.scratch / f"chunk-{name}.lj"
    record = _write_columns(
        location, len(names), lambda index: columns.encode(names[index], rules).to_chunk()
    )
    merged = unite_table(table, runs, rules, part=part)
    return ParsedChunk(
        table.files[0].file,
        0,
        1,
        location.uri,
        record,
        merged.rows,
        names,
        merged.format,
        merged.dialect,
        merged.losses,
        runs[0].notes if runs else (),
        columns.partial,
        unread,
        part,
    )


def _describe_failure(name: str, problem: Exception) -> Skipped:
    if isinstance(problem, UnreadableFile):
        return Skipped(problem.path, problem.reason, problem.detail)
    if isinstance(problem, MissingDependency):
        return Skipped(name, "a library is missing", str(problem))
    return Skipped(name, "reader failed", f"{type(problem).__name__}: {problem}"[:300])


def assemble_tables(
    job: Job, batch: int, assemblies: Sequence[Assembly]
) -> Iterator[tuple[str, Any]]:
    """Unite the chunks of several small tables, and write them to a segment; one that fails is
    left out."""
    left = list(assemblies)
    while left:
        segments = SegmentWriter(job, batch)
        for assembly in left:
            try:
                runs = [chunk.encoded_rows(constants) for chunk, constants in assembly.chunks]
                for table in unite_tables(assembly.source, runs, job.options.rules):
                    segments.add(table)
            except (MemoryError, ValueError) as problem:  # what was written is never named
                segments.abandon()
                left.remove(assembly)
                yield (
                    "skipped",
                    (assembly.source.name, _describe_failure(assembly.source.name, problem)),
                )
                break
        else:
            yield from segments.outcomes()
            return


def assemble_table(job: Job, batch: int, assembly: Assembly) -> Iterator[tuple[str, Any]]:
    """Unite the chunks of one table, and write it to a segment."""
    reporter = ProgressReporter(job.scratch, batch)
    begin = time.perf_counter()
    segments = SegmentWriter(job, batch)
    source = assembly.source
    try:
        runs = [chunk.encoded_rows(constants) for chunk, constants in assembly.chunks]
        unread = sum(chunk.unread for chunk, _ in assembly.chunks if not chunk.part)
        for table in unite_tables(source, runs, job.options.rules, unread):
            segments.add(table)
    except (MemoryError, ValueError) as problem:  # one bad file must not stop the job
        segments.abandon()
        detail = f"{type(problem).__name__}: {problem}"[:300]
        yield "skipped", (source.name, Skipped(source.name, "could not be assembled", detail))
    reading = time.perf_counter() - begin - segments.seconds
    yield from segments.outcomes()
    yield "seconds", {"read": reading, "build": segments.seconds}
    if isinstance(source, SourceFile):
        reporter.end_file(0, 0)
    reporter.finish()


def _read_column(file: ArrayFile, index: int) -> ColumnChunk:
    import pyarrow as pa

    offsets, data, cells = (
        file.array(f"{index}.{name}").all() for name in ("offsets", "bytes", "cells")
    )
    dictionary = pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data)
    )
    return ColumnChunk(dictionary, cells)
