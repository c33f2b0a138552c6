"""How telling is the name of a column in this lake? `film_id` says more than `id`."""

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
    """The names of a lake's columns, and how many columns have each."""

    def __init__(self, snapshot: Snapshot) -> None:
        totals = snapshot.manifest.totals
        self._segments = snapshot.segments
        self._tables = max(2, totals.tables)
        self.columns = max(2, totals.columns)

    @cached_property
    def _names(self) -> list[pa.Array]:
        """By segment, in small letters."""
        import pyarrow.compute as pc

        return [pc.utf8_lower(one.catalog.columns["name"]) for one in self._segments]

    @cached_property
    def _counts(self) -> dict[str, int]:
        import pyarrow.compute as pc

        counts: dict[str, int] = {}
        for names in self._names:
            for one in pc.value_counts(names).to_pylist():
                counts[one["values"]] = counts.get(one["values"], 0) + one["counts"]
        return counts

    def telling(self, name: str) -> float:
        """0 for a name that every table has, 1 for one that is there once."""
        count = max(1, self._counts.get(name.lower(), 1))
        return max(0.0, 1 - math.log(count) / math.log(self._tables))

    def named(self, name: str, most: int) -> list[tuple[int, int]]:
        """The searched columns of that name, as (segment, column); none where there are more."""
        import pyarrow.compute as pc

        if self._counts.get(name.lower(), 0) > most:
            return []
        found = []
        for number, (segment, names) in enumerate(zip(self._segments, self._names, strict=True)):
            same = np.flatnonzero(pc.equal(names, name.lower()))
            found += [(number, column) for column in same.tolist() if segment.indexed[column]]
        return found


def lake_names(snapshot: Snapshot) -> LakeNames:
    """The names of a lake, counted once."""
    if snapshot not in _known:
        _known[snapshot] = LakeNames(snapshot)
    return _known[snapshot]
