"""Keep the newest version of an index open, for servers that run while builds go on."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from lakejoin.lake import open_lake

if TYPE_CHECKING:
    from lakejoin.lake import Lake


class CurrentLake:
    """The newest version of an index; checked for at most every `seconds`."""

    def __init__(self, index: str | None, seconds: float = 0.0) -> None:
        self._index = index
        self._seconds = seconds
        self._lock = threading.Lock()
        self._lake = open_lake(index)
        self._checked = time.monotonic()

    def lake(self) -> Lake:
        """The newest version; the same object, with its caches, until a newer version exists."""
        with self._lock:
            if time.monotonic() - self._checked >= self._seconds:
                newest = open_lake(self._index)
                if newest.snapshot.manifest != self._lake.snapshot.manifest:
                    self._lake = newest
                self._checked = time.monotonic()
            return self._lake
