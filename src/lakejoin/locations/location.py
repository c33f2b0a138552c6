"""Location: a file or folder, local or remote, and what can be done with it."""
# ruff: noqa: PTH100, PTH105, PTH111, PTH116, PTH119, PTH120, PTH123, PTH202, PTH208

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import unquote_to_bytes

from lakejoin.errors import InputError
from lakejoin.locations.local_files import Enter, Entry, Problem, sync, sync_folder, walk_local
from lakejoin.locations.remote_files import (
    SCHEME,
    RemotePath,
    join_uri,
    normalise_uri,
    refuse_database,
    split_query,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Location:
    """A file or folder, local or remote; a URI is plain text, with nothing percent-encoded.

    >>> (Location.of("/data") / "a" / "b.csv").uri
    '/data/a/b.csv'
    >>> Location.of("s3://bucket/lake").local
    False
    """

    uri: str
    local: bool

    @staticmethod
    def of(uri: str | os.PathLike[str]) -> Location:
        """The location of a path or URI; `file://` URIs and plain paths are local. Raises if it is
        the URL of a database."""
        text = os.fspath(uri)
        refuse_database(text)
        if text.startswith("file://"):
            return Location(os.path.abspath(_path_of(text)), True)
        if SCHEME.match(text):
            return Location(normalise_uri(text), False)
        return Location(os.path.abspath(os.path.expanduser(text)), True)

    def __truediv__(self, name: str) -> Location:
        if self.local:
            return Location(f"{self.uri.rstrip('/')}/{name}", True)
        return Location(join_uri(self.uri, name), False)

    def __str__(self) -> str:
        return self.uri

    @property
    def name(self) -> str:
        if self.local:
            return os.path.basename(self.uri)
        return split_query(self.uri)[0].rsplit("/", 1)[-1]

    # -- what is there -------------------------------------------------------------------------

    def kind(self) -> str:
        """`"file"`, `"folder"` or `"missing"`."""
        if self.local:
            path = Path(self.uri)
            return "folder" if path.is_dir() else "file" if path.exists() else "missing"
        fs, path_text = self._arrow()
        from pyarrow.fs import FileType

        file_type = fs.get_file_info(path_text).type
        return {FileType.File: "file", FileType.Directory: "folder"}.get(file_type, "missing")

    def entry(self) -> Entry:
        """Size and change time of a file."""
        if self.local:
            stat = os.stat(self.uri)
            return Entry(self.name, stat.st_size, stat.st_mtime_ns)
        return RemotePath.of(self.uri).entry(self.name)

    def walk(
        self,
        problems: list[Problem] | None = None,
        enter: Enter | None = None,
        follow_links: bool = False,
    ) -> Iterator[Entry]:
        """Yield every file below this folder, in a stable order.

        What cannot be listed goes to `problems`; folders that `enter` refuses are skipped, and
        so are links that lead outside this folder, unless `follow_links`.
        Raises `OSError` if the folder itself cannot be listed.
        """
        report: list[Problem] = [] if problems is None else problems
        if self.local:
            yield from walk_local(self.uri, report, enter or _always, follow_links)
            return
        cached = cache(enter or _always)  # a flat listing repeats each folder for every file
        for entry in RemotePath.of(self.uri).walk(report):
            if _all_entered(entry.relative, cached):
                yield entry

    def children(self) -> list[str]:
        """The names directly inside this folder; empty if it is missing."""
        if self.local:
            try:
                return sorted(os.listdir(self.uri))
            except (FileNotFoundError, NotADirectoryError):
                return []
        fs, path = self._arrow()
        from pyarrow.fs import FileSelector

        infos = fs.get_file_info(FileSelector(path, allow_not_found=True))
        return sorted(info.base_name for info in infos)

    # -- reading -------------------------------------------------------------------------------

    def open(self) -> BinaryIO:
        """Open the file for reading; the stream can seek."""
        if self.local:
            return open(self.uri, "rb")
        fs, path = self._arrow()
        return cast(BinaryIO, fs.open_input_file(path))

    def read_bytes(self) -> bytes:
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

    def file_state(self) -> tuple[int, ...] | None:
        """What differs once a local file is changed or replaced; None for a remote one."""
        if not self.local:
            return None
        status = os.stat(self.uri)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    # -- writing -------------------------------------------------------------------------------

    def make_folder(self) -> None:
        if self.local:
            Path(self.uri).mkdir(parents=True, exist_ok=True)
        else:
            fs, path = self._arrow()
            fs.create_dir(path, recursive=True)

    def create(self) -> BinaryIO:
        """Open the file for writing from the start."""
        if self.local:
            return open(self.uri, "wb")
        fs, path = self._arrow()
        return cast(BinaryIO, fs.open_output_stream(path))

    def replace(self, data: bytes, durably: bool = True) -> None:
        """Write `data` atomically: a reader sees the old file or the new one.

        Locally the bytes are on disk before the name changes, unless they may be lost; an object
        store's put is atomic.
        """
        if not self.local:
            with self.create() as file:
                file.write(data)
            return
        draft = f"{self.uri}.{os.getpid()}.draft"
        try:
            with open(draft, "wb") as file:
                file.write(data)
                if durably:
                    sync(file)
            os.replace(draft, self.uri)
            if durably:
                sync_folder(os.path.dirname(self.uri))
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise

    def sync_names(self) -> None:
        """Make the names in a local folder durable; a missing one has none."""
        if self.local:
            with contextlib.suppress(FileNotFoundError):
                sync_folder(self.uri)

    def remove(self) -> None:
        """Remove the file or the whole folder; does nothing if it is missing."""
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
        remote = RemotePath.of(self.uri)
        return remote.root.arrow, remote.path


def _always(_relative: str) -> bool:
    return True


def _all_entered(relative: str, enter: Enter) -> bool:
    """Whether `enter` accepts every folder above a file."""
    parts = relative.split("/")
    return all(enter("/".join(parts[:depth])) for depth in range(1, len(parts)))


def _path_of(uri: str) -> str:
    """The path in a `file://` URI, the only kind that is percent-encoded (as by `Path.as_uri`)."""
    host, slash, path = uri.removeprefix("file://").partition("/")
    if host not in ("", "localhost"):
        raise InputError(f"{uri} names a host; write a local file as file:///{host}{slash}{path}")
    return os.fsdecode(unquote_to_bytes(os.fsencode(f"/{path}")))
