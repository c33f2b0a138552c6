"""The tasks that write segments: read files, add components, merge segments."""

from __future__ import annotations

import faulthandler
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.file_reader import open_tables, open_tables_isolated
from lakejoin.formats.table_stream import Blob, TableStream, with_nested
from lakejoin.model import (
    LogicalTable,
    Skipped,
    Source,
    SourceFile,
    TableData,
    TableFile,
    TextEncoder,
)
from lakejoin.pipeline.job import Job, receive_encoder
from lakejoin.pipeline.options import index_components
from lakejoin.pipeline.task_progress import ProgressReporter, Suspects, find_suspects
from lakejoin.pipeline.united_tables import EncodedRows, unite_tables
from lakejoin.sources.table_files import is_plain_file, open_table_file
from lakejoin.store.index_records import SegmentRecord
from lakejoin.store.meaning_vectors import StoredVectorEncoder, all_store_vectors
from lakejoin.store.segment import Segment, add_components
from lakejoin.store.segment_builder import SegmentBuilder, live_tables
from lakejoin.values.column_encoder import ColumnEncoder

# Even with one more table of 20,000 columns (the widest allowed), column ids fit 16 bits: that
# halves the posting lists and keeps the counts of a search in the processor's cache.
_ENOUGH_COLUMNS = 45_000


class SegmentWriter:
    """Collects tables into segments, and starts a new one when the limit is reached.

    `encoder` opens the encoder for vectors; by default the one handed over by the driver.
    """

    def __init__(
        self, job: Job, batch: int, encoder: Callable[[], TextEncoder] | None = None
    ) -> None:
        self._job = job
        self._batch = batch
        self._encoder = encoder or partial(receive_encoder, job)
        self._builder: SegmentBuilder | None = None
        self.records: list[SegmentRecord] = []
        self.seconds = 0.0

    def add(self, table: TableData) -> int:
        if self._builder is None:
            name = f"{self._job.build}-{self._batch:06d}-{secrets.token_hex(4)}"
            self._builder = SegmentBuilder(self._job.segments / name, self._job.options.all_columns)
        cells = self._builder.add(table)
        if self._builder.memory > self._job.memory or self._builder.columns > _ENOUGH_COLUMNS:
            self.close()
        return cells

    def close(self) -> None:
        if self._builder is not None:
            begin = time.perf_counter()
            components = index_components(self._job.options, self._encoder)
            self.records.append(self._builder.finish(components))
            self._builder = None
            self.seconds += time.perf_counter() - begin

    def abandon(self) -> None:
        """Drop the current segment, because a table could not be added completely."""
        if self._builder is not None:
            self._builder.abandon()
            self._builder = None

    def outcomes(self) -> Iterator[tuple[str, Any]]:
        """Finish, and yield the outcomes for the segments."""
        self.close()
        for record in self.records:
            yield "segment", record


def read_files(job: Job, batch: int, sources: list[Source]) -> Iterator[tuple[str, Any]]:
    """Read whole files and logical tables into segments."""
    deadly = find_suspects(job.scratch, batch)
    reporter = ProgressReporter(job.scratch, batch)
    segments = SegmentWriter(job, batch)
    begin = time.perf_counter()
    position = 0
    for source in sources:
        if isinstance(source, LogicalTable):
            runs: list[EncodedRows] = []
            for outcome in encode_files(job, source, reporter, deadly, position):
                if isinstance(outcome, Skipped):
                    yield "skipped", (source.name, outcome)
                else:
                    runs.append(outcome)
            unread = len(source.files) - sum(not run.part for run in runs)
            if runs or not source.files:
                for united in unite_tables(source, runs, job.options.rules, unread):
                    segments.add(united)
            position += len(source.files)
            continue
        reporter.begin_file(position, source.name)
        cells = skipped = 0
        for table in tables_of(job, source, deadly.contains(position)):
            if isinstance(table, Skipped):
                skipped += 1
                yield "skipped", (source.name, table)
            else:
                cells += segments.add(table)
        reporter.end_file(cells, skipped)
        position += 1
    reading = time.perf_counter() - begin - segments.seconds
    yield from segments.outcomes()
    yield "seconds", {"read": reading, "build": segments.seconds}
    reporter.finish()


