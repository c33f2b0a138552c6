"""What a build's driver and its tasks tell each other.

A task is told only the number of its batch and finds the rest in the build's scratch folder. What
it returns is small: records of segments, what was skipped, how long it took.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lakejoin.model import ReadLimits
from lakejoin.storage import Place
from lakejoin.store.manifest import IndexOptions


@dataclass(frozen=True, slots=True)
class Job:
    """What every task of a build knows. `memory` bounds what finishing a segment may take."""

    index: str
    build: str
    options: IndexOptions = field(default_factory=IndexOptions)
    limits: ReadLimits = field(default_factory=ReadLimits)
    memory: int = 1600 << 20

    @property
    def scratch(self) -> Place:
        """The folder where this build's tasks and driver meet."""
        return Place.of(self.index) / "scratch" / self.build

    @property
    def segments(self) -> Place:
        """The folder of all segments."""
        return Place.of(self.index) / "segments"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing that a task returns: `kind` says what `value` is."""

    batch: int
    kind: str
    value: Any


# A worker takes the job, the number of its batch and its items, and gives (kind, value) pairs.
Worker = Callable[[Job, int, Any], Iterator[tuple[str, Any]]]


def write_work(job: Job, batch: int, kind: str, items: Any) -> None:
    """The driver's side: leaves the work of a batch where its task will find it."""
    _place(job, batch).replace_quickly(pickle.dumps((kind, items)))


def read_work(job: Job, batch: int) -> tuple[str, Any]:
    """The task's side: the kind of its work, and the items."""
    kind, items = pickle.loads(_place(job, batch).read_bytes())
    return kind, items


def _place(job: Job, batch: int) -> Place:
    return job.scratch / f"batch-{batch:06d}"
