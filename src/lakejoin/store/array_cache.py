"""A cache of arrays that were decoded or computed from an index, with a limit in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from lakejoin.model import Array


class ArrayCache:
    """Keeps the arrays used last, of at most `most` bytes together; safe from several threads.

    A caller must not change an array that it gets.

    >>> import numpy as np
    >>> cache = ArrayCache(100)
    >>> int(cache.get("a", lambda: np.arange(3)).sum()), int(cache.get("a", np.array).sum())
    (3, 3)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._arrays: OrderedDict[Hashable, Array] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """The array of a key; made if it is not known."""
        with self._lock:
            array = self._arrays.get(key)
            if array is not None:
                self._arrays.move_to_end(key)
                return array
        array = make()
        with self._lock:
            if key not in self._arrays:
                self._arrays[key] = array
                self._bytes += array.nbytes
            while self._bytes > self._most:
                _, oldest = self._arrays.popitem(last=False)
                self._bytes -= oldest.nbytes
        return array
