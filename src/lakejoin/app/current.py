"""The lake as it is now, for what serves it for days while builds go on."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from lakejoin import api

if TYPE_CHECKING:
    from lakejoin.opened import Lake


class Current:
    """The newest version of an index; looked for at most every `seconds`."""

    def __init__(self, index: str | None, seconds: float = 0.0) -> None:
        self._index = index
        self._seconds = seconds
        self._lock = threading.Lock()
        self._lake = api.open(index)
        self._looked = time.monotonic()

    def lake(self) -> Lake:
        """The newest version; what an older one has in memory is kept while it is the newest."""
        with self._lock:
            if time.monotonic() - self._looked >= self._seconds:
                found = api.open(self._index)
                if found.snapshot.manifest != self._lake.snapshot.manifest:
                    self._lake = found
                self._looked = time.monotonic()
            return self._lake
