"""What one task does: reads its own files, encodes them, writes its segments. No Spark in here.

A task is told only the number of its batch and finds the rest in the build's scratch folder. It
writes segments to folders of its own attempt; only what it returns, and the driver then names in
the manifest, exists. So a task that dies midway leaves no trace in the result.
"""

from __future__ import annotations

import errno
import faulthandler
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from lakejoin.errors import LakejoinError, MissingPart, UnreadableFile
from lakejoin.model import ReadLimits, Skipped, SourceFile, TableData
from lakejoin.spark.progress import Reporter, suspects
from lakejoin.storage import Place
from lakejoin.store.encode import SegmentBuilder
from lakejoin.store.manifest import IndexOptions

if TYPE_CHECKING:
    from lakejoin.lake.tables import TableStream
    from lakejoin.store.segment import SegmentRecord


@dataclass(frozen=True, slots=True)
class Job:
    """What every task of a build knows. `memory` bounds what finishing a segment may take."""

    index: str
    build: str
    options: IndexOptions = field(default_factory=IndexOptions)
    limits: ReadLimits = field(default_factory=ReadLimits)
    memory: int = 1600 << 20
    watchdog: bool = True

    @property
    def scratch(self) -> Place:
        """The folder where this build's tasks and driver meet."""
        return Place.of(self.index) / "scratch" / self.build


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing that a task returns: `kind` says what the JSON in `body` is."""

    batch: int
    kind: str
    body: str

    @property
    def value(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


def write_work(job: Job, batch: int, kind: str, items: Any) -> None:
    """The driver's side: leaves the work of a batch where its task will find it."""
    body = json.dumps({"kind": kind, "items": items})
    (job.scratch / f"batch-{batch:06d}.json").replace_quickly(body.encode())


def run_batch(job: Job, batch: int) -> Iterator[Outcome]:
    """The task's side: does the work of a batch and says what came of it."""
    work = json.loads((job.scratch / f"batch-{batch:06d}.json").read_bytes())
    try:
        for kind, value in _WORKERS[work["kind"]](job, batch, work["items"]):
            yield Outcome(batch, kind, json.dumps(value))
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        yield Outcome(batch, "failed", json.dumps(f"the disk is full: {problem}"))
    except LakejoinError as problem:
        yield Outcome(batch, "failed", json.dumps(str(problem)))


# -- reading files ----------------------------------------------------------------------------


class _Segments:
    """Collects tables into segments, closing one when it has grown to its bound."""

    def __init__(self, job: Job, batch: int) -> None:
        self._job = job
        self._batch = batch
        self._builder: SegmentBuilder | None = None
        self.records: list[SegmentRecord] = []
        self.seconds = 0.0

    def add(self, table: TableData) -> None:
        if self._builder is None:
            name = f"{self._job.build}-{self._batch:06d}-{secrets.token_hex(4)}"
            place = Place.of(self._job.index) / "segments" / name
            self._builder = SegmentBuilder(place, self._job.options.all_columns)
        self._builder.add(table)
        if self._builder.memory > self._job.memory:
            self.close()

    def close(self) -> None:
        from lakejoin.store.components import COMPONENTS

        if self._builder is not None:
            begin = time.perf_counter()
            self.records.append(self._builder.finish(COMPONENTS))
            self._builder = None
            self.seconds += time.perf_counter() - begin


def _read_files(job: Job, batch: int, items: list[list[Any]]) -> Iterator[tuple[str, Any]]:
    reporter = Reporter(job.scratch, batch)
    deadly = suspects(job.scratch, batch)
    segments = _Segments(job, batch)
    begin = time.perf_counter()
    for position, item in enumerate(items):
        file = SourceFile(*item)
        reporter.begin_file(position, file.name)
        cells = skipped = 0
        for table in _tables(job, file, position in deadly):
            if isinstance(table, Skipped):
                skipped += 1
                yield "skipped", [file.name, table.name, table.reason, table.detail]
            else:
                cells += table.rows * len(table.columns)
                segments.add(table)
        reporter.end_file(cells, skipped)
    reading = time.perf_counter() - begin - segments.seconds
    segments.close()
    for record in segments.records:
        yield "segment", asdict(record)
    yield "seconds", {"read": reading, "build": segments.seconds}
    reporter.finish()


