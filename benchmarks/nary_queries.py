"""The composite keys that are searched for: planted ones, and random columns of real tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.engines.composite import KeyQuery, key_query
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.model import ColumnType, ValueRules
from lakejoin.search.query_tables import FrameTable, IndexedTable
from lakejoin.store.segment_tables import SegmentTables
from lakejoin.store.snapshot import Snapshot
from nary_lake import Plan

REAL_BANDS = (100, 1_000, 10_000)
_SHORT = {"web-table": "WT", "open-data": "OD"}
KEYS = (ColumnType.TEXT, ColumnType.INTEGER)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A key to search for. `own` is the number, among all tables in the lake, of the table that it
    is from, which must not be found."""

    name: str
    group: str
    key: KeyQuery
    excluded: ExcludedColumns | None = None
    own: int | None = None


def group_name(kind: str, band: int) -> str:
    """As the paper's table 1 calls it.

    >>> group_name("web-table", 1000)
    'WT (1,000)'
    """
    return f"{_SHORT.get(kind, kind)} ({band:,})"


def planted(plan: Plan) -> list[Asked]:
    """The planted keys of two columns."""
    return [
        Asked(query.name, group_name(plan.kind, plan.shape.bands[query.band]), _key(plan, query))
        for query in plan.queries
    ]


def longer(plan: Plan, sizes: Sequence[int]) -> list[Asked]:
    """The first columns of the planted key of ten columns, more and more of them."""
    assert plan.long is not None
    return [Asked(f"{n} columns", str(n), _key(plan, plan.long, n)) for n in sizes]


def _key(plan: Plan, query: Any, columns: int | None = None) -> KeyQuery:
    frame = plan.frame(query, columns)
    return key_query(FrameTable(frame, ValueRules(), query.name), range(frame.num_columns))


def sampled(snapshot: Snapshot, each: int, seed: int = 1) -> list[Asked]:
    """Random pairs of text or integer columns of tables of a lake, `each` a band.

    Tables whose key columns have the same names and as many combinations count as duplicates, of
    which one is taken, as the paper does.
    """
    rng = np.random.default_rng(seed)
    tables = [
        (s, t) for s, segment in enumerate(snapshot.segments) for t in range(segment.record.tables)
    ]
    found: dict[int, list[Asked]] = {band: [] for band in REAL_BANDS}
    seen: set[tuple[Any, ...]] = set()
    for i in rng.permutation(len(tables)).tolist():
        one = _drawn(snapshot, *tables[i], rng)
        if one is None:
            continue
        low = 2
        for band in REAL_BANDS:
            alike = (*one.key.columns, len(one.key))
            fits = low <= len(one.key) < band and alike not in seen
            if fits and len(found[band]) < each:
                seen.add(alike)
                group = group_name("real", band)
                found[band].append(Asked(one.name, group, one.key, one.excluded, one.own))
            low = band
        if all(len(asked) == each for asked in found.values()):
            break
    return [one for asked in found.values() for one in asked]


def _drawn(snapshot: Snapshot, s: int, t: int, rng: np.random.Generator) -> Asked | None:
    """Two random key columns of a table, or None where it has not as many."""
    segments = snapshot.segments
    entry = segments[s].catalog.table(t)
    if entry.rows < 2 or t in segments[s].record.dead:
        return None
    mine = IndexedTable(snapshot, s, entry)
    able = [
        place
        for place, profile in enumerate(mine.profiles())
        if profile.type in KEYS and segments[s].indexed[entry.first + place]
    ]
    if len(able) < 2:
        return None
    places = rng.choice(able, 2, replace=False).tolist()
    own = [
        SegmentTables(segment).columns_of(np.array([t] if n == s else [], dtype=np.int64))
        for n, segment in enumerate(segments)
    ]
    number = sum(segment.record.tables for segment in segments[:s]) + t
    return Asked(entry.name, "", key_query(mine, places), ExcludedColumns(own), number)
