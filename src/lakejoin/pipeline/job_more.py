"""What the driver of a build and its tasks exchange.

A task gets only the number of its batch and reads the rest from the build's scratch folder. It
returns little: records of segments, what was skipped, and times.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lakejoin.model import ReadLimits
from lakejoin.locations import Location
from lakejoin.store.manifest import IndexOptions


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
        """The folder of all segments."""
        return Location.of(self.index) / "segments"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One item that a task returns: `kind` says what `value` is."""

    batch: int
    kind: str
    value: Any


# A worker takes the job, its batch number and its items, and yields (kind, value) pairs.
Worker = Callable[[Job, int, Any], Iterator[tuple[str, Any]]]


def write_work(job: Job, batch: int, kind: str, items: Any) -> None:
    """Driver: write the work of a batch to the scratch folder."""
    _batch_file(job, batch).replace_quickly(pickle.dumps((kind, items)))


def read_work(job: Job, batch: int) -> tuple[str, Any]:
    """Task: read the kind of its work, and the items."""
    kind, items = pickle.loads(_batch_file(job, batch).read_bytes())
    return kind, items


def _batch_file(job: Job, batch: int) -> Location:
    return job.scratch / f"batch-{batch:06d}"
