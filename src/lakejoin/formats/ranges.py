"""A byte range of a file, opened as a file."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from lakejoin.formats.blob import Blob


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The bytes from `start` up to, but not including, `end`."""

    start: int
    end: int


class _Range(io.RawIOBase):
    def __init__(self, file: BinaryIO, span: ByteRange) -> None:
        self._file = file
        self._left = span.end - span.start
        file.seek(span.start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._left)) if self._left > 0 else b""
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def open_range(blob: Blob, span: ByteRange) -> BinaryIO:
    """Open a range of a blob's bytes.

    >>> import io
    >>> blob = Blob("x", "x", lambda: io.BytesIO(b"abcdef"))
    >>> open_range(blob, ByteRange(2, 4)).read()
    b'cd'
    """
    return cast(BinaryIO, io.BufferedReader(_Range(blob.open(), span), 1 << 18))