def encode_files(
    job: Job, table: LogicalTable, reporter: ProgressReporter, deadly: Suspects, first: int = 0
) -> Iterator[EncodedRows | Skipped]:
    """The rows of each file of a logical table, whose position in the batch begins at `first`, and
    those of the tables nested in it; a file that cannot be read is skipped, and none of its rows is
    used."""
    for position, member in enumerate(table.files, start=first):
        reporter.begin_file(position, member.file.name)
        runs = _encode_member(job, table, member, deadly.contains(position))
        if isinstance(runs, Skipped):
            reporter.end_file(0, 1)
            yield runs
        else:
            reporter.end_file(sum(run.rows * len(run.names) for run in runs), 0)
            yield from runs


def _encode_member(
    job: Job, table: LogicalTable, member: TableFile, deadly: bool
) -> list[EncodedRows] | Skipped:
    file = member.file
    constants = tuple(zip(table.composition.keys, member.partition, strict=False))

    def encode(stream: TableStream, watched: bool) -> EncodedRows:
        encoders, rows = encode_stream(job, stream, watched)
        encoders.reverse()  # frees each encoder's memory when its column is done
        columns = [encoders.pop().to_chunk() for _ in range(len(encoders))]
        about = (stream.format, stream.dialect, tuple(stream.losses), stream.notes)
        return EncodedRows(
            rows, stream.column_names, columns.__getitem__, *about, constants, part=stream.part
        )

    plain = is_plain_file(table, member)
    streams = _encode_streams(
        job,
        file,
        deadly,
        partial(open_table_file, table, member, job.limits),
        partial(open_tables_isolated, Blob.of_file(file), job.limits) if plain else None,
        encode,
    )
    runs: list[EncodedRows] = []
    for outcome in streams:
        if isinstance(outcome, Skipped):
            return outcome
        runs.append(outcome)
    if sum(not run.part for run in runs) == 1:
        return runs
    return Skipped(file.name, "several tables inside", "a file of a larger table must be one table")


def tables_of(job: Job, file: SourceFile, deadly: bool) -> Iterator[TableData | Skipped]:
    """Read the tables of a file; a failure is retried in a child process, then skipped.

    A `deadly` file killed an earlier attempt at its batch: it is read in a child right away.
    """

    def encode(stream: TableStream, watched: bool) -> TableData:
        encoders, rows = encode_stream(job, stream, watched)
        encoders.reverse()  # frees each encoder's memory when its column is finished
        columns = tuple(encoders.pop().finish() for _ in range(len(encoders)))
        about = (stream.format, stream.dialect, tuple(stream.losses), stream.notes)
        return TableData(stream.name, file.name, rows, columns, *about)

    return _encode_streams(
        job,
        file,
        deadly,
        lambda: open_tables(file, job.limits),
        lambda: open_tables_isolated(Blob.of_file(file), job.limits),
        encode,
    )


Encoded = TypeVar("Encoded")
_Streams = Callable[[], Iterator[TableStream | Skipped]]


def _encode_streams(
    job: Job,
    file: SourceFile,
    deadly: bool,
    open_first: _Streams,
    open_again: _Streams | None,
    encode: Callable[[TableStream, bool], Encoded],
) -> Iterator[Encoded | Skipped]:
    """Encode the tables of a file; if that fails, again those that `open_again` reads in a child
    process, if it can be read in one."""

    def encode_or_skip(stream: TableStream | Skipped, watched: bool) -> Encoded | Skipped:
        if isinstance(stream, Skipped):
            return stream
        try:
            return encode(stream, watched)
        except UnreadableFile as problem:
            return Skipped(stream.name, problem.reason, problem.detail)

    done: set[str] = set()
    failure: Exception | None = None
    if not deadly:
        try:
            for stream in with_nested(watch_reader(job, open_first())):
                yield encode_or_skip(stream, watched=True)
                done.add(stream.name)
            return
        except (UnreadableFile, MissingDependency) as problem:
            yield _skipped(file, problem)
            return
        except Exception as problem:  # noqa: BLE001 (any failure: the child reports more)
            failure = problem
    if open_again is None:
        detail = "" if failure is None else f"{type(failure).__name__}: {failure}"[:300]
        yield Skipped(file.name, "reader died" if failure is None else "reader failed", detail)
        return
    try:
        for stream in with_nested(open_again()):
            if stream.name not in done:
                yield encode_or_skip(stream, watched=False)
    except (UnreadableFile, MissingDependency) as problem:
        yield _skipped(file, problem)
    except Exception as problem:  # noqa: BLE001 (one bad file must not stop the job)
        yield Skipped(file.name, "reader failed", f"{type(problem).__name__}: {problem}"[:300])


