"""Runs tasks by their kind; this module and everything it imports is free of Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from lakejoin.errors import BuildFailed, LakejoinError, is_disk_full
from lakejoin.pipeline.chunk_tasks import (
    assemble_table,
    assemble_tables,
    parse_chunk,
    parse_group,
    parse_stream,
    scan_cut,
)
from lakejoin.pipeline.graph_tasks import (
    count_pairs,
    find_lost,
    find_shared,
    gather_pairs,
    reverse_pairs,
)
from lakejoin.pipeline.job import Job, Outcome, Worker, read_work
from lakejoin.pipeline.segment_tasks import complete_segment, merge_segments, read_files
from lakejoin.pipeline.task_progress import Listener, Progress, watch_progress

_WORKERS: dict[str, Worker] = {
    "files": read_files,
    "scan": scan_cut,
    "chunk": parse_chunk,
    "group": parse_group,
    "stream": parse_stream,
    "assemble": assemble_table,
    "assemblies": assemble_tables,
    "components": complete_segment,
    "merge": merge_segments,
    "lost": find_lost,
    "shared": find_shared,
    "counted": count_pairs,
    "gathered": gather_pairs,
    "turned": reverse_pairs,
}


def run_batch(job: Job, batch: int) -> Iterator[Outcome]:
    """Run a batch and yield its outcomes; the outcome `failed` ends the whole build."""
    try:
        kind, items = read_work(job, batch)
        for outcome, value in _WORKERS[kind](job, batch, items):
            yield Outcome(batch, outcome, value)
    except OSError as problem:
        if not is_disk_full(problem):
            raise
        yield Outcome(batch, "failed", f"the disk is full: {problem}")
    except LakejoinError as problem:
        yield Outcome(batch, "failed", str(problem))


def check_outcomes(outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes in the order of their batches; raises if a task failed."""
    for outcome in outcomes:
        if outcome.kind == "failed":
            raise BuildFailed(f"{outcome.value}; the previous index is untouched")
    return sorted(outcomes, key=lambda outcome: outcome.batch)


class InlineRunner:
    """Runs tasks in this process, one after the other: for work too small to start another."""

    engine = "local"
    note = ""
    cores = 1

    def run(self, job: Job, batches: range, stage: Progress, listener: Listener) -> list[Outcome]:
        with watch_progress(job.scratch, batches, stage, listener):
            outcomes = [outcome for batch in batches for outcome in run_batch(job, batch)]
        return check_outcomes(outcomes)

    def dumps(self, value: Any) -> bytes:
        return pickle.dumps(value)
