"""The joining groups of a predicate over two tables, and how a further pair splits them.

A predicate is a set of pairs of columns that must be equal; rows with the same values in all of
them form a group. A further pair only splits groups, so its join is computed from the rows still in
one (section V-C of the paper). If every group has a single row of one table (because a key is among
the pairs), nothing is split: each row of the other table has one match, which a further pair
keeps or drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from lakejoin.joins.predicates.coded_tables import CodedTables
from lakejoin.joins.predicates.preferences import Facts, rounded_bits
from lakejoin.model import Array

Codes = tuple[Array, Array]  # of a pair of columns, left and right
Columns = tuple[Array, Array]  # the codes of all columns of both tables

_FEWEST_SLOTS = 16
_MANY_SPLITS = 1 << 14
_UNLIMITED = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """Rows of both tables with the id of their group, and `some` row of each group."""

    rows: tuple[Array, Array]
    group_ids: tuple[Array, Array]
    some: tuple[Array, Array]

    def facts(self, pair: Codes, sizes: tuple[int, int]) -> Facts:
        return _split(self, pair, sizes)[0]

    def with_pair(self, pair: Codes, sizes: tuple[int, int]) -> Groups:
        from lakejoin.kernels.predicate_groups import collect_slot_rows, index_slots

        facts, counts, slots = _split(self, pair, sizes)
        group_ids = np.empty(len(counts[0]), np.int32)
        index_slots(*counts, group_ids)
        sides = []
        for rows, row_slots, involved in zip(self.rows, slots, facts.involved, strict=True):
            remaining = np.empty(involved, np.int32), np.empty(involved, np.int32)
            collect_slot_rows(rows, row_slots, group_ids, *remaining)
            sides.append(remaining)
        return _build_groups(sides[0], sides[1], facts)

    def find_implied(self, columns: Columns, pairs: Array) -> Array:
        """Which of these pairs of column indices are equal in all rows of the join already."""
        from lakejoin.kernels.predicate_groups import find_equal_columns

        implied = np.empty(len(pairs), np.bool_)
        left, right = zip(self.rows, self.group_ids, self.some, columns, strict=True)
        find_equal_columns(*left, *right, pairs, implied)
        return implied


@dataclass(frozen=True, slots=True, eq=False)
class KeyedRows:
    """Rows of one table, each with its only match in the other table, `key`."""

    key: int
    rows: Array
    partners: Array

    def facts(self, pair: Codes, sizes: tuple[int, int]) -> Facts:
        from lakejoin.kernels.predicate_groups import count_partner_rows

        counts = np.zeros(sizes[self.key], np.int32)
        many, key = pair[1 - self.key], pair[self.key]
        sums, weighted = count_partner_rows(self.rows, self.partners, many, key, counts)
        return facts_of(sums, weighted, sizes, swapped=self.key == 0)

    def with_pair(self, pair: Codes, sizes: tuple[int, int]) -> Groups:
        """The rows that a further pair keeps."""
        from lakejoin.kernels.predicate_groups import collect_partner_rows

        many, key = pair[1 - self.key], pair[self.key]
        count = self.facts(pair, sizes).inner
        rows, partners = np.empty(count, np.int32), np.empty(count, np.int32)
        collect_partner_rows(self.rows, self.partners, many, key, rows, partners)
        return KeyedRows(self.key, rows, partners)

    def find_implied(self, columns: Columns, pairs: Array) -> Array:
        from lakejoin.kernels.predicate_groups import find_equal_key_columns

        implied = np.empty(len(pairs), np.bool_)
        many, key = columns[1 - self.key], columns[self.key]
        ordered = np.ascontiguousarray(pairs[:, [1 - self.key, self.key]])
        find_equal_key_columns(self.rows, many, self.partners, key, ordered, implied)
        return implied


Groups = GroupedRows | KeyedRows


class SinglePairs:
    """The single pairs of columns of two tables that share a value.

    A pair is counted from the distinct values of its columns and their counts, without its rows.
    """

    def __init__(self, coded: CodedTables) -> None:
        self.coded = coded
        left, right = coded.tables
        self.sizes = left.rows, right.rows
        self._counted = tuple(
            tuple(_counted(codes, coded.count) for codes in table.codes) for table in coded.tables
        )

    def facts(self) -> dict[tuple[int, int], Facts]:
        """The facts of each pair that shares a value."""
        from lakejoin.kernels.predicate_groups import sum_column_pair

        facts_of_pairs = {}
        for i, (codes, counts) in enumerate(self._counted[0]):
            if not len(codes):
                continue
            dense = _dense(codes, counts, self.coded.count)
            for j, (right_codes, right_counts) in enumerate(self._counted[1]):
                sums, weighted = sum_column_pair(dense, right_codes, right_counts)
                facts = facts_of(sums, weighted, self.sizes)
                if facts.groups:
                    facts_of_pairs[i, j] = facts
        return facts_of_pairs

    @property
    def columns(self) -> Columns:
        left, right = self.coded.tables
        return left.codes, right.codes

    def codes(self, pair: tuple[int, int]) -> Codes:
        left, right = self.coded.tables
        return left.codes[pair[0]], right.codes[pair[1]]

    def groups(self, pair: tuple[int, int], facts: Facts) -> Groups:
        from lakejoin.kernels.predicate_groups import collect_group_rows, index_shared_codes

        dense = _dense(*self._counted[0][pair[0]], self.coded.count)
        group_ids = np.full(self.coded.count, -1, np.int32)
        index_shared_codes(dense, self._counted[1][pair[1]][0], group_ids)
        sides = []
        for codes, involved in zip(self.codes(pair), facts.involved, strict=True):
            rows = np.empty(involved, np.int32), np.empty(involved, np.int32)
            collect_group_rows(codes, group_ids, *rows)
            sides.append(rows)
        return _build_groups(sides[0], sides[1], facts)


def most_splits(columns: Columns, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """The most groups into which each pair, together with all later ones, can split a group.

    That is the number of distinct rows of a table in the columns of these pairs. More than
    `_MANY_SPLITS` is not counted, as it would not help.
    """
    splits = [_UNLIMITED] * len(pairs)
    for side, codes in enumerate(columns):
        numbers = np.zeros(codes.shape[1], np.int32)
        counted: set[int] = set()
        count = 1
        for index in reversed(range(len(pairs))):
            column = pairs[index][side]
            if column not in counted:
                counted.add(column)
                count = _add_column(numbers, codes[column])
            if count < 0:
                break
            splits[index] = min(splits[index], count)
    return splits


def _add_column(numbers: Array, codes: Array) -> int:
    from lakejoin.kernels.predicate_groups import index_distinct_rows

    keys = np.full(4 * _MANY_SPLITS, -1, np.int64)
    return int(index_distinct_rows(numbers, codes, keys, _MANY_SPLITS))


def facts_of(sums: Array, weighted: float, sizes: tuple[int, int], swapped: bool = False) -> Facts:
    """The facts from a kernel's sums; `swapped` if its first side is the second table."""
    first, second, groups, most_groups, high, low = (int(number) for number in sums)
    inner = (high << 64) | low
    entropy = rounded_bits(log2(inner) - weighted / inner) if inner else 0.0
    involved = (second, first) if swapped else (first, second)
    return Facts(sizes, involved, groups, inner, entropy, most_groups)


