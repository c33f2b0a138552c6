"""What a task does with files: reads and encodes them, and writes segments.

Segments go to folders of the task's own attempt; only what it returns, and the driver then names
in the manifest, exists. So a task that dies midway leaves no trace in the result.
"""

from __future__ import annotations

import faulthandler
import os
import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lakejoin.errors import MissingPart, UnreadableFile
from lakejoin.model import Skipped, SourceFile, TableData
from lakejoin.spark.encoding import handed_over
from lakejoin.spark.job import Job
from lakejoin.spark.parts import components_of
from lakejoin.spark.progress import Reporter, suspects
from lakejoin.store.encode import SegmentBuilder

if TYPE_CHECKING:
    from lakejoin.lake.columns import ColumnEncoder
    from lakejoin.lake.tables import TableStream
    from lakejoin.store.meaning import TextEncoder
    from lakejoin.store.segment import SegmentRecord

# With a table of 20,000 columns more (none is wider) 16 bits still number a segment's columns: that
# halves its posting lists and keeps the counts of a search in a processor's cache.
_ENOUGH_COLUMNS = 45_000


class SegmentWriter:
    """Collects tables into segments, closing one when it has grown to its bound.

    `encoder` opens what makes vectors, where it is not the encoder that the driver has handed over.
    """

    def __init__(
        self, job: Job, batch: int, encoder: Callable[[], TextEncoder] | None = None
    ) -> None:
        self._job = job
        self._batch = batch
        self._encoder = encoder or partial(handed_over, job)
        self._builder: SegmentBuilder | None = None
        self.records: list[SegmentRecord] = []
        self.seconds = 0.0

    def add(self, table: TableData) -> int:
        """Adds a table; returns how many cells it has."""
        if self._builder is None:
            name = f"{self._job.build}-{self._batch:06d}-{secrets.token_hex(4)}"
            self._builder = SegmentBuilder(self._job.segments / name, self._job.options.all_columns)
        cells = self._builder.add(table)
        if self._builder.memory > self._job.memory or self._builder.columns > _ENOUGH_COLUMNS:
            self.close()
        return cells

    def close(self) -> None:
        """Finishes the segment that is open, if there is one."""
        if self._builder is not None:
            begin = time.perf_counter()
            wanted = components_of(self._job.options, self._encoder)
            self.records.append(self._builder.finish(wanted))
            self._builder = None
            self.seconds += time.perf_counter() - begin

    def abandon(self) -> None:
        """Drops the segment that is open: a table could not be added whole."""
        if self._builder is not None:
            self._builder.abandon()
            self._builder = None

    def outcomes(self) -> Iterator[tuple[str, Any]]:
        """Closes, and gives what a task returns of its segments."""
        self.close()
        for record in self.records:
            yield "segment", record


def read_files(job: Job, batch: int, files: list[SourceFile]) -> Iterator[tuple[str, Any]]:
    """Reads whole files into segments."""
    deadly = suspects(job.scratch, batch)
    reporter = Reporter(job.scratch, batch)
    segments = SegmentWriter(job, batch)
    begin = time.perf_counter()
    for position, file in enumerate(files):
        reporter.begin_file(position, file.name)
        cells = skipped = 0
        for table in tables_of(job, file, deadly.holds(position)):
            if isinstance(table, Skipped):
                skipped += 1
                yield "skipped", (file.name, table)
            else:
                cells += segments.add(table)
        reporter.end_file(cells, skipped)
    reading = time.perf_counter() - begin - segments.seconds
    yield from segments.outcomes()
    yield "seconds", {"read": reading, "build": segments.seconds}
    reporter.finish()


def tables_of(job: Job, file: SourceFile, deadly: bool) -> Iterator[TableData | Skipped]:
    """The tables of a file; what fails is tried once more in a child process, then skipped.

    A `deadly` file killed an earlier attempt at its batch: it is read in a child from the start.
    """
    from lakejoin.lake.isolate import open_tables_isolated
    from lakejoin.lake.read import open_tables

    done: set[str] = set()
    if not deadly:
        try:
            for found in watched(job, open_tables(file, job.limits)):
                yield (result := _encoded(job, file, found, watched))
                done.add(result.name)
            return
        except (UnreadableFile, MissingPart) as problem:
            yield _skipped(file, problem)
            return
        except Exception:  # noqa: BLE001 (any failure of a reader: the child says more)
            pass
    try:
        for found in open_tables_isolated(file, job.limits):
            if found.name not in done:
                yield _encoded(job, file, found, unwatched)
    except (UnreadableFile, MissingPart) as problem:
        yield _skipped(file, problem)
    except Exception as problem:  # noqa: BLE001 (one bad file never stops the job)
        yield Skipped(file.name, "reader failed", f"{type(problem).__name__}: {problem}"[:300])


def _skipped(file: SourceFile, problem: UnreadableFile | MissingPart) -> Skipped:
    if isinstance(problem, UnreadableFile):
        return Skipped(problem.path, problem.reason, problem.detail)
    return Skipped(file.name, "a library is missing", str(problem))


def _encoded(
    job: Job, file: SourceFile, found: TableStream | Skipped, guard: Guard
) -> TableData | Skipped:
    if isinstance(found, Skipped):
        return found
    try:
        encoders, rows = encode_stream(job, found, guard)
    except UnreadableFile as problem:
        return Skipped(found.name, problem.reason, problem.detail)
    encoders.reverse()  # each encoder's memory goes as its column is finished
    columns = tuple(encoders.pop().finish() for _ in range(len(encoders)))
    about = (found.format, found.dialect, tuple(found.losses), found.notes)
    return TableData(found.name, file.name, rows, columns, *about)


def encode_stream(job: Job, stream: TableStream, guard: Guard) -> tuple[list[ColumnEncoder], int]:
    """Takes a table's batches into one encoder a column; also the number of rows."""
    from lakejoin.lake.columns import ColumnEncoder

    encoders = [ColumnEncoder(name, job.options.rules) for name in stream.column_names]
    rows = 0
    for batch in guard(job, stream.batches()):
        rows += batch.num_rows
        for encoder, column in zip(encoders, batch.columns, strict=True):
            encoder.append(column)
    return encoders, rows


Item = TypeVar("Item")
_GRACE = 30.0


class Guard(Protocol):
    """Hands on what a reader gives, and may end the worker when the reader hangs."""

    def __call__(self, job: Job, items: Iterator[Item]) -> Iterator[Item]:
        """The same items."""


def unwatched(job: Job, items: Iterator[Item]) -> Iterator[Item]:
    """For what a child process has read: the child has limits of its own."""
    del job
    return items


def watched(job: Job, items: Iterator[Item]) -> Iterator[Item]:
    """Ends this worker when a reader hangs in native code; the retry then isolates the file.

    The clock runs only while the reader works, and longer than a child process may take, which
    the reader may itself be waiting for.
    """
    source = iter(items)
    while True:
        patience = 2 * job.limits.child_seconds + _GRACE
        faulthandler.dump_traceback_later(patience, exit=True, file=_NOWHERE)
        try:
            item = next(source)
        except StopIteration:
            return
        finally:
            faulthandler.cancel_dump_traceback_later()
        yield item


_NOWHERE = open(os.devnull, "w")  # noqa: SIM115, PTH123 (kept open: the watchdog writes to it)
