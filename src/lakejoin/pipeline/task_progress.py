"""The progress of tasks: notes that tasks write, what the driver reports of them, and which files
killed an earlier attempt."""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

from lakejoin.locations import Location

_REMOTE_SECONDS = 2.0
_NAME = 200
_WIDTH = 2048  # fixed width of a note, longer than any
_POLL_SECONDS = 0.25
_REMOTE_POLL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a build: `files` of `total`, or whatever `unit` says. Listeners must be
    quick."""

    stage: str
    done: int = 0
    total: int = 0
    cells: int = 0
    skipped: int = 0
    seconds: float = 0.0
    unit: str = "files"


Listener = Callable[[Progress], None]


# -- in the tasks ----------------------------------------------------------------------------------


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
        self.note = replace(self.note, cells=self.note.cells + cells)

    def finish(self) -> None:
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

        >>> Suspects(frozenset({2}), 7).contains(2), Suspects(frozenset({2}), 7).contains(3)
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


# -- in the driver ---------------------------------------------------------------------------------


@contextlib.contextmanager
def watch_progress(
    scratch: Location, batches: range, stage: Progress, listener: Listener
) -> Iterator[None]:
    """Inform the listener of what the tasks' notes say, until the block ends."""
    # Rounds of reading continue the count of files; other stages start at zero.
    counted = range(batches.stop) if stage.unit == "files" else batches
    begin = time.monotonic()

    def report() -> None:
        now = _add_notes(stage, [note for note in read_notes(scratch) if note.batch in counted])
        listener(replace(now, seconds=time.monotonic() - begin))

    listener(stage)
    try:
        with call_regularly(report, _POLL_SECONDS if scratch.local else _REMOTE_POLL_SECONDS):
            yield
    finally:
        with contextlib.suppress(OSError):  # must not hide an error from inside the block
            report()


def _add_notes(stage: Progress, notes: list[ProgressNote]) -> Progress:
    """The stage with the counts of the best attempt at each batch."""
    best: dict[int, tuple[int, int, int]] = {}
    for note in notes:
        counts = note.files, note.cells, note.skipped
        best[note.batch] = max(best.get(note.batch, (0, 0, 0)), counts)
    files, cells, skipped = (sum(counts[i] for counts in best.values()) for i in range(3))
    return replace(stage, done=min(files, stage.total), cells=cells, skipped=skipped)


@contextlib.contextmanager
def call_regularly(function: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call the function in a thread every few seconds, until the block ends."""
    stop = threading.Event()

    def poll() -> None:
        while not stop.wait(seconds):
            function()

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
