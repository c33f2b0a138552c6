"""What the driver of a build and its tasks exchange: work, outcomes and the encoder, which each
process opens once; and the contract of who runs the tasks."""

from __future__ import annotations

import hashlib
import hmac
import pickle
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache, partial
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
_SEAL_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class Job:
    """The settings of a build that every task gets; `memory` limits finishing a segment.

    `key` authenticates what driver and tasks exchange by files: it travels only inside Spark's
    closure, so that nobody who can write the index folder can make a task run their code.
    """

    index: str
    build: str
    options: IndexOptions = field(default_factory=IndexOptions)
    limits: ReadLimits = field(default_factory=ReadLimits)
    memory: int = 1600 << 20
    key: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)

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
    """Runs the tasks of a job: on Spark, in processes of this machine, or in this process."""

    @property
    def engine(self) -> str:
        """`spark` or `local`."""

    @property
    def note(self) -> str:
        """Why this engine was chosen; empty if the caller chose it."""

    @property
    def cores(self) -> int:
        """The number of tasks that run at once."""

    def run(self, job: Job, batches: range, stage: Progress, listener: Listener) -> list[Outcome]:
        """Run a range of batches, one task each; returns all outcomes in the order of batches."""

    def dumps(self, value: Any) -> bytes:
        """Pickle a value so that the tasks can load it."""


# Starts a runner for work on about so many bytes, and tells the listener if that takes a while; the
# end of the block stops it.
StartRunner = Callable[[Listener, int], AbstractContextManager[TaskRunner]]


class TaskRounds:
    """Runs rounds of tasks of one job; batch numbers continue across rounds."""

    def __init__(self, job: Job, listener: Listener, first: int = 0) -> None:
        self._job = job
        self._listener = listener
        self._next = first
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
    _write_sealed(_batch_file(job, batch), job.key, pickle.dumps((kind, items)))


def read_work(job: Job, batch: int) -> tuple[str, Any]:
    """Task: read the kind of its work, and the items."""
    kind, items = pickle.loads(_read_sealed(_batch_file(job, batch), job.key))
    return kind, items


def _batch_file(job: Job, batch: int) -> Location:
    return job.scratch / f"batch-{batch:06d}"


def _write_sealed(file: Location, key: bytes, body: bytes) -> None:
    file.replace(_compute_seal(file, key, body) + body, durably=False)


def _read_sealed(file: Location, key: bytes) -> bytes:
    """The bytes that this build wrote; raises if anybody else changed or swapped the file."""
    data = file.read_bytes()
    seal, body = data[:_SEAL_BYTES], data[_SEAL_BYTES:]
    if not hmac.compare_digest(seal, _compute_seal(file, key, body)):
        raise BuildFailed(
            f"{file} was not written by this build: make sure that nobody else can write the "
            "index folder, and run the command again"
        )
    return body


def _compute_seal(file: Location, key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, file.name.encode() + b"\0" + body, hashlib.sha256)


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
    _write_sealed(job.scratch / _ENCODER_FILE, job.key, body)


def receive_encoder(job: Job) -> Encoder:
    """Task: open the encoder that the driver handed over."""
    return _open_encoder(job.scratch / _ENCODER_FILE, job.key)


@lru_cache(maxsize=1)
def _open_encoder(file: Location, key: bytes) -> Encoder:
    try:
        spec = pickle.loads(_read_sealed(file, key))
        encoder: Encoder = spec.open()
    except LakejoinError:
        raise
    except Exception as problem:
        raise BuildFailed(
            f"a worker cannot open the encoder ({type(problem).__name__}: {problem}): install its "
            "packages and files on every worker"
        ) from problem
    return encoder
