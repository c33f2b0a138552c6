"""What does a predicate over several tables count? Its join is never made, only summed up.

Columns that a predicate makes equal, directly or by others, are one *variable*. Each table is a
*factor*: the distinct values of its variables, and in how many rows each stands. A factor whose
shared variables all stand in another one is folded into it: its sums, by the values of those
variables, multiply the other's. One factor is left in the end, and its sums are the join's
(Yannakakis' algorithm, with sums in place of rows). Where the variables go round in a circle none
can be folded; then the two whose join is smallest are joined, unless even that is too large. What
is left is handed back in the opposite order, which tells the rows that are involved.

Time grows with the rows of the tables (and of those joins in a circle), not with those of the join.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log2, prod
from typing import Any

import numpy as np

from lakejoin.joins.predicates.coded import CodedTables
from lakejoin.joins.predicates.facts import Facts, bits

Array = np.ndarray[Any, Any]
Column = tuple[int, int]  # the numbers of a table and of one of its columns
ColumnPair = tuple[Column, Column]

_LARGEST = 2_000_000  # rows of a join in a circle
_EXACT = 2.0**53  # up to here floating-point numbers hold every integer


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """For each row of a factor, of all keys it stands for: how many, the rows w that each makes,
    and w log2 w."""

    keys: Array
    rows: Array
    weighted: Array

    def times(self, other: _Sums) -> _Sums:
        """The sums of rows that are joined one by one."""
        mine, theirs = self.rows.astype(np.float64), other.rows.astype(np.float64)
        weighted = self.weighted * theirs + other.weighted * mine
        return _Sums(self.keys * other.keys, self.rows * other.rows, weighted)

    def at(self, places: Array) -> _Sums:
        return _Sums(self.keys[places], self.rows[places], self.weighted[places])

    def by(self, numbers: Array, count: int) -> _Sums:
        """Added up by a number of each row."""
        parts = (self.keys, self.rows, self.weighted)
        return _Sums(*(_added(part, numbers, count) for part in parts))


@dataclass(eq=False)
class _Factor:
    """Values of variables, a row each, with their sums, which are zero for those that meet none.

    `counts` are the rows of its table; `parts` are the factors that it was joined from, with the
    places in them. `left` tells in the end which of its rows are in the join.
    """

    values: dict[int, Array]
    sums: _Sums
    table: int = -1
    counts: Array | None = None
    parts: tuple[tuple[_Factor, Array], ...] = ()
    left: Array | None = None

    def shares(self, other: _Factor) -> list[int]:
        return [variable for variable in self.values if variable in other.values]


class TooLarge(Exception):
    """A predicate goes round in a circle of columns with few values, and cannot be summed up."""


Fold = tuple[_Factor, _Factor]  # what was folded, and into what


class JoinTrees:
    """Predicates over some tables, counted by folding.

    >>> from lakejoin.joins.predicates.coded import coded_tables
    >>> import pyarrow as pa
    >>> a, b = pa.table({"x": [1, 1, 2]}), pa.table({"x": [1, 2, 3], "y": [7, 7, 8]})
    >>> trees = JoinTrees(coded_tables([a, b, pa.table({"y": [7, 7, 9]})]))
    >>> facts = trees.facts([((0, 0), (1, 0)), ((1, 1), (2, 0))])
    >>> facts.involved, facts.groups, facts.inner
    ((3, 2, 2), 2, 6)
    """

    def __init__(self, coded: CodedTables) -> None:
        self._tables = coded.tables
        self._count = max(coded.count, 1)
        self.sizes = tuple(table.rows for table in coded.tables)

    def facts(self, pairs: Iterable[ColumnPair]) -> Facts:
        """What the join counts; tables that no pair connects multiply each other."""
        variables = variables_of(pairs)
        facts = self._counted(variables, exact=False)
        return facts if facts.inner < _EXACT else self._counted(variables, exact=True)

    def _counted(self, variables: dict[Column, int], exact: bool) -> Facts:
        used = sorted({table for table, _ in variables})
        roots, folds = self._folded([self._factor(table, variables, exact) for table in used])
        keys, rows, entropy = _total(roots)
        others = [size for table, size in enumerate(self.sizes) if table not in used]
        inner = rows * prod(others)
        if not inner:
            return Facts(self.sizes, (0,) * len(self.sizes), 0, 0, 0.0, 0)
        involved = dict(enumerate(self.sizes)) | self._involved(roots, folds)
        return Facts(self.sizes, tuple(involved.values()), keys, inner, entropy, inner)

    def _factor(self, number: int, variables: dict[Column, int], exact: bool) -> _Factor:
        """The distinct values of a table's variables, and how many rows hold each."""
        codes = self._tables[number].codes
        columns: dict[int, list[Array]] = {}
        for (table, column), variable in variables.items():
            if table == number:
                columns.setdefault(variable, []).append(codes[column])
        rows = _rows_that_agree(list(columns.values()))
        values = {name: same[0][rows].astype(np.int64) for name, same in columns.items()}
        if len(values) == 1:
            [(name, only)] = values.items()
            counts = np.bincount(only, minlength=self._count)
            values = {name: np.flatnonzero(counts)}
            counts = counts[values[name]]
        else:
            numbers, count = _numbered(list(values.values()))
            some = np.empty(count, np.int64)
            some[numbers] = np.arange(len(numbers))
            values = {name: column[some] for name, column in values.items()}
            counts = np.bincount(numbers, minlength=count)
        return _Factor(values, _first_sums(counts, exact), number, counts)

    def _folded(self, factors: list[_Factor]) -> tuple[list[_Factor], list[Fold]]:
        """The factors that are left and share nothing, and what was folded, in order."""
        folds = []
        while True:
            if (ear := _ear(factors)) is not None:
                leaf, into = ear
                mine, theirs, count = self._numbers(leaf, into)
                into.sums = into.sums.times(leaf.sums.by(mine, count).at(theirs))
                factors = [one for one in factors if one is not leaf]
                folds.append(ear)
            elif (circle := self._smallest_join(factors)) is not None:
                factors = [one for one in factors if one not in circle]
                factors.append(self._joined(*circle))
            else:
                return factors, folds

    def _smallest_join(self, factors: Sequence[_Factor]) -> tuple[_Factor, _Factor] | None:
        """The two factors that share variables and have the smallest join."""
        pairs = [pair for pair in combinations(factors, 2) if pair[0].shares(pair[1])]
        if not pairs:
            return None
        sizes = [self._join_size(*pair) for pair in pairs]
        if min(sizes) > _LARGEST:
            raise TooLarge
        return pairs[sizes.index(min(sizes))]

    def _join_size(self, one: _Factor, other: _Factor) -> float:
        mine, theirs, count = self._numbers(one, other)
        rows = (
            np.bincount(numbers[side.sums.rows > 0], minlength=count).astype(np.float64)
            for numbers, side in ((mine, one), (theirs, other))
        )
        return float(np.dot(*rows))

    def _joined(self, one: _Factor, other: _Factor) -> _Factor:
        """Two factors joined on the variables that they share."""
        mine, theirs, count = self._numbers(one, other)
        left, right = _meeting(
            np.where(one.sums.rows > 0, mine, count), np.where(other.sums.rows > 0, theirs, -1)
        )
        values = {name: column[right] for name, column in other.values.items()}
        values |= {name: column[left] for name, column in one.values.items()}
        sums = one.sums.at(left).times(other.sums.at(right))
        return _Factor(values, sums, parts=((one, left), (other, right)))

    def _numbers(self, one: _Factor, other: _Factor) -> tuple[Array, Array, int]:
        """The values of shared variables as numbers, the same in both factors; how many."""
        shared = one.shares(other)
        if len(shared) == 1:  # they are numbers already
            return one.values[shared[0]], other.values[shared[0]], self._count
        columns = [np.concatenate([one.values[name], other.values[name]]) for name in shared]
        numbers, count = _numbered(columns)
        split = len(one.values[shared[0]])
        return numbers[:split], numbers[split:], count

    def _involved(self, roots: Sequence[_Factor], folds: Sequence[Fold]) -> dict[int, int]:
        """How many rows of each table are in the join, from the last fold back to the first."""
        rows: dict[int, int] = {}
        for root in roots:
            _hand_back(root, root.sums.rows > 0, rows)
        for leaf, into in reversed(folds):
            mine, theirs, count = self._numbers(leaf, into)
            held = np.zeros(count, np.bool_)
            held[theirs[into.left]] = True
            _hand_back(leaf, held[mine] & (leaf.sums.rows > 0), rows)
        return rows