def _skipped(file: SourceFile, problem: UnreadableFile | MissingDependency) -> Skipped:
    if isinstance(problem, UnreadableFile):
        return Skipped(problem.path, problem.reason, problem.detail)
    return Skipped(file.name, "a library is missing", str(problem))


def encode_stretches(job: Job, stream: TableStream, most: int) -> Iterator[EncodedRows]:
    """Encode a table in stretches of about `most` bytes, each with dictionaries of its own."""

    def new_encoders() -> list[ColumnEncoder]:
        return [ColumnEncoder(name, job.options.rules) for name in stream.column_names]

    def stretch() -> EncodedRows:
        columns = [encoder.to_chunk() for encoder in encoders]
        return EncodedRows(
            rows,
            stream.column_names,
            columns.__getitem__,
            stream.format,
            notes=stream.notes,
            part=stream.part,
        )

    encoders, rows, size = new_encoders(), 0, 0
    for batch in watch_reader(job, stream.batches()):
        rows += batch.num_rows
        size += batch.nbytes
        for encoder, column in zip(encoders, batch.columns, strict=True):
            encoder.append(column)
        if size >= most:
            yield stretch()
            encoders, rows, size = new_encoders(), 0, 0
    last = stretch()
    yield replace(last, losses=tuple(stream.losses))


def encode_stream(
    job: Job, stream: TableStream, watched: bool = True
) -> tuple[list[ColumnEncoder], int]:
    """Read a table into one encoder per column; returns them with the number of rows.

    A stream that a child process has read, with limits of its own, need not be `watched`.
    """
    encoders = [ColumnEncoder(name, job.options.rules) for name in stream.column_names]
    rows = 0
    batches = stream.batches()
    for batch in watch_reader(job, batches) if watched else batches:
        rows += batch.num_rows
        for encoder, column in zip(encoders, batch.columns, strict=True):
            encoder.append(column)
    return encoders, rows


Item = TypeVar("Item")
_GRACE = 30.0
_WAITING = 10  # times longer by the clock than in CPU time


def watch_reader(job: Job, items: Iterator[Item]) -> Iterator[Item]:
    """End this worker if a reader hangs in native code; the retry then isolates the file.

    What counts is CPU time, since a reader on a busy machine is slow and not hung; one that waits
    for something that never comes uses none, so the clock counts too, with much more patience.
    Both run only while the reader works, and longer than a child process may take, since the
    reader may itself be waiting for one.
    """
    source = iter(items)
    while True:
        patience = 2 * job.limits.child_seconds + _GRACE
        faulthandler.dump_traceback_later(_WAITING * patience, exit=True, file=_NOWHERE)
        # Ends the process without the interpreter's help: native code may hold its lock.
        signal.setitimer(signal.ITIMER_PROF, patience)
        try:
            item = next(source)
        except StopIteration:
            return
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
        yield item


_NOWHERE = open(os.devnull, "w")  # noqa: SIM115, PTH123 (kept open: the watchdog writes to it)


def complete_segment(job: Job, batch: int, record: SegmentRecord) -> Iterator[tuple[str, Any]]:
    """Build the components that a segment lacks."""
    del batch
    segment = Segment(job.segments / record.id, record)
    components = index_components(job.options, partial(receive_encoder, job))
    yield "components", add_components(segment, components)


def merge_segments(
    job: Job, batch: int, records: Sequence[SegmentRecord]
) -> Iterator[tuple[str, Any]]:
    """Write the live tables of several segments to new ones."""
    old = [Segment(job.segments / record.id, record) for record in records]
    encoder = partial(StoredVectorEncoder, old) if all_store_vectors(records) else None
    segments = SegmentWriter(job, batch, encoder)
    for segment in old:
        for table in live_tables(segment):
            segments.add(table)
    yield from segments.outcomes()
