"""What of an older graph still holds, and what has to be counted anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.places import Places
from lakejoin.store.graph import Pairs, together

if TYPE_CHECKING:
    from lakejoin.store.graph import GraphOptions, StoredGraph
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Pairs that still hold, with segments numbered as the snapshot has them; `cut` columns had
    more. `fresh` are the segments of which no pair was counted yet."""

    pairs: Pairs
    fresh: Array
    cut: int = 0


def kept_of(stored: StoredGraph | None, snapshot: Snapshot, options: GraphOptions) -> Kept:
    """What a graph of these options can keep of a stored one."""
    everything = Kept(together([]), np.ones(len(snapshot.segments), dtype=bool))
    if stored is None or stored.options != options:
        return everything
    kept = still_there(stored, snapshot)
    # A column that keeps only its best partners and has lost one would need those it did not keep.
    lost = len(kept.pairs) < len(stored.file.array("shared"))
    return everything if lost and stored.cut else kept


def still_there(stored: StoredGraph, snapshot: Snapshot) -> Kept:
    """The pairs of a graph whose tables are still there."""
    numbers = {segment.record.id: n for n, segment in enumerate(snapshot.segments)}
    fresh = np.ones(len(snapshot.segments), dtype=bool)
    now = np.array([numbers.get(one.id, -1) for one in stored.segments], dtype=np.int64)
    fresh[now[now >= 0]] = False
    pairs = stored.pairs()
    if not len(pairs):
        return Kept(pairs, fresh, stored.cut)
    segment, other = now[pairs.segment], now[pairs.other_segment]
    alive = (segment >= 0) & (other >= 0)
    before = {numbers.get(one.id, -1): one.dead for one in stored.segments}
    for number, one in enumerate(snapshot.segments):
        if one.record.dead and one.record.dead != before.get(number, one.record.dead):
            dead = Places(one).dead
            alive &= ~((segment == number) & np.isin(pairs.column, dead))
            alive &= ~((other == number) & np.isin(pairs.other_column, dead))
    columns = (pairs.column, pairs.size, other, pairs.other_column, pairs.other_size, pairs.shared)
    return Kept(Pairs(segment, *columns).take(alive), fresh, stored.cut)
