"""What of an older graph still holds, and what has to be counted anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.places import Places
from lakejoin.store.graph import Pairs, place_of, together

if TYPE_CHECKING:
    from lakejoin.store.graph import GraphOptions, StoredGraph
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Pairs that still hold, with segments numbered as the snapshot has them; the columns `cut` had
    more, and some `lack` them now. `fresh` are the segments of which no pair was counted yet."""

    pairs: Pairs
    fresh: Array
    cut: Array
    lack: bool = False


def kept_of(stored: StoredGraph | None, snapshot: Snapshot, options: GraphOptions) -> Kept:
    """What a graph of these options can keep of a stored one."""
    if stored is not None and stored.options == options:
        kept = still_there(stored, snapshot)
        if not kept.lack:
            return kept
    fresh = np.ones(len(snapshot.segments), dtype=bool)
    return Kept(together([]), fresh, np.zeros(0, dtype=np.int64))


def still_there(stored: StoredGraph, snapshot: Snapshot) -> Kept:
    """The pairs of a graph whose tables are still there."""
    numbers = {segment.record.id: n for n, segment in enumerate(snapshot.segments)}
    fresh = np.ones(len(snapshot.segments), dtype=bool)
    now = np.array([numbers.get(one.id, -1) for one in stored.segments], dtype=np.int64)
    fresh[now[now >= 0]] = False
    pairs, cut = stored.pairs(), stored.cut()
    own = _alive(stored, snapshot, now, pairs.segment, pairs.column)
    both = own & _alive(stored, snapshot, now, pairs.other_segment, pairs.other_column)
    # A column that keeps only its best partners and has lost one needs those it did not keep.
    lost = place_of(pairs.segment, pairs.column)[own & ~both]
    lack = bool(np.isin(lost, cut).any())
    segment, other = now[pairs.segment], now[pairs.other_segment]
    columns = (pairs.column, pairs.size, other, pairs.other_column, pairs.other_size, pairs.shared)
    alive = _alive(stored, snapshot, now, cut >> 32, cut & 0xFFFFFFFF)
    cut = place_of(now[cut >> 32], cut & 0xFFFFFFFF)[alive]
    return Kept(Pairs(segment, *columns).take(both), fresh, cut, lack)


def _alive(
    stored: StoredGraph, snapshot: Snapshot, now: Array, segment: Array, column: Array
) -> Array:
    """Which columns are of a table that is still there; segments as the stored graph has them."""
    alive = np.asarray(now[segment] >= 0)
    for number, before in enumerate(stored.segments):
        if now[number] >= 0:
            here = snapshot.segments[now[number]]
            if here.record.dead != before.dead:
                alive &= ~((segment == number) & np.isin(column, Places(here).dead))
    return alive
