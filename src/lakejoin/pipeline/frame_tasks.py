"""Frames on their way into segments: those of this process are written to a file that the tasks
read; those of Spark are encoded by its executors, where their rows are."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lakejoin.formats.nested_arrow import ArrowValues, pick_columns, plan_arrow
from lakejoin.formats.nested_tables import NestedRecords
from lakejoin.model import LogicalTable, Source
from lakejoin.pipeline.chunk_tasks import Assembly, ParsedChunk, write_runs
from lakejoin.pipeline.job import Job, Outcome, TaskRounds, TaskRunner, Work
from lakejoin.pipeline.segment_tasks import encode_stretches
from lakejoin.pipeline.task_progress import Listener, Progress
from lakejoin.values.plain_columns import Losses

if TYPE_CHECKING:
    from lakejoin.sources.lake_frames import LakeFrame

_FIRST_BATCH = 500_000  # above the batches of files
_SEGMENT_BYTES = 256 << 20  # of encoded chunks that one task assembles
_PARTITION_ROWS = 1 << 40


def write_frames(
    job: Job, sources: Sequence[Source], frames: Sequence[LakeFrame]
) -> tuple[list[Source], list[LakeFrame]]:
    """The sources that tasks read from files, including those to which the frames of this process
    were written, and the frames of Spark."""
    by_name = {frame.name: frame for frame in frames}
    read: list[Source] = []
    later: list[LakeFrame] = []
    for number, source in enumerate(sources):
        frame = by_name.get(source.name)
        if frame is None:
            read.append(source)
        elif frame.encode is None:
            job.scratch.make_folder()
            read.append(frame.write(job.scratch / f"frame-{number:06d}.arrow"))
        else:
            later.append(frame)
    return read, later


def read_frames(
    runner: TaskRunner,
    job: Job,
    frames: Sequence[LakeFrame],
    chunk_bytes: int,
    listener: Listener,
) -> list[Outcome]:
    """Encode frames of Spark by its executors, and assemble them to segments."""
    outcomes: list[Outcome] = []
    groups: list[list[Assembly]] = []
    room = 0
    for done, frame in enumerate(frames):
        listener(Progress("encoding Spark tables", done=done, total=len(frames)))
        job.scratch.make_folder()
        assert frame.encode is not None
        found: list[Outcome] = frame.encode(job, frame, chunk_bytes)
        outcomes += found
        if any(outcome.kind == "skipped" for outcome in found):
            continue
        chunks: list[ParsedChunk] = [o.value for o in found if o.kind == "chunk"]
        chunks.sort(key=lambda chunk: chunk.chunk_index)
        size = sum(chunk.record.bytes for chunk in chunks)
        if not groups or size > room:
            groups.append([])
            room = _SEGMENT_BYTES
        room -= size
        pairs = tuple((chunk, ()) for chunk in chunks)
        groups[-1].append(Assembly(replace(frame.source, files=()), pairs))
    rounds = TaskRounds(job, listener, _FIRST_BATCH)
    work: list[Work] = [("assemblies", group) for group in groups]
    return outcomes + rounds.run(runner, work, Progress("writing segments", total=len(groups)))


def encode_partition(
    job: Job,
    table: LogicalTable,
    schema: pa.Schema,
    partition: int,
    batches: Iterator[pa.RecordBatch],
    chunk_bytes: int,
) -> Iterator[Outcome]:
    """The rows of a partition of a frame as chunks of about this many bytes, where they are."""
    waiting: list[pa.RecordBatch] = []
    attempt, number, size = secrets.token_hex(4), 0, 0
    row = partition * _PARTITION_ROWS
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= chunk_bytes:
            for chunk in _encode(job, table, schema, row, waiting, f"{attempt}-{number}"):
                yield Outcome(partition, "chunk", _placed(chunk, partition, number))
            row += sum(each.num_rows for each in waiting)
            waiting, size, number = [], 0, number + 1
    if waiting:
        for chunk in _encode(job, table, schema, row, waiting, f"{attempt}-{number}"):
            yield Outcome(partition, "chunk", _placed(chunk, partition, number))


def _placed(chunk: ParsedChunk, partition: int, number: int) -> ParsedChunk:
    return replace(chunk, chunk_index=partition * 1_000_000 + number)


def _encode(
    job: Job,
    table: LogicalTable,
    schema: pa.Schema,
    first_row: int,
    batches: Sequence[pa.RecordBatch],
    name: str,
) -> Iterator[ParsedChunk]:
    def read(_: Losses, needed: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        return (pick_columns(batch, schema.names, needed) for batch in batches)

    plan = plan_arrow(table.name, schema, lambda _losses, _needed: iter(()), job.limits, maps=False)
    records = NestedRecords(
        table.name, "spark", plan, ArrowValues(), read, job.limits, first_row
    ).stream()
    for part, stream in enumerate(records.with_children()):
        for stretch, run in enumerate(encode_stretches(job, stream, 1 << 62)):
            yield write_runs(job, f"{name}-{part}-{stretch}", table, [run], 0, stream.part)
