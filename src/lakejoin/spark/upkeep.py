"""What a task does with segments that exist: adds components to them, merges them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from lakejoin.spark.encoding import handed_over
from lakejoin.spark.job import Job
from lakejoin.spark.parts import components_of
from lakejoin.spark.reading import SegmentWriter
from lakejoin.store.known_texts import KnownTexts, are_kept
from lakejoin.store.merge import live_tables
from lakejoin.store.segment import Segment, SegmentRecord, add_components


def complete(job: Job, batch: int, record: SegmentRecord) -> Iterator[tuple[str, Any]]:
    """Builds the components that a segment lacks."""
    del batch
    segment = Segment(job.segments / record.id, record)
    wanted = components_of(job.options, partial(handed_over, job))
    yield "components", add_components(segment, wanted)


def merge(job: Job, batch: int, records: Sequence[SegmentRecord]) -> Iterator[tuple[str, Any]]:
    """Writes the live tables of several segments anew."""
    merged = [Segment(job.segments / record.id, record) for record in records]
    encoder = partial(KnownTexts, merged) if are_kept(records) else None
    segments = SegmentWriter(job, batch, encoder)
    for segment in merged:
        for table in live_tables(segment):
            segments.add(table)
    yield from segments.outcomes()
