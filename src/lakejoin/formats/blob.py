"""Blob: bytes that can be opened repeatedly (a file, an unpacked file, an archive member)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from lakejoin.errors import LakejoinError, UnreadableFile
from lakejoin.locations import Location

COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Blob:
    """Named bytes and how to open them.

    `path` is set if the bytes are a plain local file. `name` is what users see; `label` is the
    name whose ending shows the format (`b.csv` for a member of `a.zip` and for `b.csv.gz`).
    """

    name: str
    label: str
    opener: Callable[[], BinaryIO]
    size: int | None = None
    path: str | None = None
    seekable: bool = True

    @staticmethod
    def of_file(name: str, uri: str, size: int | None) -> Blob:
        """The bytes of a file of the lake."""
        file = Location.of(uri)
        # Libraries expect paths in UTF-8: files with other names are opened here instead.
        plain = file.local and file.uri.encode("utf-8", "replace").decode() == file.uri
        return Blob(name, file.name, file.open, size, file.uri if plain else None)

    def open(self) -> BinaryIO:
        """Open the bytes at their start."""
        return self.opener()

    def head(self, count: int) -> bytes:
        """The first `count` bytes, or all if there are fewer."""
        with self.opener() as file:
            return read_fully(file, count)

    @contextmanager
    def random_access(self) -> Iterator[Any]:
        """A path or an open file that Arrow's readers accept and can seek in."""
        if self.path is not None:
            yield self.path
        elif self.seekable:
            with self.opener() as file:
                yield file
        else:
            with self.as_path() as path:
                yield path

    @contextmanager
    def as_path(self) -> Iterator[str]:
        """A local path with these bytes; a temporary copy if they are unpacked or remote."""
        if self.path is not None:
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="lakejoin-") as copy:
            with self.opener() as file:
                shutil.copyfileobj(file, cast(BinaryIO, copy), COPY_BYTES)
            copy.flush()
            yield copy.name


def read_fully(file: BinaryIO, count: int) -> bytes:
    """Read until `count` bytes or the end of the file; a single `read` may return fewer."""
    first = bytes(file.read(count))
    if len(first) == count or not first:
        return first
    blocks = [first]
    missing = count - len(first)
    while missing > 0:
        more = bytes(file.read(missing))
        if not more:
            break
        blocks.append(more)
        missing -= len(more)
    return b"".join(blocks)


def first_line_of(problem: BaseException) -> str:
    """The first line of an error's message, short enough for a report."""
    text = str(problem).strip().partition("\n")[0] or type(problem).__name__
    return text if len(text) <= 200 else text[:197] + "..."


@contextmanager
def wrap_library_errors(blob: Blob, reason: str) -> Iterator[None]:
    """Turn whatever a library raises for bad bytes into `UnreadableFile`."""
    try:
        yield
    except LakejoinError:
        raise
    except MemoryError as problem:
        detail = first_line_of(problem)
        raise UnreadableFile(blob.name, "reader ran out of memory", detail) from problem
    except Exception as problem:  # libraries may raise anything
        raise UnreadableFile(blob.name, reason, first_line_of(problem)) from problem