def _tables(job: Job, file: SourceFile, deadly: bool) -> Iterator[TableData | Skipped]:
    """The tables of a file; what fails is tried once more in a child process, then skipped."""
    from lakejoin.lake.isolate import open_tables_isolated
    from lakejoin.lake.read import open_tables

    done: set[str] = set()
    if not deadly:
        try:
            with _watchdog(job):
                for found in open_tables(file, job.limits):
                    yield (result := _encoded(job, file, found))
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
                yield _encoded(job, file, found)
    except (UnreadableFile, MissingPart) as problem:
        yield _skipped(file, problem)
    except Exception as problem:  # noqa: BLE001 (one bad file never stops the job)
        yield Skipped(file.name, "reader failed", f"{type(problem).__name__}: {problem}"[:300])


def _skipped(file: SourceFile, problem: UnreadableFile | MissingPart) -> Skipped:
    if isinstance(problem, UnreadableFile):
        return Skipped(problem.path, problem.reason, problem.detail)
    return Skipped(file.name, "a library is missing", str(problem))


def _encoded(job: Job, file: SourceFile, found: TableStream | Skipped) -> TableData | Skipped:
    from lakejoin.lake.columns import ColumnEncoder

    if isinstance(found, Skipped):
        return found
    encoders = [ColumnEncoder(name, job.options.rules) for name in found.column_names]
    rows = 0
    try:
        for batch in found.batches():
            _watch(job)
            rows += batch.num_rows
            for encoder, column in zip(encoders, batch.columns, strict=True):
                encoder.append(column)
    except UnreadableFile as problem:
        return Skipped(found.name, problem.reason, problem.detail)
    encoders.reverse()  # so that each encoder's memory goes as its column is finished
    columns = tuple(encoders.pop().finish() for _ in range(len(encoders)))
    return TableData(
        found.name, file.name, rows, columns, found.format, found.dialect, tuple(found.losses)
    )


@contextmanager
def _watchdog(job: Job) -> Iterator[None]:
    """Ends this worker when its reader hangs in native code; the retry then isolates the file."""
    _watch(job)
    try:
        yield
    finally:
        if job.watchdog:
            faulthandler.cancel_dump_traceback_later()


def _watch(job: Job) -> None:
    if job.watchdog:
        faulthandler.dump_traceback_later(job.limits.child_seconds, exit=True, file=_NOWHERE)


_NOWHERE = open(os.devnull, "w")  # noqa: SIM115, PTH123 (kept open: the watchdog writes to it)


# -- components of older segments -------------------------------------------------------------


def _add_components(job: Job, batch: int, item: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    from lakejoin.store.components import COMPONENTS
    from lakejoin.store.manifest import segment_from_json
    from lakejoin.store.segment import Segment, add_components
    from lakejoin.store.snapshot import segment_place

    del batch
    record = segment_from_json(item)
    segment = Segment(segment_place(Place.of(job.index), record), record)
    yield "components", asdict(add_components(segment, COMPONENTS))


# -- merging segments -------------------------------------------------------------------------


def _merge(job: Job, batch: int, items: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    from lakejoin.store.manifest import segment_from_json
    from lakejoin.store.merge import live_tables
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import segment_place

    segments = _Segments(job, batch)
    for item in items:
        record = segment_from_json(item)
        for table in live_tables(Segment(segment_place(Place.of(job.index), record), record)):
            segments.add(table)
    segments.close()
    for made in segments.records:
        yield "segment", asdict(made)


_Worker = Callable[[Job, int, Any], Iterator[tuple[str, Any]]]
_WORKERS: dict[str, _Worker] = {
    "files": _read_files,
    "components": _add_components,
    "merge": _merge,
}
