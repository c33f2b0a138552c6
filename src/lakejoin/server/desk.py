"""The lake and the stored files that the server and its workers share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.current import CurrentLake
from lakejoin.server.settings import Limits
from lakejoin.server.disk_cache import DiskCache
from lakejoin.server.workspace import ARROW_SUFFIX, DESCRIPTION_SUFFIX, TableOpener

if TYPE_CHECKING:
    from lakejoin.lake import Lake

_LOOK_SECONDS = 1.0  # between two checks for a newer version of the index
_ANSWERS_SHARE = 10  # one tenth of the cache is for answers
_MAX_ANSWERS = 20_000  # all are listed whenever one is added
_LINK_BYTES = 200_000_000


class Workspace:
    """The current lake, and the uploads, results, answers and links stored by id."""

    def __init__(
        self, index: str, folder: Path, limits: Limits, look_seconds: float = _LOOK_SECONDS
    ) -> None:
        self.index = index
        self.folder = folder
        self.limits = limits
        self._current = CurrentLake(index, look_seconds)
        cache = limits.cache_bytes
        self.answers = DiskCache(folder / "answers", (DESCRIPTION_SUFFIX,), cache // _ANSWERS_SHARE, _MAX_ANSWERS)
        self.results = DiskCache(folder / "results", (ARROW_SUFFIX, DESCRIPTION_SUFFIX), cache - cache // _ANSWERS_SHARE)
        self.uploads = DiskCache(folder / "uploads", (ARROW_SUFFIX, DESCRIPTION_SUFFIX), limits.uploads_bytes)
        self.links = DiskCache(folder / "links", (DESCRIPTION_SUFFIX,), _LINK_BYTES, limits.links)
        self.tables = TableOpener(self.lake, self.uploads, self.results)

    def lake(self) -> Lake:
        """The newest version of the index."""
        return self._current.lake()

    @property
    def version(self) -> str:
        """A text that changes whenever the index does, also if it is rebuilt and its version
        numbers start again at one."""
        manifest = self.lake().snapshot.manifest
        segments = ",".join(segment.id for segment in manifest.segments)
        return f"{manifest.version}@{manifest.created}/{segments}"

    def answer(self, key: str) -> dict[str, Any] | None:
        """A stored answer; None if there is none."""
        data = self.answers.read(key)
        return None if data is None else json.loads(data)

    def keep_answer(self, key: str, answer: dict[str, Any]) -> None:
        """Store an answer."""
        self.answers.put(key, {DESCRIPTION_SUFFIX: json.dumps(answer).encode()})

    def sweep_of(self, pid: int) -> None:
        """Remove the unfinished files of a child that has ended."""
        for shelf in (self.answers, self.results, self.uploads):
            shelf.sweep_of(pid)

    def setup(self) -> dict[str, Any]:
        """What a child needs to open the same workspace."""
        from dataclasses import asdict

        return {"index": self.index, "folder": str(self.folder), "limits": asdict(self.limits)}

    @classmethod
    def of(cls, setup: dict[str, Any]) -> Workspace:
        """Open the workspace in a child. It checks for a newer index on every job: a child behind
        the server would store results of old rows under the ids of new ones."""
        limits = Limits(**setup["limits"])
        return cls(setup["index"], Path(setup["folder"]), limits, look_seconds=0.0)
