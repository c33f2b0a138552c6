"""Check that an index has the part that search by meaning or distance needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.store.meaning_vectors import MeaningComponent
from lakejoin.store.point_sets import PointsComponent

if TYPE_CHECKING:
    from lakejoin.store.snapshot import Snapshot

_PARTS = {
    "meaning": (MeaningComponent.name, MeaningComponent.version, "vectors"),
    "distance": (PointsComponent.name, PointsComponent.version, "points"),
}


def require_part(snapshot: Snapshot, by: str, index: str | None = None) -> None:
    """Raise an error if the index lacks the part that this search needs; `index` is its location,
    for the command in the message."""
    if by not in _PARTS:
        return
    name, version, noun = _PARTS[by]
    records = [segment.record.components.get(name) for segment in snapshot.segments]
    lacks = by == "meaning" and snapshot.manifest.options.meaning is None
    if lacks or any(record is None or record.version < version for record in records):
        raise InputError(
            f"this index has no {noun} to search by {by}; add them with: {add_part_command(by, index)}"
        )


def add_part_command(part: str, index: str | None = None) -> str:
    """The command that adds a part to an index.

    >>> add_part_command("meaning"), add_part_command("distance", "my lake.index")
    ('lakejoin index --with meaning', "lakejoin index --with distance --index 'my lake.index'")
    """
    import shlex

    return f"lakejoin index --with {part}" + (f" --index {shlex.quote(index)}" if index else "")
