"""Spills large arrays to a temporary file until they are needed again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, Any]
ArrayLoader = Callable[[], Array]  # loads the array again

_SMALL = 1 << 18


class Spill:
    """Keeps small arrays in memory and large ones in an unnamed temporary file.

    >>> spill = Spill()
    >>> load = spill.keep(np.arange(1_000_000))
    >>> int(load().sum())
    499999500000
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    def keep(self, array: Array) -> ArrayLoader:
        """Keep an array; returns a function that loads it again."""
        if array.nbytes < _SMALL:
            copy = array.copy()  # a view would keep its whole base array alive
            return lambda: copy
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="lakejoin-")  # noqa: SIM115 (closed below)
        file, dtype, length = self._file, array.dtype, len(array)
        begin = file.seek(0, 2)
        file.write(np.ascontiguousarray(array).view(np.uint8).data)

        def load() -> Array:
            loaded = np.empty(length, dtype)
            file.seek(begin)
            file.readinto(loaded.view(np.uint8).data)  # type: ignore[attr-defined]
            return loaded

        return load

    def close(self) -> None:
        """Close and drop the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
