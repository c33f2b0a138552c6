"""Runs a batch by its kind; this module and everything it imports is free of Spark."""

from __future__ import annotations

from collections.abc import Iterator

from lakejoin.errors import LakejoinError, disk_is_full
from lakejoin.spark.graph_work import (
    count_between,
    find_lost,
    find_shared,
    gather_pairs,
    turn_pairs,
)
from lakejoin.spark.job import Job, Outcome, Worker, read_work
from lakejoin.spark.pieces import assemble, parse_piece, scan_cut
from lakejoin.spark.reading import read_files
from lakejoin.spark.upkeep import complete, merge

_WORKERS: dict[str, Worker] = {
    "files": read_files,
    "scan": scan_cut,
    "piece": parse_piece,
    "assemble": assemble,
    "components": complete,
    "merge": merge,
    "lost": find_lost,
    "shared": find_shared,
    "counted": count_between,
    "gathered": gather_pairs,
    "turned": turn_pairs,
}


def run_batch(job: Job, batch: int) -> Iterator[Outcome]:
    """Run a batch and yield its outcomes; the outcome `failed` ends the whole build."""
    kind, items = read_work(job, batch)
    try:
        for outcome, value in _WORKERS[kind](job, batch, items):
            yield Outcome(batch, outcome, value)
    except OSError as problem:
        if not disk_is_full(problem):
            raise
        yield Outcome(batch, "failed", f"the disk is full: {problem}")
    except LakejoinError as problem:
        yield Outcome(batch, "failed", str(problem))
