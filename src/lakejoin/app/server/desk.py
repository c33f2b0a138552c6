"""What the server and its workers have in common: the lake, and the shelves of what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.app.current import Current
from lakejoin.app.server.settings import Limits
from lakejoin.app.server.shelf import Shelf
from lakejoin.app.server.tables import ARROW, NOTE, Tables

if TYPE_CHECKING:
    from lakejoin.opened import Lake

_LOOK_SECONDS = 1.0  # between two looks for a newer version of the index
_ANSWERS_SHARE = 10  # one of so many bytes of the cache is for answers of searches
_ANSWERS = 20_000  # of searches, and of the like; all are looked at when one is added
_LINK_BYTES = 200_000_000


class Desk:
    """The lake as it is now, and everything that has an id."""

    def __init__(
        self, index: str, folder: Path, limits: Limits, look_seconds: float = _LOOK_SECONDS
    ) -> None:
        self.index = index
        self.folder = folder
        self.limits = limits
        self._current = Current(index, look_seconds)
        cache = limits.cache_bytes
        self.answers = Shelf(folder / "answers", (NOTE,), cache // _ANSWERS_SHARE, _ANSWERS)
        self.results = Shelf(folder / "results", (ARROW, NOTE), cache - cache // _ANSWERS_SHARE)
        self.uploads = Shelf(folder / "uploads", (ARROW, NOTE), limits.uploads_bytes)
        self.links = Shelf(folder / "links", (NOTE,), _LINK_BYTES, limits.links)
        self.tables = Tables(self.lake, self.uploads, self.results)

    def lake(self) -> Lake:
        """The newest version of the index."""
        return self._current.lake()

    @property
    def version(self) -> str:
        """A text that is another one as soon as the index is; also where it was built anew, and
        its versions are counted from one again."""
        manifest = self.lake().snapshot.manifest
        segments = ",".join(one.id for one in manifest.segments)
        return f"{manifest.version}@{manifest.created}/{segments}"

    def answer(self, key: str) -> dict[str, Any] | None:
        """An answer that is kept."""
        kept = self.answers.read(key)
        return None if kept is None else json.loads(kept)

    def keep_answer(self, key: str, answer: dict[str, Any]) -> None:
        """Keeps an answer."""
        self.answers.put(key, {NOTE: json.dumps(answer).encode()})

    def sweep_of(self, pid: int) -> None:
        """Takes away what a child that has ended left half made."""
        for shelf in (self.answers, self.results, self.uploads):
            shelf.sweep_of(pid)

    def setup(self) -> dict[str, Any]:
        """What a child must be told to have the same desk."""
        from dataclasses import asdict

        return {"index": self.index, "folder": str(self.folder), "limits": asdict(self.limits)}

    @classmethod
    def of(cls, setup: dict[str, Any]) -> Desk:
        """The desk of a child. It looks for a newer version each time: were the server ahead of it,
        what is made of old rows would be kept as if made of new ones."""
        limits = Limits(**setup["limits"])
        return cls(setup["index"], Path(setup["folder"]), limits, look_seconds=0.0)
