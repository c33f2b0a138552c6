"""What a task does with segments that exist: adds components to them, merges them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lakejoin.spark.job import Job
from lakejoin.spark.reading import SegmentWriter
from lakejoin.store.merge import live_tables
from lakejoin.store.segment import Segment, SegmentRecord, add_components


def complete(job: Job, batch: int, record: SegmentRecord) -> Iterator[tuple[str, Any]]:
    """Builds the components that a segment lacks."""
    from lakejoin.store.components import components

    del batch
    segment = Segment(job.segments / record.id, record)
    wanted = components(job.options.permutations, job.options.super_keys)
    yield "components", add_components(segment, wanted)


def merge(job: Job, batch: int, records: Sequence[SegmentRecord]) -> Iterator[tuple[str, Any]]:
    """Writes the live tables of several segments anew."""
    segments = SegmentWriter(job, batch)
    for record in records:
        for table in live_tables(Segment(job.segments / record.id, record)):
            segments.add(table)
    yield from segments.outcomes()
