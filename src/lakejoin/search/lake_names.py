"""How specific a column name is in this lake: `film_id` says more than `id`."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.snapshot import Snapshot

_known: WeakKeyDictionary[Snapshot, LakeNames] = WeakKeyDictionary()


class LakeNames:
    """The column names of a lake, and how many columns have each."""

    def __init__(self, snapshot: Snapshot) -> None:
        totals = snapshot.manifest.totals
        self._segments = snapshot.segments
        self._tables = max(2, totals.tables)
        self.columns = max(2, totals.columns)

    @cached_property
    def _names(self) -> list[pa.Array]:
        """By segment, in lower case."""
        import pyarrow.compute as pc

        return [pc.utf8_lower(segment.catalog.columns["name"]) for segment in self._segments]

    @cached_property
    def _counts(self) -> dict[str, int]:
        import pyarrow.compute as pc

        counts: dict[str, int] = {}
        for names in self._names:
            for entry in pc.value_counts(names).to_pylist():
                counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
        return counts

    def telling(self, name: str) -> float:
        """How specific a name is: 0 if every table has it, 1 if it occurs once."""
        count = max(1, self._counts.get(name.lower(), 1))
        return max(0.0, 1 - math.log(count) / math.log(self._tables))

    def named(self, name: str, most: int) -> list[tuple[int, int]]:
        """The searched columns of that name, (segment index, column); empty if more than `most`."""
        import pyarrow.compute as pc

        if self._counts.get(name.lower(), 0) > most:
            return []
        found = []
        for segment_index, (segment, names) in enumerate(
            zip(self._segments, self._names, strict=True)
        ):
            same = np.flatnonzero(pc.equal(names, name.lower()))
            found += [
                (segment_index, column) for column in same.tolist() if segment.indexed[column]
            ]
        return found


def get_lake_names(snapshot: Snapshot) -> LakeNames:
    """The column names of a lake, counted once per snapshot."""
    if snapshot not in _known:
        _known[snapshot] = LakeNames(snapshot)
    return _known[snapshot]
