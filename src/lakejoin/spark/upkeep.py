"""The tasks for existing segments: add components to them, merge them."""

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
    """Build the components that a segment lacks."""
    del batch
    segment = Segment(job.segments / record.id, record)
    components = components_of(job.options, partial(handed_over, job))
    yield "components", add_components(segment, components)


def merge(job: Job, batch: int, records: Sequence[SegmentRecord]) -> Iterator[tuple[str, Any]]:
    """Write the live tables of several segments to new ones."""
    old = [Segment(job.segments / record.id, record) for record in records]
    encoder = partial(KnownTexts, old) if are_kept(records) else None
    segments = SegmentWriter(job, batch, encoder)
    for segment in old:
        for table in live_tables(segment):
            segments.add(table)
    yield from segments.outcomes()
