"""Bytes that can be opened again and again: a file, an unpacked file, a member of an archive."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, cast

from lakejoin.errors import LakejoinError, UnreadableFile
from lakejoin.storage import Place

COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Blob:
    """Named bytes and how to open them.

    `path` is set where the bytes are a plain local file. `name` is what a user sees; `label` is
    the name whose ending tells the format (`b.csv` for a member of `a.zip`, for `b.csv.gz`).
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
        place = Place.of(uri)
        # Libraries take paths as UTF-8: other names are opened here and handed on as bytes.
        plain = place.local and place.uri.encode("utf-8", "replace").decode() == place.uri
        return Blob(name, place.name, place.open, size, place.uri if plain else None)

    def open(self) -> BinaryIO:
        """The bytes from their start."""
        return self.opener()

    def head(self, count: int) -> bytes:
        """The first `count` bytes, or all of them where there are fewer."""
        with self.opener() as file:
            return read_fully(file, count)

    def renamed(self, name: str) -> Blob:
        """The same bytes under another shown name."""
        return replace(self, name=name)

    @contextmanager
    def random_access(self) -> Iterator[Any]:
        """Something that Arrow's readers accept and may seek in: a path or an open file."""
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
        """A local path with these bytes; unpacked and remote bytes go to a temporary file."""
        if self.path is not None:
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="lakejoin-") as copy:
            with self.opener() as file:
                shutil.copyfileobj(file, cast(BinaryIO, copy), COPY_BYTES)
            copy.flush()
            yield copy.name


def read_fully(file: BinaryIO, count: int) -> bytes:
    """Reads until `count` bytes are there or the file ends; a single `read` may give fewer."""
    first = bytes(file.read(count))
    if len(first) == count or not first:
        return first
    parts = [first]
    missing = count - len(first)
    while missing > 0:
        more = bytes(file.read(missing))
        if not more:
            break
        parts.append(more)
        missing -= len(more)
    return b"".join(parts)


def first_line_of(problem: BaseException) -> str:
    """The first line of an error's message, short enough for a report."""
    text = str(problem).strip().partition("\n")[0] or type(problem).__name__
    return text if len(text) <= 200 else text[:197] + "..."


@contextmanager
def problems_of(blob: Blob, reason: str) -> Iterator[None]:
    """Turns what a library raises over bad bytes into one `UnreadableFile`."""
    try:
        yield
    except LakejoinError:
        raise
    except MemoryError as problem:
        detail = first_line_of(problem)
        raise UnreadableFile(blob.name, "reader ran out of memory", detail) from problem
    except Exception as problem:  # over bad bytes, libraries raise anything
        raise UnreadableFile(blob.name, reason, first_line_of(problem)) from problem
