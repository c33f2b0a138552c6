"""Runs the batches of a build as Spark tasks and watches how far they are."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lakejoin.errors import BuildFailed
from lakejoin.spark.job import Job, Outcome
from lakejoin.spark.progress import read_notes
from lakejoin.spark.work import run_batch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.25
_SCHEMA = "outcome binary"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is: shown by the listener, which must be quick."""

    stage: str
    files: int = 0
    total: int = 0
    cells: int = 0
    skipped: int = 0
    seconds: float = 0.0


Listener = Callable[[Progress], None]


def run_tasks(
    spark: SparkSession, job: Job, batches: range, stage: Progress, listener: Listener
) -> list[Outcome]:
    """Runs a range of batches, one task each, without a shuffle; returns all they gave back."""
    if not batches:
        return []
    with _watching(job, stage, listener):
        rows = (
            spark.range(batches.start, batches.stop, 1, len(batches))
            .mapInArrow(partial(_run_partition, job), _SCHEMA)
            .toArrow()
        )
    outcomes = [pickle.loads(body) for body in rows["outcome"].to_pylist()]
    failed = [o.value for o in outcomes if o.kind == "failed"]
    if failed:
        raise BuildFailed(f"{failed[0]}; the previous index is untouched")
    return sorted(outcomes, key=lambda o: o.batch)


def _run_partition(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for numbers in batches:
        for number in numbers.column(0).to_pylist():
            found = [pickle.dumps(outcome) for outcome in run_batch(job, number)]
            yield pa.record_batch({"outcome": pa.array(found, pa.binary())})


class _watching:  # noqa: N801 (used as a function, in a with statement)
    """Reads the tasks' notes in a thread and tells the listener, until the block ends."""

    def __init__(self, job: Job, stage: Progress, listener: Listener) -> None:
        self._job = job
        self._stage = stage
        self._listener = listener
        self._stop = threading.Event()
        self._begin = time.monotonic()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._listener(self._stage)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._tell()

    def _watch(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            self._tell()

    def _tell(self) -> None:
        best: dict[int, tuple[int, int, int]] = {}
        for note in read_notes(self._job.scratch):
            best[note.batch] = max(
                best.get(note.batch, (0, 0, 0)), (note.files, note.cells, note.skipped)
            )
        files, cells, skipped = (sum(n[i] for n in best.values()) for i in range(3))
        self._listener(
            Progress(
                self._stage.stage,
                min(files, self._stage.total),
                self._stage.total,
                cells,
                skipped,
                time.monotonic() - self._begin,
            )
        )
