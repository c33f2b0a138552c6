"""Which values do the columns of two tables share? Every column once, in one dictionary's numbers.

The time grows with the cells that are encoded, and then with the pairs of columns: a pair costs a
look-up for each distinct value of the smaller column, and at most `SAMPLE` of them, so that 200
columns by 200 take seconds.

Of tables with more than `FEW_CELLS` only the columns that may join are encoded as a whole. A sample
of s rows of each tells: of two keys of n rows that share a part p of their values the samples share
p s^2 / n, with s = 20,000 and n = 1 million 400 p, so that a pair which shares a twentieth is
overlooked once in 10^8 times. Those that share most then come first, up to `MOST_CELLS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.lake.columns import encode_query
from lakejoin.lake.texts import TextTable
from lakejoin.model import ColumnData, ColumnProfile, ColumnType, ValueRules, null_id

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

SAMPLE = 10_000  # values of a column that are looked up in another; all of them if it has no more
FEW_CELLS = 2_000_000  # of a table that are encoded without asking a sample
MOST_CELLS = 6_000_000
SAMPLED_ROWS = 20_000
_NOTHING_TO_JOIN = (ColumnType.EMPTY, ColumnType.BOOLEAN)
NO_VALUE = -1


@dataclass(frozen=True, eq=False)
class Coded:
    """A column whose distinct values are numbers of the dictionary that all columns share."""

    name: str
    data: ColumnData
    codes: Array

    @property
    def profile(self) -> ColumnProfile:
        """What it looks like."""
        return self.data.profile

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def rows(self) -> Array:
        """The number of the value of every row, `NO_VALUE` for nulls."""
        column = self.data
        by_id = np.concatenate([self.codes, self.codes[column.spelling_token], [NO_VALUE]])
        nulls = column.cells == null_id(column.cells.dtype)
        return np.asarray(by_id[np.where(nulls, len(by_id) - 1, column.cells)])


@dataclass(frozen=True, eq=False)
class SharedValues:
    """The columns of two tables, and how many distinct values each pair of them shares.

    `shared[i, j]` is exact where one of the two has no more than `SAMPLE` values, else an
    estimate from so many of the smaller one.
    """

    left: tuple[Coded, ...]
    right: tuple[Coded, ...]
    size: int
    shared: Array


def shared_values(left: pa.Table, right: pa.Table, rules: ValueRules) -> SharedValues:
    """What the columns of two tables share.

    >>> import pyarrow as pa
    >>> mine = pa.table({"town": ["Bern", "Ulm"], "people": [134, 126]})
    >>> found = shared_values(mine, pa.table({"place": ["ulm ", "Bonn"]}), ValueRules())
    >>> [column.name for column in found.left], found.shared.tolist()
    (['town', 'people'], [[1], [0]])
    """
    left, right = (table.select(_named_once(table)) for table in (left, right))
    if max(left.num_rows * left.num_columns, right.num_rows * right.num_columns) > FEW_CELLS:
        sampled = _encoded(_some_rows(left, 0), _some_rows(right, 1), rules)
        left, right = _likeliest(left, right, sampled)
    return _encoded(left, right, rules)


def _encoded(left: pa.Table, right: pa.Table, rules: ValueRules) -> SharedValues:
    dictionary = TextTable()
    mine, theirs = (
        tuple(_coded(table, name, rules, dictionary) for name in table.column_names)
        for table in (left, right)
    )
    return SharedValues(mine, theirs, dictionary.count, _shared(mine, theirs, dictionary.count))


def _coded(table: pa.Table, name: str, rules: ValueRules, dictionary: TextTable) -> Coded:
    data = encode_query(table[name], rules)
    return Coded(name, data, dictionary.add(data.tokens).astype(np.int64))


def _named_once(table: pa.Table) -> list[str]:
    """The columns with a name of their own: a join cannot be told by any other."""
    found = Counter(table.column_names)
    return [name for name in table.column_names if found[name] == 1]


def _some_rows(table: pa.Table, seed: int) -> pa.Table:
    """Rows drawn at random: not the same ones of both tables, which may be in the same order."""
    if table.num_rows <= SAMPLED_ROWS:
        return table
    rows = np.random.default_rng(seed).choice(table.num_rows, SAMPLED_ROWS, replace=False)
    return table.take(np.sort(rows))


def _likeliest(left: pa.Table, right: pa.Table, sampled: SharedValues) -> tuple[pa.Table, pa.Table]:
    """The columns that share values in the samples, those that share most first."""
    pairs = []
    for i, j in np.argwhere(sampled.shared > 0).tolist():
        mine, theirs = sampled.left[i], sampled.right[j]
        if mine.profile.type in _NOTHING_TO_JOIN or theirs.profile.type in _NOTHING_TO_JOIN:
            continue
        # Of a column whose values repeat, the sample has nearly all of them; of a key, its share.
        most = min(
            len(mine) * _seen(theirs, right.num_rows), len(theirs) * _seen(mine, left.num_rows)
        )
        share = min(1.0, int(sampled.shared[i, j]) / max(most, 1.0))
        keys = max(mine.profile.key_likeness, theirs.profile.key_likeness)
        # Numbers meet by chance; what is named alike, or is text, is more likely to be a key.
        told = mine.profile.type is ColumnType.TEXT or mine.name.lower() == theirs.name.lower()
        pairs.append((share * (0.2 + keys) * (1.0 if told else 0.5), mine.name, theirs.name))
    pairs.sort(key=lambda pair: pair[0], reverse=True)
    chosen = []
    for table, side in ((left, 1), (right, 2)):
        room = max(1, MOST_CELLS // max(table.num_rows, 1))
        wanted = set(list(dict.fromkeys(str(pair[side]) for pair in pairs))[:room])
        chosen.append(table.select([name for name in table.column_names if name in wanted]))
    return chosen[0], chosen[1]


def _seen(column: Coded, rows: int) -> float:
    """About what share of a column's distinct values a sample of its rows has."""
    return float((column.profile.rows / max(rows, 1)) ** column.profile.uniqueness)


def _shared(left: Sequence[Coded], right: Sequence[Coded], size: int) -> Array:
    """How many values each pair shares: a sample of the smaller one looked up in the larger."""
    shared = np.zeros((len(left), len(right)), np.int64)
    for one, other, table in ((left, right, shared), (right, left, shared.T)):
        samples = [_sampled(column.codes) for column in other]
        held = np.zeros(size, np.bool_)
        for i, column in enumerate(one):
            held[column.codes] = True
            for j, smaller in enumerate(other):
                first = table is shared
                if len(smaller) < len(column) or (first and len(smaller) == len(column)):
                    met = int(np.count_nonzero(held[samples[j]]))
                    table[i, j] = round(met * len(smaller) / max(len(samples[j]), 1))
            held[column.codes] = False
    return shared


def _sampled(codes: Array) -> Array:
    if len(codes) <= SAMPLE:
        return codes
    return np.random.default_rng(0).choice(codes, SAMPLE, replace=False)
