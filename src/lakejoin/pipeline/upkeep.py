"""The tasks for existing segments: add components to them, merge them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from lakejoin.pipeline.encoder_handoff import receive_encoder
from lakejoin.pipeline.job_more import Job
from lakejoin.pipeline.options import index_components
from lakejoin.pipeline.segment_tasks import SegmentWriter
from lakejoin.store.known_texts import StoredVectorEncoder, all_store_vectors
from lakejoin.store.merge import live_tables
from lakejoin.store.segment import Segment, SegmentRecord, add_components


def complete_segment(job: Job, batch: int, record: SegmentRecord) -> Iterator[tuple[str, Any]]:
    """Build the components that a segment lacks."""
    del batch
    segment = Segment(job.segments / record.id, record)
    components = index_components(job.options, partial(receive_encoder, job))
    yield "components", add_components(segment, components)


def merge_segments(job: Job, batch: int, records: Sequence[SegmentRecord]) -> Iterator[tuple[str, Any]]:
    """Write the live tables of several segments to new ones."""
    old = [Segment(job.segments / record.id, record) for record in records]
    encoder = partial(StoredVectorEncoder, old) if all_store_vectors(records) else None
    segments = SegmentWriter(job, batch, encoder)
    for segment in old:
        for table in live_tables(segment):
            segments.add(table)
    yield from segments.outcomes()
