"""What a search by meaning or by distance needs of an index, and how to add it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.store.meaning import MeaningComponent
from lakejoin.store.points import PointsComponent

if TYPE_CHECKING:
    from lakejoin.store.snapshot import Snapshot

_PARTS = {
    "meaning": (MeaningComponent.name, MeaningComponent.version, "vectors"),
    "distance": (PointsComponent.name, PointsComponent.version, "points"),
}


def check_part(snapshot: Snapshot, by: str, index: str | None = None) -> None:
    """Refuses a search for which the index lacks a part, before anything is read; `index` is where
    the index is, if it has to be said."""
    if by not in _PARTS:
        return
    name, version, noun = _PARTS[by]
    found = [segment.record.components.get(name) for segment in snapshot.segments]
    lacks = by == "meaning" and snapshot.manifest.options.meaning is None
    if lacks or any(one is None or one.version < version for one in found):
        raise InputError(
            f"this index holds no {noun} to search by {by}: {adding(by, index)} adds them"
        )


def adding(part: str, index: str | None = None) -> str:
    """The command that adds a part to an index.

    >>> adding("meaning"), adding("distance", "my lake.index")
    ('lakejoin index --with meaning', "lakejoin index --with distance --index 'my lake.index'")
    """
    import shlex

    return f"lakejoin index --with {part}" + (f" --index {shlex.quote(index)}" if index else "")
