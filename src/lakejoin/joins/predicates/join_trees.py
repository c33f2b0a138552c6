"""Count the join of a predicate over several tables without making it.

Columns that a predicate makes equal, directly or through others, are one *variable*. Each table is
a *factor*: the distinct values of its variables, and the number of rows of each. A factor whose
shared variables all occur in another one is folded into it: its sums, by the values of those
variables, multiply the other's. In the end one factor remains, and its sums are the join's
(Yannakakis' algorithm, with sums in place of rows). If the variables form a cycle, none can be
folded; then the two factors with the smallest join are joined, unless even that is too large. A
second pass in the opposite order finds the involved rows.

Time grows with the rows of the tables (and of joins within cycles), not with those of the join.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log2, prod

import numpy as np

from lakejoin.joins.predicates.coded_tables import CodedTables
from lakejoin.joins.predicates.preferences import Facts, rounded_bits
from lakejoin.joins.row_keys import NO_KEY, Keys, Pairing
from lakejoin.model import Array

ColumnId = tuple[int, int]  # table index and column index
ColumnIdPair = tuple[ColumnId, ColumnId]

_LARGEST = 2_000_000  # rows of a join within a cycle
_EXACT = 2.0**53  # up to here, floating-point numbers represent every integer


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """For each row of a factor: how many keys it represents, and the sums of their rows w and of
    w log2 w."""

    keys: Array
    rows: Array
    weighted: Array

    def times(self, other: _Sums) -> _Sums:
        """The sums of two factors joined row by row."""
        rows, other_rows = self.rows.astype(np.float64), other.rows.astype(np.float64)
        weighted = self.weighted * other_rows + other.weighted * rows
        return _Sums(self.keys * other.keys, self.rows * other.rows, weighted)

    def at(self, positions: Array) -> _Sums:
        return _Sums(self.keys[positions], self.rows[positions], self.weighted[positions])

    def by(self, numbers: Array, count: int) -> _Sums:
        """Add up the rows of equal number."""
        arrays = (self.keys, self.rows, self.weighted)
        return _Sums(*(_sum_by(array, numbers, count) for array in arrays))


@dataclass(eq=False)
class _Factor:
    """Rows of variable values with their sums, which are zero for rows without a match.

    `counts` are the rows of its table; `parts` are the factors it was joined from, with the
    positions in them. `left` marks the rows that are in the final join.
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
    """A predicate has a cycle of columns with few values, and cannot be counted."""


Fold = tuple[_Factor, _Factor]  # the folded factor, and the one it was folded into


class JoinTrees:
    """Count predicates over tables by folding.

    >>> from lakejoin.joins.predicates.coded_tables import encode_tables
    >>> import pyarrow as pa
    >>> a, b = pa.table({"x": [1, 1, 2]}), pa.table({"x": [1, 2, 3], "y": [7, 7, 8]})
    >>> trees = JoinTrees(encode_tables([a, b, pa.table({"y": [7, 7, 9]})]))
    >>> facts = trees.facts([((0, 0), (1, 0)), ((1, 1), (2, 0))])
    >>> facts.involved, facts.groups, facts.inner
    ((3, 2, 2), 2, 6)
    """

    def __init__(self, coded: CodedTables) -> None:
        self._tables = coded.tables
        self._count = max(coded.count, 1)
        self.sizes = tuple(table.rows for table in coded.tables)

    def facts(self, pairs: Iterable[ColumnIdPair]) -> Facts:
        """The facts of a join; tables that no pair connects are multiplied."""
        variables = variables_of(pairs)
        facts = self._count_facts(variables, exact=False)
        return facts if facts.inner < _EXACT else self._count_facts(variables, exact=True)

    def _count_facts(self, variables: dict[ColumnId, int], exact: bool) -> Facts:
        used = sorted({table for table, _ in variables})
        roots, folds = self._fold_all([self._factor(table, variables, exact) for table in used])
        keys, rows, entropy = _total(roots)
        others = [size for table, size in enumerate(self.sizes) if table not in used]
        inner = rows * prod(others)
        if not inner:
            return Facts(self.sizes, (0,) * len(self.sizes), 0, 0, 0.0, 0)
        involved = dict(enumerate(self.sizes)) | self._count_involved(roots, folds)
        return Facts(self.sizes, tuple(involved.values()), keys, inner, entropy, inner)

    def _factor(self, index: int, variables: dict[ColumnId, int], exact: bool) -> _Factor:
        """The distinct values of a table's variables, and the number of rows of each."""
        codes = self._tables[index].codes
        columns: dict[int, list[Array]] = {}
        for (table, column), variable in variables.items():
            if table == index:
                columns.setdefault(variable, []).append(codes[column])
        rows = _rows_that_agree(list(columns.values()))
        values = {name: same[0][rows].astype(np.int64) for name, same in columns.items()}
        if len(values) == 1:
            [(name, only)] = values.items()
            counts = np.bincount(only, minlength=self._count)
            values = {name: np.flatnonzero(counts)}
            counts = counts[values[name]]
        else:
            numbers, count = _number_rows(list(values.values()))
            some = np.empty(count, np.int64)
            some[numbers] = np.arange(len(numbers))
            values = {name: column[some] for name, column in values.items()}
            counts = np.bincount(numbers, minlength=count)
        return _Factor(values, _first_sums(counts, exact), index, counts)

    def _fold_all(self, factors: list[_Factor]) -> tuple[list[_Factor], list[Fold]]:
        """Fold until no factors share a variable; returns the rest, and the folds in order."""
        folds = []
        while True:
            if (ear := _ear(factors)) is not None:
                leaf, into = ear
                leaf_numbers, numbers, count = self._number_shared(leaf, into)
                into.sums = into.sums.times(leaf.sums.by(leaf_numbers, count).at(numbers))
                factors = [factor for factor in factors if factor is not leaf]
                folds.append(ear)
            elif (pair := self._smallest_join(factors)) is not None:
                factors = [factor for factor in factors if factor not in pair]
                factors.append(self._join_factors(*pair))
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

    def _join_size(self, left: _Factor, right: _Factor) -> float:
        left_numbers, right_numbers, count = self._number_shared(left, right)
        rows = (
            np.bincount(numbers[factor.sums.rows > 0], minlength=count).astype(np.float64)
            for numbers, factor in ((left_numbers, left), (right_numbers, right))
        )
        return float(np.dot(*rows))

    def _join_factors(self, left: _Factor, right: _Factor) -> _Factor:
        left_numbers, right_numbers, count = self._number_shared(left, right)
        left_keys = np.where(left.sums.rows > 0, left_numbers, NO_KEY)
        right_keys = np.where(right.sums.rows > 0, right_numbers, NO_KEY)
        pairing = Pairing(Keys(left_keys, right_keys, count))
        left_at, right_at = pairing.rows(0, len(pairing))
        values = {name: column[right_at] for name, column in right.values.items()}
        values |= {name: column[left_at] for name, column in left.values.items()}
        sums = left.sums.at(left_at).times(right.sums.at(right_at))
        return _Factor(values, sums, parts=((left, left_at), (right, right_at)))

    def _number_shared(self, left: _Factor, right: _Factor) -> tuple[Array, Array, int]:
        """Number the values of the shared variables alike in both factors; and how many."""
        shared = left.shares(right)
        if len(shared) == 1:  # they are numbers already
            return left.values[shared[0]], right.values[shared[0]], self._count
        columns = [np.concatenate([left.values[name], right.values[name]]) for name in shared]
        numbers, count = _number_rows(columns)
        split = len(left.values[shared[0]])
        return numbers[:split], numbers[split:], count

    def _count_involved(self, roots: Sequence[_Factor], folds: Sequence[Fold]) -> dict[int, int]:
        """The rows of each table in the join, from the last fold back to the first."""
        rows: dict[int, int] = {}
        for root in roots:
            _mark_rows(root, root.sums.rows > 0, rows)
        for leaf, into in reversed(folds):
            leaf_numbers, numbers, count = self._number_shared(leaf, into)
            used = np.zeros(count, np.bool_)
            used[numbers[into.left]] = True
            _mark_rows(leaf, used[leaf_numbers] & (leaf.sums.rows > 0), rows)
        return rows