def variables_of(pairs: Iterable[ColumnPair]) -> dict[Column, int]:
    """A number for each column of a predicate: the same for those that it makes equal.

    >>> variables_of([((0, 0), (1, 0)), ((1, 0), (2, 5)), ((0, 1), (2, 2))])
    {(0, 0): 0, (1, 0): 0, (2, 5): 0, (0, 1): 1, (2, 2): 1}
    """
    of: dict[Column, set[Column]] = {}
    for one, other in pairs:
        both = of.get(one, {one}) | of.get(other, {other})
        for column in sorted(both):
            of[column] = both
    numbers: dict[int, int] = {}
    return {column: numbers.setdefault(id(both), len(numbers)) for column, both in of.items()}


def _rows_that_agree(variables: Sequence[Sequence[Array]]) -> Array:
    """The rows where every column has a value, and those of one variable the same."""
    agree = np.ones(len(variables[0][0]), np.bool_)
    for same in variables:
        agree &= same[0] >= 0
        for column in same[1:]:
            agree &= column == same[0]
    return np.flatnonzero(agree)


def _first_sums(counts: Array, exact: bool) -> _Sums:
    rows = counts.astype(object if exact else np.float64)
    keys = np.ones(len(counts), rows.dtype)
    return _Sums(keys, rows, counts * np.log2(np.maximum(counts, 1)))


