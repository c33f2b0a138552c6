"""Are columns found that join once values are rewritten, and what do their pieces cost?

    python benchmarks/pieces.py INDEX

- *cost*: the pieces of every segment are made anew (nothing is written to the index): seconds on
  one core, bytes, and their share of the index without vectors and points;
- *speed*: columns are looked for by 100, 10,000 and 1,000,000 values, encoded before, and partners
  of 1,000 values among as many;
- *recall*: columns of the index are rewritten in many ways (`rewritings.py`), and the place is
  noted at which the original (or another column that holds 90 % of the values) is found;
- *in tables*: the same for whole tables of which one column is rewritten, where the other columns
  share pieces with others too; the table must be one of the first.

All times are of the processor, on one thread. The peer (`--peer`) is what the thesis proposes in
5.3.1: an index of all tokens of all columns, cut at everything that is neither letter nor digit,
where shared tokens count by how few columns have them.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import lakejoin
from harness import record
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.query import QueryTable
from lakejoin.engines.rewritten.engine import (
    LikelyColumn,
    find_rewritable_columns,
    pair_by_rare_tokens,
)
from lakejoin.inputs import resolve_table
from lakejoin.locations import Location
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.rare_tokens import RareTokensComponent, columns_with_rare_tokens
from lakejoin.store.segment import Segment
from lakejoin.store.segment_tables import SegmentTables
from lakejoin.store.snapshot import Snapshot
from rewritings import KINDS, Case, TableCase, cases, table_cases

SIZES = (100, 10_000, 1_000_000)
PARTS = ("meaning", "points", "pieces")  # what an index may have beside
Column = tuple[int, int]
Finder = Callable[[pa.LargeStringArray], Sequence[Column]]


def cost(segments: Sequence[Segment]) -> dict[str, float]:
    """Seconds and bytes of all pieces, and of the rest of the index."""
    seconds, size = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for segment in segments:
            begin = time.process_time()
            with ArrayFileWriter(Location.of(Path(folder) / "pieces.lj")) as out:
                RareTokensComponent().build(segment, out)
            seconds += time.process_time() - begin
            size += out.record.bytes
    rest = sum(
        kept.bytes
        for segment in segments
        for name, kept in segment.record.components.items()
        if name not in PARTS
    )
    pairs = sum(segment.record.pairs for segment in segments)
    return {"seconds": seconds, "bytes": size, "rest": rest, "pairs": pairs}


def likely(snapshot: Snapshot, mine: QueryTable) -> list[LikelyColumn]:
    """What a search by pieces finds for the first column of a table."""
    nothing = ExcludedColumns([np.zeros(0, dtype=np.int64) for _ in snapshot.segments])
    return find_rewritable_columns(mine, [0], snapshot.segments, nothing, most=1000)


def by_pieces(snapshot: Snapshot) -> Finder:
    """Columns by what they share with mine, as a search does it."""

    def find(values: pa.LargeStringArray) -> Sequence[Column]:
        mine = resolve_table({"mine": values}).query_table(snapshot)
        return [(one.segment_index, one.column) for one in likely(snapshot, mine)]

    return find


def by_tokens(snapshot: Snapshot) -> Finder:
    """The peer: columns by the tokens they share with mine."""
    holders: dict[str, list[Column]] = defaultdict(list)
    columns = 0
    for number, segment in enumerate(snapshot.segments):
        for column in columns_with_rare_tokens(segment).tolist():
            columns += 1
            texts = segment.dictionary.texts.take(segment.postings.codes_of(column)).to_pylist()
            for token in _tokens(texts):
                holders[token].append((number, column))

    def find(values: pa.LargeStringArray) -> Sequence[Column]:
        nats: dict[Column, float] = defaultdict(float)
        for token in _tokens(values.to_pylist()):
            held = holders.get(token, ())
            for column in held:
                nats[column] += float(np.log(columns / len(held)))
        return sorted(nats, key=lambda column: -nats[column])

    return find


def _tokens(texts: Iterable[str]) -> set[str]:
    return {token for text in texts for token in re.findall(r"[^\W_]+", text)}


@dataclass(frozen=True, slots=True)
class Recall:
    """The share of cases whose original stands first, among ten, among forty; and the time."""

    cases: int
    first: float
    ten: float
    forty: float
    milliseconds: float


def recall(find: Finder, asked: Sequence[Case]) -> dict[str, Recall]:
    """By kind of rewriting, and for all."""
    places: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for case in asked:
        begin = time.process_time()
        found = find(case.rewritten)
        seconds = time.process_time() - begin
        place = next((i for i, c in enumerate(found, 1) if c in case.originals), len(found) + 1000)
        places[case.kind].append((place, seconds))
    every = {**{kind: places[kind] for kind in KINDS if places[kind]}, "all": []}
    every["all"] = [one for some in places.values() for one in some]
    return {kind: _recall(some) for kind, some in every.items() if some}


def in_tables(snapshot: Snapshot, asked: Iterable[TableCase]) -> Recall:
    """How often a table that held the rewritten column is found, all columns being asked for."""
    places = [SegmentTables(segment) for segment in snapshot.segments]
    ranks = []
    for case in asked:
        mine = resolve_table(case.table, snapshot).query_table(snapshot)
        excluded = [
            one.columns_of(np.array([case.home[1]] if n == case.home[0] else [], dtype=np.int64))
            for n, one in enumerate(places)
        ]
        wanted = range(len(mine.column_names))
        for place in wanted:
            mine.query(place)
        begin = time.process_time()
        found = find_rewritable_columns(
            mine, wanted, snapshot.segments, ExcludedColumns(excluded), most=4000
        )
        seconds = time.process_time() - begin
        order: dict[Column, int] = {}
        rank = 1000
        for one in found:
            table = one.segment_index, places[one.segment_index].table_of(one.column)
            order.setdefault(table, len(order) + 1)
            if one.column_index == case.place and table in case.tables:
                rank = order[table]
                break
        ranks.append((rank, seconds))
    return _recall(ranks)


def _recall(found: Sequence[tuple[int, float]]) -> Recall:
    places = np.array([place for place, _ in found])
    shares = [float((places <= most).mean()) for most in (1, 10, 40)]
    return Recall(len(found), *shares, 1000 * float(np.median([s for _, s in found])))


def speed(snapshot: Snapshot, sizes: Sequence[int]) -> list[dict[str, float]]:
    """Seconds for queries of several sizes, and for partners among as many values."""
    few = pa.array([f"no. {i * 7919}" for i in range(1000)], pa.large_string())
    told = []
    for size in (sizes[0], *sizes):  # the first is to compile
        texts = [f"item {i * 7919:09} of store {i % 97}" for i in range(size)]
        values = pa.array(texts, pa.large_string())
        mine = resolve_table({"mine": values}).query_table(snapshot)
        mine.query(0)
        begin = time.process_time()
        likely(snapshot, mine)
        columns = time.process_time() - begin
        pair_by_rare_tokens(few, values)
        partners = time.process_time() - begin - columns
        told.append({"values": size, "columns": columns, "partners": partners})
    return told[1:]


def shown(name: str, found: dict[str, Recall]) -> None:
    """Prints a table of recalls."""
    print(f"\n{name:20} cases  first  of 10  of 40  median ms")
    for kind, one in found.items():
        shares = "  ".join(f"{share:5.2f}" for share in (one.first, one.ten, one.forty))
        print(f"  {kind:18} {one.cases:5}  {shares}  {one.milliseconds:9.1f}")


def main() -> None:
    """Measures all, prints it, and keeps a record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("index")
    parser.add_argument("--each", type=int, default=25, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peer", action="store_true", help="an index of all tokens too")
    given = parser.parse_args()
    snapshot = lakejoin.open(given.index).snapshot
    cost(snapshot.segments)  # compiles, and brings the texts into memory
    costs = cost(snapshot.segments)
    share = costs["bytes"] / costs["rest"]
    print(
        f"pieces of {costs['pairs']:,} (column, value) pairs: {costs['seconds']:.2f} s, "
        f"{costs['bytes'] / 1e6:.1f} MB, {share:.1%} of an index without vectors and points"
    )
    find = by_pieces(snapshot)
    speeds = speed(snapshot, SIZES)
    for one in speeds:
        print(
            f"{one['values']:>9,} values: columns in {1000 * one['columns']:7.1f} ms, "
            f"partners of 1,000 in {1000 * one['partners']:7.1f} ms"
        )
    asked = list(cases(snapshot.segments, given.each, given.seed))
    whole = in_tables(snapshot, table_cases(snapshot, 4 * given.each, given.seed))
    results: dict[str, Any] = {"cost": costs, "speed": speeds, "in tables": vars_of(whole)}
    finders = {"by pieces": find, **({"by tokens": by_tokens(snapshot)} if given.peer else {})}
    for name, finder in finders.items():
        found = recall(finder, asked)
        shown(name, found)
        results[name] = {kind: vars_of(one) for kind, one in found.items()}
    shown("tables, by pieces", {"one column of it": whole})
    record("pieces", results)


def vars_of(one: Recall) -> dict[str, float]:
    """A recall as the record has it."""
    return {name: getattr(one, name) for name in Recall.__slots__}


if __name__ == "__main__":
    main()
