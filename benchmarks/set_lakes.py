"""Lakes of sets without files: the plan of `lakes`, straight into the postings of segments.

    python benchmarks/set_lakes.py FOLDER --pairs 150000000 [--kind web-table]

A lake with 15 million web-table columns would be millions of tiny files. Search sees none of them:
it sees posting lists. So the tokens of every column are drawn by the same laws from the same plan
as the cells of `lakes`, as integers without text, and go through the index's own grouping and its
own writer of postings. Tables are dealt to segments as the index builder deals files: the largest
first, each to the segment with the least in it.

A folder holds `segment-NNN/postings.lj`, `segment-NNN/tokens.npy` (the token of every code) and
`lake.json` (what was wanted, what came out). It is made once.
"""

from __future__ import annotations

import argparse
import heapq
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
from lakejoin.kernels.grouping import group
from lakejoin.storage import Place
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.postings import Postings, PostingsComponent

Array = np.ndarray[Any, Any]

PAIRS_PER_CELL = {"open-data": 0.585, "web-table": 0.834}
# As large as a segment gets: by text for open data, by the number of files for web tables.
SEGMENT_CELLS = 26_000_000
SEGMENT_COLUMNS = 250_000
NOWHERE = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class SetStatistics:
    """The figures of the thesis's Tables 3.1 and 3.2, and how the lake is split."""

    sets: int
    max_size: int
    avg_size: float
    tokens: int
    pairs: int
    groups: int
    shared: float
    max_frequency: int
    segments: int
    segment_groups: int  # distinct lists, summed over the segments

    def ratios(self) -> dict[str, float]:
        """The ratios that the thesis gives for the real lakes."""
        return {
            "average set size": self.avg_size,
            "tokens per pair": self.tokens / self.pairs,
            "tokens sharing their list": self.shared,
            "distinct lists per token": self.groups / self.tokens,
            "distinct lists per set": self.groups / self.sets,
        }


THESIS = {
    "open-data": (1_540, 0.49, 0.98, 0.016, 12),
    "web-table": (10, 0.11, 0.83, 0.25, 0.28),
}


@dataclass(frozen=True, slots=True)
class SetLake:
    """Postings of segments in a folder, and what is known of them."""

    folder: Path
    kind: str
    statistics: SetStatistics
    column_base: list[int]  # of each segment: the lake-wide number of its first column
    seconds: float

    def segments(self) -> list[Path]:
        """The folders of the segments, in order."""
        return [self.folder / f"segment-{n:03d}" for n in range(self.statistics.segments)]

    def postings(self) -> list[Postings]:
        """Maps the posting lists of every segment afresh."""
        return [Postings(ArrayFile(Place.of(str(s / "postings.lj")))) for s in self.segments()]

    def tokens(self, segment: int) -> Array:
        """The token of every code of a segment."""
        return np.asarray(np.load(self.segments()[segment] / "tokens.npy", mmap_mode="r"))


@dataclass(frozen=True, slots=True)
class SegmentSets:
    """What `PostingsComponent` needs of a segment; every value stands in one row."""

    column_count: int
    lists: tuple[Array, Array, Array]

    def posting_lists(self) -> tuple[Array, Array, Array]:
        """(group_start, list_start, list_columns)."""
        return self.lists

    def repeats(self, _: int) -> Array | None:
        """All multiplicities are one."""
        return None


def open_lake(folder: Path) -> SetLake:
    """Opens a lake that `generate_sets` made."""
    found = json.loads((folder / "lake.json").read_text())
    statistics = SetStatistics(**found["statistics"])
    return SetLake(
        folder, found["wanted"]["kind"], statistics, found["column_base"], found["seconds"]
    )


def generate_sets(folder: Path, pairs: int, kind: str, seed: int = 1) -> SetLake:
    """Makes a lake of about `pairs` (value, column) pairs, or finds the same one already there."""
    wanted = {"pairs": pairs, "kind": kind, "seed": seed, "version": 1}
    record = folder / "lake.json"
    if record.exists() and json.loads(record.read_text())["wanted"] == wanted:
        return open_lake(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = time.perf_counter()
    plan = Plan.draw(SHAPES[kind], int(pairs / PAIRS_PER_CELL[kind]), seed)
    census = Census(plan)
    bases, base = [], 0
    for number, tables in enumerate(deal(plan)):
        bases.append(base)
        base += write_segment(folder / f"segment-{number:03d}", plan, tables, base, census)
    done = {
        "wanted": wanted,
        "column_base": bases,
        "seconds": time.perf_counter() - start,
        "statistics": asdict(census.statistics(len(bases))),
    }
    record.write_text(json.dumps(done, indent=1) + "\n")
    return open_lake(folder)


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


def write_segment(folder: Path, plan: Plan, tables: Array, base: int, census: Census) -> int:
    """Draws the sets of some tables and writes their postings; returns the number of columns."""
    domains = plan.domains
    token, start = draw_sets(
        (plan.begin[tables], plan.rows[tables], plan.column[tables], plan.columns[tables]),
        (domains.first, domains.size, domains.offset, domains.per_chunk, domains.window),
        domains.mixed,
        (plan.vocabulary, plan.shape.common_cells, plan.shape.null_cells, plan.seed),
    )
    census.add(token, start, base)
    columns = len(start) - 1
    groups = group(lambda: scatter(token), start, np.ones(columns, dtype=bool))
    folder.mkdir()
    lists = (groups.group_start, groups.list_start, groups.list_columns)
    with ArrayFileWriter(Place.of(str(folder / "postings.lj"))) as out:
        PostingsComponent().build(SegmentSets(columns, lists), out)
    np.save(folder / "tokens.npy", token[groups.first_pair])
    census.segment_groups += len(groups.group_start) - 1
    return columns


# -- the tokens --------------------------------------------------------------------------------


@njit(cache=True)
def _mix(key: Any, seed: Any) -> Any:
    """The finaliser of SplitMix64, as `lakes` has it."""
    x = key + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True)
