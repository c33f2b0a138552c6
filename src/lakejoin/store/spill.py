"""Arrays that are not needed for a while, kept in a temporary file instead of in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, Any]
Kept = Callable[[], Array]  # gives the array back

_SMALL = 1 << 18


class Spill:
    """Keeps arrays: small ones as they are, large ones on disk, in a file that has no name.

    >>> spill = Spill()
    >>> kept = spill.keep(np.arange(1_000_000))
    >>> int(kept().sum())
    499999500000
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    def keep(self, array: Array) -> Kept:
        """Takes an array and returns what gives it back."""
        if array.nbytes < _SMALL:
            copy = array.copy()  # a view would keep alive all that it is a part of
            return lambda: copy
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="lakejoin-")  # noqa: SIM115 (closed below)
        file, dtype, length = self._file, array.dtype, len(array)
        begin = file.seek(0, 2)
        file.write(np.ascontiguousarray(array).view(np.uint8).data)

        def load() -> Array:
            back = np.empty(length, dtype)
            file.seek(begin)
            file.readinto(back.view(np.uint8).data)  # type: ignore[attr-defined]
            return back

        return load

    def close(self) -> None:
        """Lets the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None
