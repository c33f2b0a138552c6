"""What the server and its workers have in common: the lake, and the shelves of what is kept."""

from __future__ import annotations

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
_LINK_BYTES = 200_000_000


class Desk:
    """The lake as it is now, and everything that has an id."""

    def __init__(self, index: str, folder: Path, limits: Limits) -> None:
        self.index = index
        self.folder = folder
        self.limits = limits
        self._current = Current(index, _LOOK_SECONDS)
        cache = limits.cache_bytes
        self.answers = Shelf(folder / "answers", (NOTE,), cache // _ANSWERS_SHARE)
        self.results = Shelf(folder / "results", (ARROW, NOTE), cache - cache // _ANSWERS_SHARE)
        self.uploads = Shelf(folder / "uploads", (ARROW, NOTE), limits.uploads_bytes)
        self.links = Shelf(folder / "links", (NOTE,), _LINK_BYTES, limits.links)
        self.tables = Tables(self.lake, self.uploads, self.results)

    def lake(self) -> Lake:
        """The newest version of the index."""
        return self._current.lake()

    def setup(self) -> dict[str, Any]:
        """What a child must be told to have the same desk."""
        from dataclasses import asdict

        return {"index": self.index, "folder": str(self.folder), "limits": asdict(self.limits)}

    @classmethod
    def of(cls, setup: dict[str, Any]) -> Desk:
        """The desk of a child."""
        return cls(setup["index"], Path(setup["folder"]), Limits(**setup["limits"]))