def variables_of(pairs: Iterable[ColumnIdPair]) -> dict[ColumnId, int]:
    """The variable of each column of a predicate: the same for columns that it makes equal.

    >>> variables_of([((0, 0), (1, 0)), ((1, 0), (2, 5)), ((0, 1), (2, 2))])
    {(0, 0): 0, (1, 0): 0, (2, 5): 0, (0, 1): 1, (2, 2): 1}
    """
    equal: dict[ColumnId, set[ColumnId]] = {}
    for left, right in pairs:
        columns = equal.get(left, {left}) | equal.get(right, {right})
        for column in sorted(columns):
            equal[column] = columns
    numbers: dict[int, int] = {}
    return {column: numbers.setdefault(id(same), len(numbers)) for column, same in equal.items()}


def _rows_that_agree(variables: Sequence[Sequence[Array]]) -> Array:
    """The rows without nulls in which all columns of a variable are equal."""
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
    """The keys, rows and entropy of the product of factors."""
    keys, rows, entropy = 1, 1, 0.0
    for root in roots:
        own_rows = int(root.sums.rows.sum())
        keys, rows = keys * int(root.sums.keys.sum()), rows * own_rows
        if own_rows:  # entropies of independent factors add up
            entropy += log2(own_rows) - float(root.sums.weighted.sum()) / own_rows
    return keys, rows, rounded_bits(entropy)


def _ear(factors: Sequence[_Factor]) -> Fold | None:
    """A factor, and another that has all variables the first shares with any factor."""
    for leaf in factors:
        others = [factor for factor in factors if factor is not leaf]
        shared = {name for factor in others for name in leaf.shares(factor)}
        for into in others if shared else ():
            if shared <= into.values.keys():
                return leaf, into
    return None


def _mark_rows(factor: _Factor, left: Array, rows: dict[int, int]) -> None:
    """Mark the rows of a factor, and of those it was joined from, that are in the join."""
    factor.left = left
    if factor.counts is not None:
        rows[factor.table] = int(factor.counts[left].sum())
    for part, positions in factor.parts:
        part_left = np.zeros(len(part.sums.rows), np.bool_)
        part_left[positions[left]] = True
        _mark_rows(part, part_left, rows)


def _number_rows(columns: Sequence[Array]) -> tuple[Array, int]:
    """Number the distinct rows of some columns; and how many there are."""
    numbers, count = columns[0], 0
    for column in columns[1:]:
        combined = numbers * (int(column.max(initial=0)) + 1) + column
        distinct, numbers = np.unique(combined, return_inverse=True)
        count = len(distinct)
    return numbers, count


def _sum_by(values: Array, numbers: Array, count: int) -> Array:
    if values.dtype == object:
        total = np.zeros(count, object)
        np.add.at(total, numbers, values)
        return total
    return np.bincount(numbers, values, count)
