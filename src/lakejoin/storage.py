"""Where files live: a local path or any URI that pyarrow.fs or fsspec opens, behind one noun.

Local places go through the operating system directly (no Arrow import, memory maps, `fsync`);
the others through `pyarrow.fs`, or through fsspec for the schemes that Arrow does not know.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from lakejoin.errors import InputError, MissingPart

if TYPE_CHECKING:
    import numpy as np

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file found by `Place.walk`: its path below the place, and what tells a change."""

    relative: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder, local or remote.

    >>> (Place.of("/data") / "a" / "b.csv").uri
    '/data/a/b.csv'
    >>> Place.of("s3://bucket/lake").local
    False
    """

    uri: str
    local: bool

    @staticmethod
    def of(uri: str | os.PathLike[str]) -> Place:
        """The place that a path or URI names; `file://` URIs and plain paths are local."""
        text = os.fspath(uri)
        if text.startswith("file://"):
            from urllib.parse import unquote, urlsplit

            return Place(os.path.abspath(unquote(urlsplit(text).path)), True)
        if _SCHEME.match(text):
            return Place(text if text.endswith("://") else text.rstrip("/"), False)
        return Place(os.path.abspath(os.path.expanduser(text)), True)

    def __truediv__(self, name: str) -> Place:
        base, mark, query = self.uri.partition("?") if not self.local else (self.uri, "", "")
        return Place(f"{base.rstrip('/')}/{name}{mark}{query}", self.local)

    def __str__(self) -> str:
        return self.uri

    @property
    def name(self) -> str:
        """The last part of the path."""
        return (
            self.uri.partition("?")[0].rstrip("/").rsplit("/", 1)[-1]
            if not self.local
            else (os.path.basename(self.uri))
        )

    # -- what is there -------------------------------------------------------------------------

    def kind(self) -> str:
        """`"file"`, `"folder"` or `"missing"`."""
        if self.local:
            path = Path(self.uri)
            return "folder" if path.is_dir() else "file" if path.exists() else "missing"
        fs, path_text = self._arrow()
        from pyarrow.fs import FileType

        found = fs.get_file_info(path_text).type
        return {FileType.File: "file", FileType.Directory: "folder"}.get(found, "missing")

    def entry(self) -> Entry:
        """Size and change time of a file."""
        if self.local:
            stat = os.stat(self.uri)
            return Entry(self.name, stat.st_size, stat.st_mtime_ns)
        fs, path = self._arrow()
        info = fs.get_file_info(path)
        return Entry(self.name, int(info.size or 0), int(info.mtime_ns or 0))

    def walk(self) -> Iterator[Entry]:
        """Every file below this folder, in a stable order."""
        if self.local:
            yield from _walk_local(self.uri)
            return
        fs, path = self._arrow()
        from pyarrow.fs import FileSelector, FileType

        prefix = path.rstrip("/") + "/"
        found = fs.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
        for info in sorted(found, key=lambda i: i.path):
            if info.type == FileType.File:
                name = info.path[len(prefix) :] if info.path.startswith(prefix) else info.path
                yield Entry(name, int(info.size or 0), int(info.mtime_ns or 0))

    def children(self) -> list[str]:
        """The names directly inside this folder; none where it is missing."""
        if self.local:
            try:
                return sorted(os.listdir(self.uri))
            except (FileNotFoundError, NotADirectoryError):
                return []
        fs, path = self._arrow()
        from pyarrow.fs import FileSelector

        found = fs.get_file_info(FileSelector(path, allow_not_found=True))
        return sorted(info.base_name for info in found)

    # -- reading -------------------------------------------------------------------------------

    def open(self) -> BinaryIO:
        """The file, open for reading with `seek`."""
        if self.local:
            return open(self.uri, "rb")
        fs, path = self._arrow()
        return cast(BinaryIO, fs.open_input_file(path))

    def read_bytes(self) -> bytes:
        """The whole file."""
        with self.open() as file:
            return bytes(file.read())

    def map(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The file's bytes as a read-only array: mapped when local, read when remote."""
        import numpy as np

        if not self.local:
            return np.frombuffer(self.read_bytes(), dtype=np.uint8)
        if os.path.getsize(self.uri) == 0:
            return np.zeros(0, dtype=np.uint8)
        return np.memmap(self.uri, dtype=np.uint8, mode="r")

    # -- writing -------------------------------------------------------------------------------

    def make_folder(self) -> None:
        """Creates the folder and its parents."""
        if self.local:
            Path(self.uri).mkdir(parents=True, exist_ok=True)
        else:
            fs, path = self._arrow()
            fs.create_dir(path, recursive=True)

    def create(self) -> BinaryIO:
        """The file, open for writing from the start."""
        if self.local:
            return open(self.uri, "wb")
        fs, path = self._arrow()
        return cast(BinaryIO, fs.open_output_stream(path))

    def replace(self, data: bytes) -> None:
        """Puts `data` here in one step: a reader sees the old file or the new one, never a part.

        Locally the bytes are on disk before the name changes; an object store's put is whole.
        """
        if not self.local:
            with self.create() as file:
                file.write(data)
            return
        draft = f"{self.uri}.{os.getpid()}.draft"
        try:
            with open(draft, "wb") as file:
                file.write(data)
                sync(file)
            os.replace(draft, self.uri)
            _sync_folder(os.path.dirname(self.uri))
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise

    def replace_quickly(self, data: bytes) -> None:
        """As `replace`, but without waiting for the disk: for notes that may be lost."""
        if not self.local:
            self.replace(data)
            return
        draft = f"{self.uri}.{os.getpid()}.draft"
        Path(draft).write_bytes(data)
        os.replace(draft, self.uri)

    def remove(self) -> None:
        """Removes the file or the whole folder; nothing happens where it is missing."""
        kind = self.kind()
        if kind == "missing":
            return
        if self.local:
            if kind == "folder":
                shutil.rmtree(self.uri, ignore_errors=True)
            else:
                Path(self.uri).unlink(missing_ok=True)
            return
        fs, path = self._arrow()
        if kind == "folder":
            fs.delete_dir(path)
        else:
            fs.delete_file(path)

    def _arrow(self) -> tuple[Any, str]:
        from pyarrow import ArrowInvalid
        from pyarrow import fs as arrow_fs

        try:
            filesystem, path = arrow_fs.FileSystem.from_uri(self.uri)
            return filesystem, path
        except ArrowInvalid:
            pass
        try:
            import fsspec
        except ImportError:
            raise MissingPart(
                f"opening {self.uri} needs fsspec; install it with: pip install 'lakejoin[formats]'"
            ) from None
        try:
            filesystem, path = fsspec.core.url_to_fs(self.uri)
        except (ValueError, ImportError) as problem:
            raise InputError(f"cannot open {self.uri}: {problem}") from None
        return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(filesystem)), path


def _walk_local(root: str) -> Iterator[Entry]:
    stack = [root]
    prefix = len(root.rstrip(os.sep)) + 1
    while stack:
        folder = stack.pop()
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda e: e.name)
        folders = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.is_file():
                stat = entry.stat()
                relative = entry.path[prefix:].replace(os.sep, "/")
                yield Entry(relative, stat.st_size, stat.st_mtime_ns)
        stack.extend(reversed(folders))


def sync(file: BinaryIO) -> None:
    """Brings what was written to the disk, where the file is one of the operating system's."""
    file.flush()
    try:
        handle = file.fileno()
    except (AttributeError, OSError, ValueError):  # a remote stream has no such thing
        return
    os.fsync(handle)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
