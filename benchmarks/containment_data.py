"""Sets of hashed values, queries drawn from them by size, and exactly what contains what.

Values are 64-bit hashes, so that every contestant starts from the same sets. The truth is counted
from the sets alone: no index of ours takes part in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lake_plan import SHAPES, Plan
from lakejoin.kernels.hashes import finish
from lakejoin.kernels.jit import njit
from lakejoin.kernels.minhash import sketch
from lakejoin.model import Array

BANDS = (1_000, 10_000, 100_000)  # queries of 10 values up to so many, as in section 2.5.2
INTERVALS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Sets one after another: set i is `values[start[i]:start[i + 1]]`, none is empty."""

    start: Array
    values: Array

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Array:
        """How many values each has."""
        return np.diff(self.start)

    def of(self, number: int) -> Array:
        """One set."""
        return np.asarray(self.values[self.start[number] : self.start[number + 1]])


@njit(nogil=True)
def sketch_sets(start: Array, values: Array, scheme: int, out: Array) -> None:
    """Write the signatures of the sets `values[start[i]:start[i + 1]]`, none of them empty."""
    for i in range(start.shape[0] - 1):
        sketch(values[start[i] : start[i + 1]], scheme, out[i])


def generated(kind: str, cells: int, seed: int = 1) -> Sets:
    """The sets of a lake that `lakes` would generate, without its files."""
    from set_lakes import draw_sets

    plan = Plan.draw(SHAPES[kind], cells, seed)
    domains = plan.domains
    token, start = draw_sets(
        (plan.begin, plan.rows, plan.column, plan.columns),
        (domains.first, domains.size, domains.offset, domains.per_chunk, domains.window),
        domains.mixed,
        (plan.vocabulary, plan.shape.common_cells, plan.shape.null_cells, plan.seed),
    )
    return _without_empty(start, _scatter(token))


def indexed(index: Path | str) -> Sets:
    """The sets of all searched columns of an index."""
    import lakejoin

    starts, values, end = [np.zeros(1, dtype=np.int64)], [], 0
    for segment in lakejoin.open(index).snapshot.segments:
        group_start, set_start, groups = segment.group_sets()
        hashes = segment.dictionary.hashes()
        weight = np.diff(group_start.astype(np.int64))[groups]
        begin = np.repeat(group_start[groups].astype(np.int64), weight)
        before = np.concatenate(([0], np.cumsum(weight)))
        codes = begin + np.arange(before[-1]) - np.repeat(before[:-1], weight)
        values.append(hashes[codes])
        starts.append(end + before[set_start[1:]])
        end += int(before[-1])
    return _without_empty(np.concatenate(starts), np.concatenate(values))


def _without_empty(start: Array, values: Array) -> Sets:
    return Sets(np.append(start[:-1][np.diff(start) > 0], start[-1]), values)


def sample(sets: Sets, band: int, each: int, seed: int = 1) -> Array:
    """Numbers of sets of 10 to `band` values: `each` from every tenth, where there are so many."""
    rng = np.random.default_rng(seed)
    sizes, chosen = sets.sizes, []
    for i in range(INTERVALS):
        low, high = max(10, i * band // INTERVALS), (i + 1) * band // INTERVALS
        fit = np.flatnonzero((sizes >= low) & (sizes < high))
        chosen.append(rng.choice(fit, min(each, len(fit)), replace=False))
    return np.concatenate(chosen)


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What each query shares with which sets, itself left out: query i has rows start[i:i + 2]."""

    start: Array
    sets: Array
    containment: Array

    def at(self, query: int, threshold: float) -> Array:
        """The sets that contain at least that share of a query."""
        here = slice(self.start[query], self.start[query + 1])
        return np.asarray(self.sets[here][self.containment[here] >= threshold - 1e-9])


def truth(sets: Sets, queries: Array) -> Truth:
    """Counts every overlap of the queries with all sets."""
    wanted = np.unique(np.concatenate([sets.of(q) for q in queries]))
    number = _numbers(sets.values, wanted)
    owner = np.repeat(np.arange(len(sets)), sets.sizes)[number >= 0]
    number = number[number >= 0]
    order = np.argsort(number, kind="stable")
    list_start = np.searchsorted(number[order], np.arange(len(wanted) + 1))
    start, found, share = [0], [], []
    for query in queries.tolist():
        mine = np.searchsorted(wanted, sets.of(query))
        counts = _count(mine, list_start, owner[order], len(sets))
        counts[query] = 0
        some = np.flatnonzero(counts)
        found.append(some)
        share.append(counts[some] / len(mine))
        start.append(start[-1] + len(some))
    return Truth(np.array(start), np.concatenate(found), np.concatenate(share))


@njit(cache=True)
def _scatter(token: Array) -> Array:
    """A 64-bit hash of every token."""
    out = np.empty(token.shape[0], dtype=np.uint64)
    for i in range(token.shape[0]):
        out[i] = finish(np.uint64(token[i]) * np.uint64(0x9E3779B97F4A7C15))
    return out


@njit(cache=True)
def _numbers(values: Array, wanted: Array) -> Array:
    """The place of each value among the ascending wanted ones, or -1; by a hash table."""
    width = 16
    while width < 2 * wanted.shape[0]:
        width *= 2
    table = np.full(width, -1, dtype=np.int64)
    mask = np.uint64(width - 1)
    for i in range(wanted.shape[0]):
        slot = np.int64(wanted[i] & mask)
        while table[slot] >= 0:
            slot = (slot + 1) & (width - 1)
        table[slot] = i
    out = np.full(values.shape[0], -1, dtype=np.int64)
    for i in range(values.shape[0]):
        slot = np.int64(values[i] & mask)
        while table[slot] >= 0:
            if wanted[table[slot]] == values[i]:
                out[i] = table[slot]
                break
            slot = (slot + 1) & (width - 1)
    return out


@njit(cache=True)
def _count(mine: Array, list_start: Array, owner: Array, sets: int) -> Array:
    counts = np.zeros(sets, dtype=np.int64)
    for i in range(mine.shape[0]):
        for j in range(list_start[mine[i]], list_start[mine[i] + 1]):
            counts[owner[j]] += 1
    return counts