def _counted(codes: Array, count: int) -> tuple[Array, Array]:
    """The distinct codes of a column, ascending, and the number of rows of each."""
    from lakejoin.kernels.predicate_groups import count_codes

    counts = np.zeros(count, np.int32)
    count_codes(codes, counts)
    distinct = np.flatnonzero(counts).astype(np.int32)
    return distinct, counts[distinct]


def _dense(codes: Array, counts: Array, count: int) -> Array:
    dense = np.zeros(count, np.int32)
    dense[codes] = counts
    return dense


def _split(
    groups: GroupedRows, pair: Codes, sizes: tuple[int, int]
) -> tuple[Facts, tuple[Array, Array], tuple[Array, Array]]:
    """Split groups by a pair; returns the facts, counts by slot, and the slot of every row."""
    from lakejoin.kernels.predicate_groups import split_groups

    first = 0 if len(groups.rows[0]) <= len(groups.rows[1]) else 1
    a, b = first, 1 - first
    slots = max(_FEWEST_SLOTS, 1 << (2 * len(groups.rows[a]) - 1).bit_length())
    keys = np.full(slots, -1, np.int64)
    counts = np.zeros(slots, np.int32), np.zeros(slots, np.int32)
    row_slots = tuple(np.empty(len(rows), np.int32) for rows in groups.rows)
    sums, weighted = split_groups(
        groups.rows[a], groups.group_ids[a], pair[a], groups.rows[b], groups.group_ids[b], pair[b],
        keys, *counts, row_slots[a], row_slots[b],
    )  # fmt: skip
    facts = facts_of(sums, weighted, sizes, swapped=first == 1)
    return facts, counts, (row_slots[0], row_slots[1])


def _build_groups(left: tuple[Array, Array], right: tuple[Array, Array], facts: Facts) -> Groups:
    """The groups of rows with group ids; `KeyedRows` if one table is a key."""
    some = _some_rows(*left, facts.groups), _some_rows(*right, facts.groups)
    for key, many in ((0, right), (1, left)):
        if facts.involved[key] == facts.groups:
            return KeyedRows(key, many[0], some[key][many[1]])
    return GroupedRows((left[0], right[0]), (left[1], right[1]), some)


def _some_rows(rows: Array, numbers: Array, groups: int) -> Array:
    some = np.empty(groups, np.int32)
    some[numbers] = rows
    return some
