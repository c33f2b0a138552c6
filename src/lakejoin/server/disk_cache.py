"""Files stored by id in a folder of limited size; the least recently used are removed first.

An entry is one or more files with the same id and a last file with their checksums, synced to disk
under another name and then renamed, so that it is never half there. The modification time of the
checksums is when the entry was last used. An entry that does not match its checksums counts as not
stored: nobody maps it, and whoever makes it again replaces it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

import xxhash

from lakejoin.locations.local_files import sync, sync_folder

_SUMS_SUFFIX = ".sums"
_ABANDONED = 3_600.0  # seconds after which an unfinished file is removed
_MAX_REMEMBERED = 100_000  # verified files; beyond that they are verified again

# What tells whether a verified file has changed: inode, size, modification time and checksum.
_FileState = tuple[int, int, int, str]


class DiskCache:
    """Entries of at most `max_bytes` bytes and `max_entries` entries in all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shelf = DiskCache(Path(folder) / "notes", (".txt",), bytes=50)
    ...     shelf.put("a", {".txt": b"12345"})
    ...     shelf.put("b", {".txt": b"123456"})
    ...     shelf.get("a"), shelf.get("b").read_text()
    (None, '123456')
    """

    def __init__(
        self, folder: Path, endings: tuple[str, ...], bytes: int, most: int | None = None
    ) -> None:
        self.folder = folder
        self.suffixes = endings
        self.max_bytes = bytes
        self.max_entries = most
        self._lock = threading.Lock()
        self._verified: dict[Path, _FileState] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, id: str, ending: str | None = None) -> Path:
        """Where a file of an entry is or would be; by default its first file."""
        return self.folder / f"{id}{ending or self.suffixes[0]}"

    def get(self, id: str) -> Path | None:
        """The first file of an entry, which counts as used now; None if there is none or if it is
        damaged. A file is read for this when it is new to this process or has changed."""
        sums_path = self.path(id, _SUMS_SUFFIX)
        try:
            sums = json.loads(sums_path.read_bytes())
            if not all(self._is_whole(self.path(id, end), sums[end]) for end in self.suffixes):
                return None
        except (OSError, ValueError, LookupError, TypeError):
            return None
        with suppress(OSError):
            os.utime(sums_path)
        return self.path(id)

    def _is_whole(self, path: Path, expected: str) -> bool:
        """Whether a file has its checksum."""
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            state = status.st_ino, status.st_size, status.st_mtime_ns, expected
            if self._verified.get(path) == state:
                return True
            self._verified.pop(path, None)
            if _checksum(file) != expected:
                return False
        if len(self._verified) >= _MAX_REMEMBERED:
            self._verified.clear()
        self._verified[path] = state
        return True

    def read(self, id: str) -> bytes | None:
        """The bytes of an entry's first file; None if there is none."""
        first = self.get(id)
        try:
            return None if first is None else first.read_bytes()
        except FileNotFoundError:
            return None

    def put(self, id: str, files: Mapping[str, bytes]) -> None:
        """Store an entry, as bytes by file ending."""
        with self.temporary_path() as made:
            for ending, data in files.items():
                made.with_suffix(ending).write_bytes(data)
            self.commit(id, made)

    @contextmanager
    def temporary_path(self) -> Iterator[Path]:
        """A temporary path without ending, for files to write; leftovers are removed."""
        made = self.folder / f"making-{os.getpid()}-{secrets.token_hex(8)}"
        try:
            yield made
        finally:
            for ending in (*self.suffixes, _SUMS_SUFFIX):
                with suppress(OSError):
                    made.with_suffix(ending).unlink(missing_ok=True)

    @contextmanager
    def hold(self, id: str) -> Iterator[Path]:
        """The first file of an entry under a name that stays even if the entry is removed; raises
        `FileNotFoundError` if it has gone."""
        link = self.folder / f"making-{os.getpid()}-{secrets.token_hex(8)}{self.suffixes[0]}"
        try:
            os.link(self.path(id), link)
        except FileNotFoundError:
            raise
        except OSError:  # no hard links here: the file may be removed while it is read
            yield self.path(id)
            return
        try:
            yield link
        finally:
            link.unlink(missing_ok=True)

    def commit(self, id: str, made: Path) -> None:
        """Write the checksums and sync all files, then rename them to the id, the checksums last,
        so that the entry appears as a whole."""
        sums = {}
        for ending in self.suffixes:
            with made.with_suffix(ending).open("rb") as file:
                sums[ending] = _checksum(file)
                os.fsync(file.fileno())
        with made.with_suffix(_SUMS_SUFFIX).open("wb") as sums_file:
            sums_file.write(json.dumps(sums).encode())
            sync(sums_file)
        for ending in (*self.suffixes, _SUMS_SUFFIX):
            made.with_suffix(ending).replace(self.path(id, ending))
        sync_folder(str(self.folder))
        self.evict(keep=id)

    def remove(self, id: str) -> None:
        for ending in (_SUMS_SUFFIX, *self.suffixes):
            self.path(id, ending).unlink(missing_ok=True)

    def size(self) -> int:
        return sum(size for _, size, _ in self._entries())

    def evict(self, keep: str = "") -> None:
        """Remove the least recently used entries until the rest is within the limits."""
        with self._lock:
            entries = sorted(self._entries())
            total, count = sum(size for _, size, _ in entries), len(entries)
            for _, size, id in entries:
                if total <= self.max_bytes and (
                    self.max_entries is None or count <= self.max_entries
                ):
                    break
                if id != keep:
                    self.remove(id)
                    total, count = total - size, count - 1
            self._remove_abandoned()

    def _entries(self) -> list[tuple[float, int, str]]:
        """Time of last use, bytes and id of each entry."""
        found: dict[str, tuple[float, int]] = {}
        with os.scandir(self.folder) as files:
            for file in files:
                endings = (*self.suffixes, _SUMS_SUFFIX)
                ending = next((e for e in endings if file.name.endswith(e)), None)
                if ending is None or file.name.startswith("making-"):
                    continue
                with suppress(OSError):
                    status = file.stat()
                    id = file.name.removesuffix(ending)
                    used, size = found.get(id, (0.0, 0))
                    used = status.st_mtime if ending == _SUMS_SUFFIX else used
                    found[id] = used, size + status.st_size
        return [(used, size, id) for id, (used, size) in found.items()]

    def remove_unfinished(self, pid: int) -> None:
        """Remove the unfinished files of a process that has ended."""
        for path in self.folder.glob(f"making-{pid}-*"):
            path.unlink(missing_ok=True)

    def _remove_abandoned(self) -> None:
        """Remove old unfinished files of any process."""
        for path in self.folder.glob("making-*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()


def _checksum(file: BufferedReader) -> str:
    return hashlib.file_digest(file, xxhash.xxh3_64).hexdigest()