def _total(roots: Sequence[_Factor]) -> tuple[int, int, float]:
    """The keys, the rows and the entropy of all together."""
    keys, rows, entropy = 1, 1, 0.0
    for root in roots:
        mine = int(root.sums.rows.sum())
        keys, rows = keys * int(root.sums.keys.sum()), rows * mine
        if mine:  # of what is independent, entropies add up
            entropy += log2(mine) - float(root.sums.weighted.sum()) / mine
    return keys, rows, bits(entropy)


def _ear(factors: Sequence[_Factor]) -> Fold | None:
    """A factor and another that has all variables which the first shares with any."""
    for leaf in factors:
        others = [one for one in factors if one is not leaf]
        shared = {name for one in others for name in leaf.shares(one)}
        for into in others if shared else ():
            if shared <= into.values.keys():
                return leaf, into
    return None


def _hand_back(factor: _Factor, left: Array, rows: dict[int, int]) -> None:
    """Tells a factor, and those that it was joined from, which of their rows are in the join."""
    factor.left = left
    if factor.counts is not None:
        rows[factor.table] = int(factor.counts[left].sum())
    for part, places in factor.parts:
        mine = np.zeros(len(part.sums.rows), np.bool_)
        mine[places[left]] = True
        _hand_back(part, mine, rows)


def _numbered(columns: Sequence[Array]) -> tuple[Array, int]:
    """A number for each distinct row of some columns; how many there are."""
    numbers, count = columns[0], 0
    for column in columns[1:]:
        both = numbers * (int(column.max(initial=0)) + 1) + column
        distinct, numbers = np.unique(both, return_inverse=True)
        count = len(distinct)
    return numbers, count


def _meeting(left: Array, right: Array) -> tuple[Array, Array]:
    """All pairs of places with the same number."""
    order = np.argsort(right, kind="stable")
    begin = np.searchsorted(right[order], left, "left")
    sizes = np.searchsorted(right[order], left, "right") - begin
    mine = np.repeat(np.arange(len(left)), sizes)
    ends = np.cumsum(sizes)
    within = np.arange(len(mine)) - np.repeat(ends - sizes, sizes)
    return mine, order[np.repeat(begin, sizes) + within]


def _added(part: Array, numbers: Array, count: int) -> Array:
    if part.dtype == object:
        total = np.zeros(count, object)
        np.add.at(total, numbers, part)
        return total
    return np.bincount(numbers, part, count)
