"""What the driver of a build and its tasks exchange: work, outcomes and the encoder, which each
process opens once; and the contract of who runs the tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from lakejoin.errors import BuildFailed, InputError, LakejoinError
from lakejoin.locations import Location
from lakejoin.model import ReadLimits
from lakejoin.pipeline.task_progress import Listener, Progress
from lakejoin.store.manifest import IndexOptions

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder

Work = tuple[str, Any]  # the kind of a task, and its items
_ENCODER_FILE = "encoder"


@dataclass(frozen=True, slots=True)
class Job:
    """The settings of a build that every task gets; `memory` limits finishing a segment."""

    index: str
    build: str
    options: IndexOptions = field(default_factory=IndexOptions)
    limits: ReadLimits = field(default_factory=ReadLimits)
    memory: int = 1600 << 20

    @property
    def scratch(self) -> Location:
        """The folder where tasks and driver of this build exchange files."""
        return Location.of(self.index) / "scratch" / self.build

    @property
    def segments(self) -> Location:
        return Location.of(self.index) / "segments"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One item that a task returns: `kind` says what `value` is."""

    batch: int
    kind: str
    value: Any


# A worker takes the job, its batch number and its items, and yields (kind, value) pairs.
Worker = Callable[[Job, int, Any], Iterator[tuple[str, Any]]]


class TaskRunner(Protocol):
    """Runs the tasks of a job: on Spark, or in this process."""

    @property
    def cores(self) -> int:
        """The number of tasks that run at once."""

    def run(self, job: Job, batches: range, stage: Progress, listener: Listener) -> list[Outcome]:
        """Run a range of batches, one task each; returns all outcomes in the order of batches."""

    def dumps(self, value: Any) -> bytes:
        """Pickle a value so that the tasks can load it."""


# Starts a runner and tells the listener that it takes a while; the end of the block stops it.
StartRunner = Callable[[Listener], AbstractContextManager[TaskRunner]]


class TaskRounds:
    """Runs rounds of tasks of one job; batch numbers continue across rounds."""

    def __init__(self, job: Job, listener: Listener) -> None:
        self._job = job
        self._listener = listener
        self._next = 0
        job.scratch.make_folder()

    def run(self, runner: TaskRunner, work: Sequence[Work], stage: Progress) -> list[Outcome]:
        if not work:
            return []
        first, self._next = self._next, self._next + len(work)
        for batch, (kind, items) in enumerate(work, start=first):
            _write_work(self._job, batch, kind, items)
        return runner.run(self._job, range(first, self._next), stage, self._listener)


def _write_work(job: Job, batch: int, kind: str, items: Any) -> None:
    """Driver: write the work of a batch to the scratch folder."""
    _batch_file(job, batch).replace(pickle.dumps((kind, items)), durably=False)


def read_work(job: Job, batch: int) -> tuple[str, Any]:
    """Task: read the kind of its work, and the items."""
    kind, items = pickle.loads(_batch_file(job, batch).read_bytes())
    return kind, items


def _batch_file(job: Job, batch: int) -> Location:
    return job.scratch / f"batch-{batch:06d}"


def send_encoder(job: Job, encoder: Encoder, runner: TaskRunner) -> None:
    """Driver: write the encoder's spec to the scratch folder."""
    try:
        body = runner.dumps(encoder.spec)
    except Exception as problem:  # noqa: BLE001 (pickling fails with any type of exception)
        raise InputError(
            f"the encoder {encoder.name} cannot be sent to the workers ({problem}): it must not "
            "hold an open file, a lock or a connection"
        ) from None
    job.scratch.make_folder()
    (job.scratch / _ENCODER_FILE).replace(body, durably=False)


def receive_encoder(job: Job) -> Encoder:
    """Task: open the encoder that the driver handed over."""
    return _open_encoder((job.scratch / _ENCODER_FILE).uri)


@lru_cache(maxsize=1)
def _open_encoder(uri: str) -> Encoder:
    try:
        spec = pickle.loads(Location.of(uri).read_bytes())
        encoder: Encoder = spec.open()
    except LakejoinError:
        raise
    except Exception as problem:
        raise BuildFailed(
            f"a worker cannot open the encoder ({type(problem).__name__}: {problem}): install its "
            "packages and files on every worker"
        ) from problem
    return encoder
