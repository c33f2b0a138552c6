"""A real lake's sets in the form of the generated ones, taken from its index."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

import lakejoin
from lakejoin.kernels.packing import transpose_lists
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.store.segment import Segment
from lakejoin.store.snapshot import Snapshot
from set_lakes import SegmentSets, SetLake, open_lake, postings_stamp, write_postings
from set_statistics import measure


def real_sets(lake: Path, folder: Path) -> SetLake:
    """Indexes a lake below `folder`, unless that was done, and takes the sets out of its index."""
    record = folder / "lake.json"
    written = postings_stamp()
    if record.exists() and json.loads(record.read_text()).get("postings") == written:
        return open_lake(folder)
    lakejoin.index(str(lake), index=str(folder / "index"), parts=())
    start = time.perf_counter()
    base, bases = 0, []
    segments = Snapshot(Location.of(str(folder / "index"))).segments
    numbers = _numbers([segment.dictionary.hashes() for segment in segments])
    made = []
    for n, (segment, tokens) in enumerate(zip(segments, numbers, strict=True)):
        made.append(_write(folder / f"segment-{n:03d}", segment, tokens))
        bases.append(base)
        base += made[-1].column_count
    write_postings(folder)
    statistics = measure(made, bases)
    found = {
        "wanted": {"kind": "real", "pairs": statistics.pairs},
        "postings": written,
        "column_base": bases,
        "seconds": time.perf_counter() - start,
        "statistics": asdict(statistics),
    }
    record.write_text(json.dumps(found, indent=1) + "\n")
    return open_lake(folder)


def _numbers(hashes: list[Array]) -> list[Array]:
    """Numbers instead of hashes, the same one wherever a value occurs."""
    _, number = np.unique(np.concatenate(hashes), return_inverse=True)
    return np.split(number.astype(np.uint32), np.cumsum([len(h) for h in hashes])[:-1])


def _write(folder: Path, segment: Segment, tokens: Array) -> SegmentSets:
    postings = segment.postings
    size = postings.set_sizes()
    sets = [postings.groups_of(column) for column in range(len(size))]
    start = np.concatenate(([0], np.cumsum([len(s) for s in sets]))).astype(np.int64)
    list_start, columns = transpose_lists(start, np.concatenate(sets), postings.groups)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        "tokens": tokens,
        "group_start": postings.group_start(),
        "list_start": list_start,
        "list_columns": columns,
        "set_size": size.astype(np.int64),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return SegmentSets(folder)