def scatter(token: Array) -> Array:
    """A 64-bit hash of every token."""
    out = np.empty(token.shape[0], dtype=np.uint64)
    for i in range(token.shape[0]):
        out[i] = _mix(np.uint64(token[i]), 7)
    return out


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
        while mask < np.uint64(2 * rows[t]):
            mask = mask * np.uint64(2) + np.uint64(1)
        for c in range(first_column[t], first_column[t] + columns[t]):
            stamp = np.uint64(number + 1) << np.uint64(32)
            for row in range(begin[t], begin[t] + rows[t]):
                dice = _mix((np.uint64(c) << np.uint64(32)) | np.uint64(row), seed)
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
                slot = _mix(key, 3) & mask
                while seen[slot] != key and seen[slot] >> np.uint64(32) == stamp >> np.uint64(32):
                    slot = (slot + np.uint64(1)) & mask
                if seen[slot] != key:
                    seen[slot] = key
                    token[n] = value
                    n += 1
            number += 1
            start[number] = n
    return token[:n].copy(), start


# -- the census --------------------------------------------------------------------------------


class Census:
    """Counts while the sets are made: exact lake-wide statistics, as in `lakes`."""

    def __init__(self, plan: Plan) -> None:
        self._posting = np.zeros(plan.tokens, dtype=np.uint64)
        self._frequency = np.zeros(plan.tokens, dtype=np.uint32)
        self._sizes: list[Array] = []
        self.segment_groups = 0

    def add(self, token: Array, start: Array, base: int) -> None:
        """Counts the sets of one segment."""
        _count(token, start, base, self._posting, self._frequency)
        self._sizes.append(np.diff(start))

    def statistics(self, segments: int) -> SetStatistics:
        """What was counted."""
        size = np.concatenate(self._sizes)
        size = size[size > 0]
        lists = np.sort(self._posting[self._frequency > 0])
        edge = np.flatnonzero(lists[1:] != lists[:-1])
        members = np.diff(np.concatenate(([-1], edge, [len(lists) - 1])))
        pairs = int(size.sum())
        return SetStatistics(
            sets=len(size),
            max_size=int(size.max()),
            avg_size=pairs / len(size),
            tokens=len(lists),
            pairs=pairs,
            groups=len(members),
            shared=float(members[members > 1].sum() / len(lists)),
            max_frequency=int(self._frequency.max()),
            segments=segments,
            segment_groups=self.segment_groups,
        )


@njit(cache=True)
def _count(token: Array, start: Array, base: int, posting: Array, frequency: Array) -> None:
    for c in range(start.shape[0] - 1):
        random = _mix(np.uint64(base + c), 11)
        for i in range(start[c], start[c + 1]):
            posting[token[i]] += random
            frequency[token[i]] += np.uint32(1)


def describe(lake: SetLake) -> str:
    """The statistics beside the thesis's ratios, as lines."""
    known = lake.statistics
    lines = [
        f"{known.sets:,} sets, {known.pairs:,} pairs, {known.tokens:,} tokens, "
        f"{known.groups:,} distinct lists ({known.segment_groups:,} in {known.segments} segments), "
        f"largest set {known.max_size:,}, longest list {known.max_frequency:,}"
    ]
    for (name, value), thesis in zip(known.ratios().items(), THESIS[lake.kind], strict=True):
        lines.append(f"  {name:28} {value:10,.3f}   thesis {thesis:,}")
    return "\n".join(lines)


def main() -> None:
    """Makes one lake and prints what it is like."""
    parser = argparse.ArgumentParser(description="Generate a lake of sets, without files.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=15_000_000)
    parser.add_argument("--kind", choices=list(SHAPES), default="open-data")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lake = generate_sets(options.folder, options.pairs, options.kind, options.seed)
    print(describe(lake))
    print(f"  {lake.seconds:.0f} s to make")


if __name__ == "__main__":
    main()
