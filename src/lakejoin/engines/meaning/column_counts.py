"""Compiled: count, by column, the matches and pairs of a query.

A lake has many more columns than a query matches, so counts are kept by size rank (the position of
a column in the posting lists) on a board as wide as the lake, and only touched entries are read and
cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.model import Array


class ListedPairs(NamedTuple):
    """Pairs by their query, each with the list of columns that hold its vector: where it begins in
    the entries, and its length."""

    query: Array
    begin: Array
    length: Array
    entries: Array


class CountBoard(NamedTuple):
    """Counts by size rank: all zero while unused.

    `seen` is the last query counted for a column, plus one; `slot` the position of a wanted column
    among the wanted ones, plus one. `touched` lists the columns with counts.
    """

    seen: Array
    hits: Array
    pairs: Array
    slot: Array
    touched: Array

    @classmethod
    def of(cls, columns: int) -> CountBoard:
        seen, hits, slot, touched = np.zeros((4, columns), dtype=np.int32)
        return cls(seen, hits, np.zeros(columns, dtype=np.int64), slot, touched)


@kernel
def count_columns(listed: ListedPairs, allowed: Array, board: CountBoard) -> int:
    """Add to `hits`, by size rank, the queries with a pair in the column, and to `pairs` all pairs.

    The pairs come by ascending query. Returns how many columns were `touched`.
    """
    query, begin, length, entries = listed
    seen, hits, pairs, _, touched = board
    columns = allowed.shape[0]
    number = 0
    for i in range(query.shape[0]):
        mark = query[i] + 1
        for position in range(begin[i], begin[i] + length[i]):
            size_rank = np.int64(entries[position])
            if size_rank < columns and allowed[size_rank]:
                if pairs[size_rank] == 0:
                    touched[number] = size_rank
                    number += 1
                pairs[size_rank] += 1
                if seen[size_rank] != mark:
                    seen[size_rank] = mark
                    hits[size_rank] += 1
    return number


@kernel
def mark_nearest(
    listed: ListedPairs, step: Array, allowed: Array, nearest: Array, pairs: Array
) -> None:
    """Keep in `nearest[size_rank, query]` the smallest step of any pair, plus one; 0 if none.

    The pairs may come in any order; all are added to `pairs`, by size rank.
    """
    query, begin, length, entries = listed
    columns = allowed.shape[0]
    for i in range(query.shape[0]):
        for position in range(begin[i], begin[i] + length[i]):
            size_rank = np.int64(entries[position])
            if size_rank < columns and allowed[size_rank]:
                pairs[size_rank] += 1
                before = nearest[size_rank, query[i]]
                if before == 0 or step[i] + 1 < before:
                    nearest[size_rank, query[i]] = step[i] + 1


@kernel
def count_nearest(nearest: Array, out: Array) -> None:
    """Add to `out[size_rank, step]` the queries whose nearest pair has that step."""
    for size_rank in range(nearest.shape[0]):
        for query in range(nearest.shape[1]):
            if nearest[size_rank, query] != 0:
                out[size_rank, nearest[size_rank, query] - 1] += 1


@kernel
def distinct_ids(ids: Array, slot: Array, which: Array, unique: Array) -> int:
    """List the distinct ids by first occurrence, so that unique[which[i]] is ids[i].

    `slot`, by id, is zero before and after. Returns the number of distinct ids.
    """
    count = 0
    for i in range(ids.shape[0]):
        own = np.int64(ids[i])
        if slot[own] == 0:
            unique[count] = own
            count += 1
            slot[own] = count
        which[i] = slot[own] - 1
    for i in range(count):
        slot[unique[i]] = 0
    return count


@kernel
def in_columns(listed: ListedPairs, slot: Array, out: Array) -> None:
    """Whether each list contains a wanted column."""
    _, begin, length, entries = listed
    columns = slot.shape[0]
    for i in range(begin.shape[0]):
        out[i] = False
        for position in range(begin[i], begin[i] + length[i]):
            size_rank = np.int64(entries[position])
            if size_rank < columns and slot[size_rank] != 0:
                out[i] = True
                break


@kernel
def count_by_step(listed: ListedPairs, step: Array, slot: Array, last: Array, out: Array) -> None:
    """Add to `out[w, step]` the queries whose nearest pair in the w-th wanted column has a step.

    The pairs come by ascending query, and those of a query by ascending step; `last[w]` is the
    last query that was counted for a column, plus one.
    """
    query, begin, length, entries = listed
    columns = slot.shape[0]
    for i in range(query.shape[0]):
        mark = query[i] + 1
        for position in range(begin[i], begin[i] + length[i]):
            size_rank = np.int64(entries[position])
            if size_rank < columns and slot[size_rank] != 0:
                column_slot = slot[size_rank] - 1
                if last[column_slot] != mark:
                    last[column_slot] = mark
                    out[column_slot, step[i]] += 1
