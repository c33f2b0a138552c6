"""Where things are kept that were made once: files by id, the least used going first.

A thing is one or several files of the same id in a folder, written under another name and then
renamed, so that none is ever half there. Which was used last is the time of its first file.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_ABANDONED = 3_600.0  # seconds after which what was being written is nobody's


class Shelf:
    """Things of some endings, at most so many bytes of them, and so many things.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shelf = Shelf(Path(folder) / "notes", (".txt",), bytes=10)
    ...     shelf.put("a", {".txt": b"12345"})
    ...     shelf.put("b", {".txt": b"123456"})
    ...     shelf.get("a"), shelf.get("b").read_text()
    (None, '123456')
    """

    def __init__(
        self, folder: Path, endings: tuple[str, ...], bytes: int, most: int | None = None
    ) -> None:
        self.folder = folder
        self.endings = endings
        self.bytes = bytes
        self.most = most
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, id: str, ending: str | None = None) -> Path:
        """Where a file of a thing is, or would be; the first of its files if no ending is given."""
        return self.folder / f"{id}{ending or self.endings[0]}"

    def get(self, id: str) -> Path | None:
        """The first file of a thing, which counts as used; None if it is not there."""
        if not all(self.path(id, ending).exists() for ending in self.endings):
            return None
        first = self.path(id)
        with suppress(OSError):
            os.utime(first)
        return first

    def read(self, id: str) -> bytes | None:
        """The bytes of the first file of a thing; None if it is not there, or goes just now."""
        first = self.get(id)
        try:
            return None if first is None else first.read_bytes()
        except FileNotFoundError:
            return None

    def put(self, id: str, files: Mapping[str, bytes]) -> None:
        """Keeps a thing, as bytes by ending."""
        with self.making() as made:
            for ending, data in files.items():
                made.with_suffix(ending).write_bytes(data)
            self.keep(id, made)

    @contextmanager
    def making(self) -> Iterator[Path]:
        """A name, to which an ending is to be added, for files that are being written; what is left
        of them goes afterwards."""
        made = self.folder / f"making-{os.getpid()}-{secrets.token_hex(8)}"
        try:
            yield made
        finally:
            for ending in self.endings:
                made.with_suffix(ending).unlink(missing_ok=True)

    @contextmanager
    def held(self, id: str) -> Iterator[Path]:
        """The first file of a thing under a name that stays, though the thing may go meanwhile;
        `FileNotFoundError` if it has gone."""
        held = self.folder / f"making-{os.getpid()}-{secrets.token_hex(8)}{self.endings[0]}"
        try:
            os.link(self.path(id), held)
        except FileNotFoundError:
            raise
        except OSError:  # where files have one name only, it may go
            yield self.path(id)
            return
        try:
            yield held
        finally:
            held.unlink(missing_ok=True)

    def keep(self, id: str, made: Path) -> None:
        """Gives what was written its id; the first file last, so that it is there as a whole."""
        for ending in reversed(self.endings):
            made.with_suffix(ending).replace(self.path(id, ending))
        self.tidy(keep=id)

    def drop(self, id: str) -> None:
        """Takes a thing away."""
        for ending in self.endings:
            self.path(id, ending).unlink(missing_ok=True)

    def size(self) -> int:
        """The bytes of all that is kept."""
        return sum(size for _, size, _ in self._things())

    def tidy(self, keep: str = "") -> None:
        """Takes away what was not used for longest, until the rest is within the limits."""
        with self._lock:
            things = sorted(self._things())
            total, count = sum(size for _, size, _ in things), len(things)
            for _, size, id in things:
                if total <= self.bytes and (self.most is None or count <= self.most):
                    break
                if id != keep:
                    self.drop(id)
                    total, count = total - size, count - 1
            self._sweep()

    def _things(self) -> list[tuple[float, int, str]]:
        """When each was used, its bytes, its id."""
        found: dict[str, tuple[float, int]] = {}
        with os.scandir(self.folder) as entries:
            for entry in entries:
                ending = next((e for e in self.endings if entry.name.endswith(e)), None)
                if ending is None or entry.name.startswith("making-"):
                    continue
                with suppress(OSError):
                    told = entry.stat()
                    id = entry.name.removesuffix(ending)
                    used, size = found.get(id, (0.0, 0))
                    used = told.st_mtime if ending == self.endings[0] else used
                    found[id] = used, size + told.st_size
        return [(used, size, id) for id, (used, size) in found.items()]

    def sweep_of(self, pid: int) -> None:
        """Takes away what a process that has ended left half made."""
        for left in self.folder.glob(f"making-{pid}-*"):
            left.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Takes away what another process began to write and never finished."""
        for left in self.folder.glob("making-*"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > _ABANDONED:
                    left.unlink()
