"""What the driver of a build and its tasks exchange: work, outcomes and progress notes."""

from __future__ import annotations

import json
import pickle
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lakejoin.locations import Location
from lakejoin.model import ReadLimits
from lakejoin.store.manifest import IndexOptions

_REMOTE_SECONDS = 2.0
_NAME = 200
_WIDTH = 2048  # fixed width of a note, longer than any


@dataclass(frozen=True, slots=True)
class ProgressNote:
    """The progress of one attempt at one batch; `position` is that of the current file."""

    batch: int
    attempt: str
    position: int = 0
    files: int = 0
    cells: int = 0
    skipped: int = 0
    current: str = ""
    done: bool = False


class ProgressReporter:
    """Task: updates its note and writes it from time to time.

    On a local disk the note is overwritten in place, because renaming a file for every table would
    wait for the disk each time; readers ignore a half-written note.
    """

    def __init__(self, scratch: Location, batch: int) -> None:
        self.note = ProgressNote(batch, secrets.token_hex(4))
        folder = scratch / "progress"
        folder.make_folder()
        self._location = folder / f"{batch:06d}-{self.note.attempt}.json"
        self._file = self._location.create() if scratch.local else None
        self._written = 0.0

    def begin_file(self, position: int, name: str) -> None:
        """Note that a file is about to be read; on a local disk, before anything can fail."""
        self.note = replace(self.note, position=position, current=name[:_NAME])
        self._write(force=self._file is not None)

    def end_file(self, cells: int, skipped: int) -> None:
        """Note that a file was read, with its numbers of cells and skipped tables."""
        self.note = replace(
            self.note,
            files=self.note.files + 1,
            cells=self.note.cells + cells,
            skipped=self.note.skipped + skipped,
            current="",
        )
        self._write(force=self._file is not None)

    def add_cells(self, cells: int) -> None:
        """Count the cells of a chunk of a file."""
        self.note = replace(self.note, cells=self.note.cells + cells)

    def finish(self) -> None:
        """Note that the batch is done."""
        self.note = replace(self.note, done=True, current="")
        self._write(force=True)
        if self._file is not None:
            self._file.close()

    def _write(self, force: bool) -> None:
        now = time.monotonic()
        if not force and now - self._written < _REMOTE_SECONDS:
            return
        self._written = now
        data = json.dumps(asdict(self.note)).encode()
        if self._file is None:
            self._location.replace(data)
            return
        self._file.seek(0)
        self._file.write(data.ljust(_WIDTH))
        self._file.flush()


def read_notes(scratch: Location, batch: int | None = None) -> list[ProgressNote]:
    """Read all notes, or those of one batch; ignores half-written ones."""
    folder = scratch / "progress"
    prefix = "" if batch is None else f"{batch:06d}-"
    notes = []
    for name in folder.children():
        if name.startswith(prefix) and name.endswith(".json"):
            try:
                notes.append(ProgressNote(**json.loads((folder / name).read_bytes())))
            except (OSError, ValueError, TypeError):
                continue
    return notes


@dataclass(frozen=True, slots=True)
class Suspects:
    """Files that may have killed an earlier attempt: some positions, or all from one onwards."""

    positions: frozenset[int] = frozenset()
    since: int | None = None

    def contains(self, position: int) -> bool:
        """Whether a file must be read in a child process.

        >>> Suspects(frozenset({2}), 7).holds(2), Suspects(frozenset({2}), 7).holds(3)
        (True, False)
        """
        return position in self.positions or (self.since is not None and position >= self.since)

    def __bool__(self) -> bool:
        return bool(self.positions)


def find_suspects(scratch: Location, batch: int) -> Suspects:
    """Find the files that earlier attempts at a batch were reading when they died.

    After a second death, or if notes are not written for every file, all files from the last known
    position onwards are suspect, so that the next attempt succeeds in any case.
    """
    died = [n.position for n in read_notes(scratch, batch) if not n.done]
    if not died:
        return Suspects()
    careful = len(died) > 1 or not scratch.local
    since = (max(died) if scratch.local else min(died)) if careful else None
    return Suspects(frozenset(died), since)


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
