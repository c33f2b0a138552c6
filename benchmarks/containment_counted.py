"""A part of `search_containment`: verified answers, counted from lists or found with sketches."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lakejoin.engines.containment import engine as containment
from lakejoin.engines.containment.engine import ContainmentEngine
from lakejoin.engines.hits import ExcludedColumns, Hits
from lakejoin.engines.overlap.read_costs import load_costs
from lakejoin.engines.query import Query, make_lake_query
from lakejoin.locations import Location
from lakejoin.store.snapshot import Snapshot

_RANGES = ((1, 10), (10, 100), (100, 1_001), (1_001, 10_000), (10_000, 1 << 40))
_THRESHOLDS = (0.3, 0.6, 0.9)
_RUNS = 3
_UNBOUNDED = 1 << 60


def counted(index: Path | None, each: int) -> dict[str, Any]:
    """Both ways over queries that are columns of an index, looked up as those of a file are."""
    if index is None:
        print("counted: left out, it takes an --index")
        return {}
    snapshot = Snapshot(Location.of(index))
    rows = []
    for low, high in _RANGES:
        queries = _sample(snapshot, low, high, each)
        for threshold in _THRESHOLDS:
            row = _compared(snapshot, queries, threshold)
            rows.append({"from": low, "below": high, "threshold": threshold, **row})
            print(
                f"{low:>6,} values on, t = {threshold}: counted {row['counted_ms']:.2f} ms, "
                f"sketched and verified {row['sketched_ms']:.2f} ms, which finds "
                f"{row['recall']:.3f} of {row['right']:,} columns",
                flush=True,
            )
    return {"rows": rows}


def _sample(snapshot: Snapshot, low: int, high: int, each: int) -> list[Query]:
    places = [
        (number, column)
        for number, segment in enumerate(snapshot.segments)
        for column in _between(segment.postings.set_sizes(), low, high)
    ]
    chosen = np.random.default_rng(5).permutation(len(places))[:each]
    return [make_lake_query(snapshot, *places[i], "t") for i in chosen.tolist()]


def _between(sizes: np.ndarray[Any, Any], low: int, high: int) -> list[int]:
    return np.flatnonzero((sizes >= low) & (sizes < high)).tolist()


def _compared(snapshot: Snapshot, queries: list[Query], threshold: float) -> dict[str, Any]:
    milliseconds = {_UNBOUNDED: 0.0, 0: 0.0}
    found = {_UNBOUNDED: 0, 0: 0}
    engine = ContainmentEngine(threshold, costs=load_costs(snapshot.location))
    containment.MOST_ENTRIES = _UNBOUNDED
    for query in queries:
        for most in milliseconds:
            containment.MOST_VALUES = most
            runs = [_timed(engine, query, snapshot) for _ in range(_RUNS)]
            milliseconds[most] += 1e3 * min(seconds for seconds, _ in runs)
            found[most] += len(runs[0][1])
    return {
        "queries": len(queries),
        "counted_ms": milliseconds[_UNBOUNDED] / len(queries),
        "sketched_ms": milliseconds[0] / len(queries),
        "right": found[_UNBOUNDED],
        "recall": found[0] / found[_UNBOUNDED],
    }


def _timed(engine: ContainmentEngine, query: Query, snapshot: Snapshot) -> tuple[float, Hits]:
    fresh = replace(query, home=None)  # nothing of it is looked up yet
    nothing = ExcludedColumns([np.zeros(0, dtype=np.int64) for _ in snapshot.segments])
    begin = time.process_time()
    hits = engine.search(fresh, snapshot.segments, nothing)
    return time.process_time() - begin, hits
