"""How often a refresh retries a file whose reader ran out of time or memory or died.

The counts are in `retries.json` beside the manifest, so that failing again makes no new version.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version

from lakejoin.errors import LakejoinError
from lakejoin.locations import Location
from lakejoin.model import ReadLimits, Source
from lakejoin.store.source_states import SourceState

FILE = "retries.json"
MOST_TRIES = 3  # of a file that does not change
_RETRIED = ("reader hung", "reader died", "reader ran out of memory", "reader failed")
_UNKNOWN = (OSError, LakejoinError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def deserves_retry(state: SourceState) -> bool:
    """Whether a file was skipped for a reason that may not recur: time, memory or a death."""
    return any(skipped.reason in _RETRIED for skipped in state.skipped)


@dataclass(frozen=True, slots=True)
class Retries:
    """The size, the time and the number of tries of each file that failed.

    `reader` is the version of lakejoin and its limits: if it differs, counting starts again.
    """

    reader: str
    tries: Mapping[str, tuple[int, int, int]]

    def exhausted(self, files: Collection[Source]) -> frozenset[str]:
        """The files that failed so often that only a change makes them worth a try."""
        return frozenset(f.name for f in files if self._count(f) >= MOST_TRIES)

    def counting(self, tried: Collection[Source], sources: Mapping[str, SourceState]) -> Retries:
        """The counts after files were tried; those that did not fail again are forgotten."""
        failing = {name for name, state in sources.items() if deserves_retry(state)}
        tries = {name: count for name, count in self.tries.items() if name in failing}
        for file in tried:
            if file.name in failing:
                tries[file.name] = (file.size, file.mtime_ns, self._count(file) + 1)
        return replace(self, tries=tries)

    def _count(self, file: Source) -> int:
        size, mtime_ns, count = self.tries.get(file.name, (-1, -1, 0))
        return count if (size, mtime_ns) == (file.size, file.mtime_ns) else 0


def read_retries(index: Location, limits: ReadLimits) -> Retries:
    """The counts of earlier tries; empty if the file is missing or unreadable."""
    reader = f"lakejoin {_installed_version()}, {limits}"
    try:
        stored = json.loads((index / FILE).read_bytes())
        tries = {
            name: (int(size), int(mtime_ns), int(count))
            for name, (size, mtime_ns, count) in stored["tries"].items()
        }
        return Retries(reader, tries if stored["reader"] == reader else {})
    except _UNKNOWN:
        return Retries(reader, {})


def write_retries(index: Location, retries: Retries) -> None:
    """Keep the counts beside the manifest; a refresh without them only tries more often."""
    body = {"reader": retries.reader, "tries": retries.tries}
    (index / FILE).replace(json.dumps(body).encode(), durably=False)


def _installed_version() -> str:
    try:
        return version("lakejoin")
    except PackageNotFoundError:  # run from its sources
        return ""
