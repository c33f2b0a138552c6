"""Lakes of sets without files: the plan of `lakes`, straight into the postings of segments.

    python benchmarks/set_lakes.py FOLDER --pairs 150000000 [--kind web-table]

A lake with 15 million web-table columns would be millions of tiny files. Search sees none of them:
it sees posting lists. So the tokens of every column are drawn by the same laws from the same plan
as the cells of `lakes`, as integers without text, and go through the index's own grouping and its
own writer of postings. Tables are dealt to segments as the index builder deals files: the largest
first, each to the segment with the least in it.

A folder holds for each segment `segment-NNN/*.npy`, its tokens and groups as plain arrays, and
`postings.lj`, what the index keeps of them; and `lake.json`: what was wanted, what came out. It is
made once; only the postings are written again when the index's format changes.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import inspect
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from lake_plan import DAYS, SHAPES, Plan
from lakejoin.kernels.token_groups import group_pairs
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.store import postings
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.postings import Postings, PostingsComponent
from set_statistics import SetStatistics, hashes_of, measure, mix

PAIRS_PER_CELL = {"open-data": 0.585, "web-table": 0.834}
# As large as a segment gets: by text for open data, by the number of files for web tables.
SEGMENT_CELLS = 26_000_000
SEGMENT_COLUMNS = 250_000
NOWHERE = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class SetLake:
    """The sets of a lake in a folder, segment by segment, and what is known of them."""

    folder: Path
    kind: str
    statistics: SetStatistics
    column_base: list[int]  # of each segment: the lake-wide number of its first column
    seconds: float

    def segments(self) -> list[SegmentSets]:
        """The sets of the segments, in order."""
        return _segments(self.folder)

    def postings(self) -> list[Postings]:
        """Maps the posting lists of every segment afresh."""
        return [Postings(ArrayFile(Location.of(str(file)))) for file in self.files()]

    def files(self) -> list[Path]:
        """The files of the posting lists."""
        return [segment.folder / "postings.lj" for segment in self.segments()]


@dataclass(frozen=True, slots=True)
class SegmentSets:
    """The groups of a segment as plain arrays, and what `PostingsComponent` asks for."""

    folder: Path

    def array(self, name: str) -> Array:
        """`tokens` (by code), `group_start`, `list_start`, `list_columns` or `set_size`."""
        return np.asarray(np.load(self.folder / f"{name}.npy", mmap_mode="r"))

    @property
    def column_count(self) -> int:
        """How many columns the segment has."""
        return len(self.array("set_size"))

    def posting_lists(self) -> tuple[Array, Array, Array]:
        """(group_start, list_start, list_columns)."""
        return self.array("group_start"), self.array("list_start"), self.array("list_columns")

    def repeats(self, _: int) -> Array | None:
        """Every value stands in one row."""
        return None


def _segments(folder: Path) -> list[SegmentSets]:
    return [SegmentSets(segment) for segment in sorted(folder.glob("segment-*"))]


def open_lake(folder: Path) -> SetLake:
    """Opens a lake that `generate_sets` made."""
    found = json.loads((folder / "lake.json").read_text())
    statistics = SetStatistics(**found["statistics"])
    return SetLake(
        folder, found["wanted"]["kind"], statistics, found["column_base"], found["seconds"]
    )


def generate_sets(
    folder: Path, pairs: int, kind: str, seed: int = 1, anew: bool = False
) -> SetLake:
    """Makes a lake of about `pairs` (value, column) pairs, or finds the same one already there.

    The posting lists are written again if their format has changed, or if told to.
    """
    wanted = {"pairs": pairs, "kind": kind, "seed": seed, "version": 2}
    record = folder / "lake.json"
    if not record.exists() or json.loads(record.read_text())["wanted"] != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        record.write_text(json.dumps({"wanted": wanted, **_make(folder, wanted)}, indent=1) + "\n")
    found = json.loads(record.read_text())
    if anew or found.get("postings") != postings_stamp():
        write_postings(folder)
        found["postings"] = postings_stamp()
        record.write_text(json.dumps(found, indent=1) + "\n")
    return open_lake(folder)


def _make(folder: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    kind = wanted["kind"]
    cells = int(wanted["pairs"] / PAIRS_PER_CELL[kind])
    plan = Plan.draw(SHAPES[kind], cells, wanted["seed"])
    bases, base = [], 0
    for number, tables in enumerate(deal(plan)):
        bases.append(base)
        base += write_segment(folder / f"segment-{number:03d}", plan, tables)
    seconds = time.perf_counter() - start
    del plan
    statistics = measure(_segments(folder), bases)
    return {"column_base": bases, "seconds": seconds, "statistics": asdict(statistics)}


def postings_stamp() -> str:
    """Changes when the code that writes the posting lists does."""
    return hashlib.blake2b(inspect.getsource(postings).encode(), digest_size=8).hexdigest()


def write_postings(folder: Path) -> None:
    """Writes the posting lists of every segment as the index would; mapped old ones stay valid."""
    for segment in _segments(folder):
        partial = segment.folder / "postings.partial"
        with ArrayFileWriter(Location.of(str(partial))) as out:
            PostingsComponent().build(segment, out)
        partial.rename(segment.folder / "postings.lj")


def deal(plan: Plan) -> Iterator[Array]:
    """The tables of each segment: the largest first, each to the segment with the least cells."""
    cells = plan.rows * plan.columns
    by_cells = -(-int(cells.sum()) // SEGMENT_CELLS)
    by_columns = -(-int(plan.columns.sum()) // SEGMENT_COLUMNS)
    count = max(1, by_cells, by_columns)
    # Per table something that does not depend on its size, as opening a file costs.
    cost = cells + 20
    bins = [(0, n) for n in range(count)]
    home = np.empty(len(cells), dtype=np.int64)
    for table in np.argsort(-cells, kind="stable").tolist():
        held, number = heapq.heappop(bins)
        home[table] = number
        heapq.heappush(bins, (held + int(cost[table]), number))
    for number in range(count):
        yield np.flatnonzero(home == number)


def write_segment(folder: Path, plan: Plan, tables: Array) -> int:
    """Draws the sets of some tables and groups them; returns the number of columns."""
    domains = plan.domains
    token, start = draw_sets(
        (plan.begin[tables], plan.rows[tables], plan.column[tables], plan.columns[tables]),
        (domains.first, domains.size, domains.offset, domains.per_chunk, domains.window),
        domains.mixed,
        (plan.vocabulary, plan.shape.common_cells, plan.shape.null_cells, plan.seed),
    )
    columns = len(start) - 1
    groups = group_pairs(lambda: hashes_of(token), start, np.ones(columns, dtype=bool))
    folder.mkdir()
    arrays = {
        "tokens": token[groups.first_pair],
        "group_start": groups.group_start,
        "list_start": groups.list_start,
        "list_columns": groups.list_columns,
        "set_size": np.diff(start),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return columns


# -- the tokens --------------------------------------------------------------------------------


@njit(cache=True)
def draw_sets(tables: Any, domains: Any, mixed: Array, laws: Any) -> tuple[Array, Array]:
    """The distinct tokens of every column, column after column, and where each begins.

    Cell by cell what `lakes.Census` does with whole arrays.
    """
    begin, rows, first_column, columns = tables
    first, size, offset, per_chunk, window = domains
    vocabulary, common_cells, null_cells, seed = laws
    most_rows = 1
    total = 0
    sets = 0
    for t in range(rows.shape[0]):
        most_rows = max(most_rows, rows[t])
        total += rows[t] * columns[t]
        sets += columns[t]
    width = 16
    while width < 2 * most_rows:
        width *= 2
    seen = np.zeros(width, dtype=np.uint64)  # (column + 1) << 32 | token
    token = np.empty(total, dtype=np.uint32)
    start = np.zeros(sets + 1, dtype=np.int64)
    n = 0
    number = 0
    for t in range(rows.shape[0]):
        mask = np.uint64(15)
        while mask + np.uint64(1) < np.uint64(2 * rows[t]):
            mask = mask * np.uint64(2) + np.uint64(1)
        for c in range(first_column[t], first_column[t] + columns[t]):
            stamp = np.uint64(number + 1) << np.uint64(32)
            for row in range(begin[t], begin[t] + rows[t]):
                dice = mix((np.uint64(c) << np.uint64(32)) | np.uint64(row), seed)
                u = np.float64(dice >> np.uint64(11)) * 2.0**-53
                fate = np.float64(dice & np.uint64(0xFFFF)) / 65536.0
                if mixed[c] and fate >= 1 - null_cells:
                    continue
                if mixed[c] and fate < common_cells:
                    value = DAYS + np.int64(vocabulary * u**3)
                else:
                    if window[c] > 0:
                        index = np.int64(np.exp(u * np.log(np.float64(window[c])))) - 1
                    else:
                        at = (row * 37 + c) & 63
                        each = per_chunk[c]
                        within = at if each == 64 else each * at * at >> 12
                        index = (row // 64) * each + within
                    value = first[c] + (offset[c] + index) % size[c]
                key = stamp | np.uint64(value)
                slot = mix(key, 3) & mask
                while seen[slot] != key and seen[slot] >> np.uint64(32) == stamp >> np.uint64(32):
                    slot = (slot + np.uint64(1)) & mask
                if seen[slot] != key:
                    seen[slot] = key
                    token[n] = value
                    n += 1
            number += 1
            start[number] = n
    return token[:n].copy(), start


def main() -> None:
    """Makes one lake and prints what it is like."""
    parser = argparse.ArgumentParser(description="Generate a lake of sets, without files.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=15_000_000)
    parser.add_argument("--kind", choices=list(SHAPES), default="open-data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--anew", action="store_true", help="write the postings again")
    options = parser.parse_args()
    lake = generate_sets(
        options.folder, options.pairs, options.kind, options.seed, anew=options.anew
    )
    print(lake.statistics.describe(lake.kind))
    print(f"  {lake.seconds:.0f} s to make")


if __name__ == "__main__":
    main()
