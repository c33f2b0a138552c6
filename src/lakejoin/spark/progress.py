"""How far the tasks are, told through small files in the build's scratch folder.

They work on any cluster and through Spark Connect, where tasks and driver share only the storage.
A note also says which file is being read, so that a retry knows what killed its predecessor.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict, dataclass, replace

from lakejoin.storage import Place

_LOCAL_SECONDS = 0.2
_REMOTE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Note:
    """What one attempt at one batch has done so far; `position` counts the files begun."""

    batch: int
    attempt: str
    position: int = 0
    files: int = 0
    cells: int = 0
    skipped: int = 0
    current: str = ""
    done: bool = False


class Reporter:
    """A task's side: keeps a note and writes it now and then."""

    def __init__(self, scratch: Place, batch: int) -> None:
        self.note = Note(batch, secrets.token_hex(4))
        self._folder = scratch / "progress"
        self._pause = _LOCAL_SECONDS if scratch.local else _REMOTE_SECONDS
        self._each_file = scratch.local
        self._written = 0.0
        self._folder.make_folder()

    def begin_file(self, position: int, name: str) -> None:
        """A file is about to be read: on a local disk this is written before anything can fail."""
        self.note = replace(self.note, position=position, current=name)
        self._write(force=self._each_file)

    def end_file(self, cells: int, skipped: int) -> None:
        """A file was read, with so many cells in all and so many things skipped."""
        self.note = replace(
            self.note,
            files=self.note.files + 1,
            cells=self.note.cells + cells,
            skipped=self.note.skipped + skipped,
            current="",
        )
        self._write(force=False)

    def finish(self) -> None:
        """The batch is done."""
        self.note = replace(self.note, done=True, current="")
        self._write(force=True)

    def _write(self, force: bool) -> None:
        now = time.monotonic()
        if force or now - self._written >= self._pause:
            self._written = now
            name = f"{self.note.batch:06d}-{self.note.attempt}.json"
            (self._folder / name).replace_quickly(json.dumps(asdict(self.note)).encode())


def read_notes(scratch: Place, batch: int | None = None) -> list[Note]:
    """All notes, or those of one batch's attempts; half-written ones are passed over."""
    folder = scratch / "progress"
    prefix = "" if batch is None else f"{batch:06d}-"
    notes = []
    for name in folder.children():
        if name.startswith(prefix) and name.endswith(".json"):
            try:
                notes.append(Note(**json.loads((folder / name).read_bytes())))
            except (OSError, ValueError, TypeError):
                continue
    return notes


def suspects(scratch: Place, batch: int) -> set[int]:
    """Positions of files that an earlier attempt was reading when it died."""
    return {n.position for n in read_notes(scratch, batch) if n.current and not n.done}
