"""How many of my values does each column meet? Pairs of values to counts by column: compiled.

A lake has many more columns than a query meets, so the counts of a column are found by its stand on
a board as wide as the lake, of which only what was touched is read and wiped again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Room for counts, by stand: all zero while nobody uses it.

    `seen` is the last query counted for a column, plus one; `slot` the place of a wanted column
    among those that are wanted, plus one. `touched` lists the columns with counts.
    """

    seen: Array
    hits: Array
    pairs: Array
    slot: Array
    touched: Array

    @classmethod
    def of(cls, columns: int) -> Board:
        """A board for so many columns."""
        seen, hits, slot, touched = np.zeros((4, columns), dtype=np.int32)
        return cls(seen, hits, np.zeros(columns, dtype=np.int64), slot, touched)

    def wipe(self, touched: Array) -> None:
        """Makes the counts of columns zero again."""
        self.seen[touched] = self.hits[touched] = self.pairs[touched] = 0


@kernel
def count_columns(
    query: Array,
    begin: Array,
    length: Array,
    entries: Array,
    allowed: Array,
    seen: Array,
    hits: Array,
    pairs: Array,
    touched: Array,
) -> int:
    """Adds to `hits`, by stand, the queries that have a pair in the column, and all to `pairs`.

    The pairs come by ascending query, each with the list of columns that hold its value. Returns
    how many columns were `touched`.
    """
    columns = allowed.shape[0]
    number = 0
    for i in range(query.shape[0]):
        one = query[i] + 1
        for place in range(begin[i], begin[i] + length[i]):
            stand = np.int64(entries[place])
            if stand < columns and allowed[stand]:
                if pairs[stand] == 0:
                    touched[number] = stand
                    number += 1
                pairs[stand] += 1
                if seen[stand] != one:
                    seen[stand] = one
                    hits[stand] += 1
    return number


@kernel
def mark_nearest(
    query: Array,
    step: Array,
    begin: Array,
    length: Array,
    entries: Array,
    allowed: Array,
    nearest: Array,
    pairs: Array,
) -> None:
    """Keeps in `nearest[stand, query]` the least step of any pair, counted from one; 0 is none.

    The pairs may come in any order; all are added to `pairs`, by stand.
    """
    columns = allowed.shape[0]
    for i in range(query.shape[0]):
        for place in range(begin[i], begin[i] + length[i]):
            stand = np.int64(entries[place])
            if stand < columns and allowed[stand]:
                pairs[stand] += 1
                before = nearest[stand, query[i]]
                if before == 0 or step[i] + 1 < before:
                    nearest[stand, query[i]] = step[i] + 1


@kernel
def count_nearest(nearest: Array, out: Array) -> None:
    """Adds to `out[stand, step]` the queries whose nearest pair is of that step."""
    for stand in range(nearest.shape[0]):
        for query in range(nearest.shape[1]):
            if nearest[stand, query] != 0:
                out[stand, nearest[stand, query] - 1] += 1


@kernel
def number_ids(ids: Array, slot: Array, which: Array, unique: Array) -> int:
    """Numbers distinct ids in the order in which they come: unique[which[i]] is ids[i].

    `slot`, by id, is zero before and after. Returns how many there are.
    """
    number = 0
    for i in range(ids.shape[0]):
        one = np.int64(ids[i])
        if slot[one] == 0:
            unique[number] = one
            number += 1
            slot[one] = number
        which[i] = slot[one] - 1
    for i in range(number):
        slot[unique[i]] = 0
    return number


@kernel
def by_number(which: Array, numbers: int) -> tuple[Array, Array]:
    """The places of numbers, those of the smallest first, and where those of each begin."""
    start = np.zeros(numbers + 1, dtype=np.int64)
    for i in range(which.shape[0]):
        start[which[i] + 1] += 1
    for number in range(numbers):
        start[number + 1] += start[number]
    at = start.copy()
    order = np.empty(which.shape[0], dtype=np.int64)
    for i in range(which.shape[0]):
        order[at[which[i]]] = i
        at[which[i]] += 1
    return order, start


@kernel
def in_columns(begin: Array, length: Array, entries: Array, slot: Array, out: Array) -> None:
    """Whether any column of each list is a wanted one."""
    columns = slot.shape[0]
    for i in range(begin.shape[0]):
        out[i] = False
        for place in range(begin[i], begin[i] + length[i]):
            stand = np.int64(entries[place])
            if stand < columns and slot[stand] != 0:
                out[i] = True
                break


@kernel
def count_by_step(
    query: Array,
    step: Array,
    begin: Array,
    length: Array,
    entries: Array,
    slot: Array,
    last: Array,
    out: Array,
) -> None:
    """Adds to `out[w, step]` the queries whose nearest pair in the w-th wanted column is of a step.

    The pairs come by ascending query, and those of a query by ascending step; `last[w]` is the
    last query that was counted for a column, plus one.
    """
    columns = slot.shape[0]
    for i in range(query.shape[0]):
        one = query[i] + 1
        for place in range(begin[i], begin[i] + length[i]):
            stand = np.int64(entries[place])
            if stand < columns and slot[stand] != 0:
                wanted = slot[stand] - 1
                if last[wanted] != one:
                    last[wanted] = one
                    out[wanted, step[i]] += 1
