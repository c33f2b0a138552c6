"""Count the distinct values that the columns of two tables share.

Every column is encoded once, with one dictionary. Time grows with the encoded cells, and then with
the pairs of columns: a pair costs a lookup for each distinct value of the smaller column, at most
`SAMPLE` of them, so that 200 by 200 columns take seconds.

Of tables with more than `FEW_CELLS`, only the columns that may join are encoded completely. These
are chosen by samples of s rows: if two keys of n rows share a part p of their values, the samples
share p s^2 / n, which is 400 p for s = 20,000 and n = 1 million, so that a pair which shares a
twentieth is missed once in 10^8 times. Pairs that share the most come first, up to `MOST_CELLS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.row_keys import spread_values
from lakejoin.model import Array, ColumnData, ColumnProfile, ColumnType, ValueRules
from lakejoin.values.column_encoder import encode_query
from lakejoin.values.text_arrays import TextTable

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE = 10_000  # most values of a column to look up in another
FEW_CELLS = 2_000_000  # cells of a table up to which no sample is needed
MOST_CELLS = 6_000_000
SAMPLED_ROWS = 20_000
_NOTHING_TO_JOIN = (ColumnType.EMPTY, ColumnType.BOOLEAN)
NO_VALUE = -1
_UNIQUE = 0.99  # of a key that numbers refer to, and of the values that do
_SEVERAL = 10  # values; fewer may be any counts or ratings
_GAPS = 5.0  # times the usual distance of two values
_USED = 0.5  # least share of the key that is referred to


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """A column whose distinct values are codes of the dictionary shared by all columns."""

    name: str
    data: ColumnData
    codes: Array

    @property
    def profile(self) -> ColumnProfile:
        """The profile of the column."""
        return self.data.profile

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def rows(self) -> Array:
        """The code of every row's value, `NO_VALUE` for nulls."""
        return spread_values(self.data, self.codes, NO_VALUE)


@dataclass(frozen=True, eq=False)
class ColumnOverlaps:
    """The columns of two tables, and how many distinct values each pair of them shares.

    `shared[i, j]` is exact if one of the two has at most `SAMPLE` values, else an estimate from
    `SAMPLE` values of the smaller one.
    """

    left: tuple[EncodedColumn, ...]
    right: tuple[EncodedColumn, ...]
    size: int
    shared: Array


def count_shared_values(left: pa.Table, right: pa.Table, rules: ValueRules) -> ColumnOverlaps:
    """Count what the columns of two tables share.

    >>> import pyarrow as pa
    >>> towns = pa.table({"town": ["Bern", "Ulm"], "people": [134, 126]})
    >>> values = count_shared_values(towns, pa.table({"city": ["ulm ", "Bonn"]}), ValueRules())
    >>> [column.name for column in values.left], values.shared.tolist()
    (['town', 'people'], [[1], [0]])
    """
    left, right = (table.select(uniquely_named(table)) for table in (left, right))
    if max(left.num_rows * left.num_columns, right.num_rows * right.num_columns) > FEW_CELLS:
        sampled = _encode_tables(_some_rows(left, 0), _some_rows(right, 1), rules)
        left, right = _choose_columns(left, right, sampled)
    return _encode_tables(left, right, rules)


def _encode_tables(left: pa.Table, right: pa.Table, rules: ValueRules) -> ColumnOverlaps:
    dictionary = TextTable()
    left_columns, right_columns = (
        tuple(encode_column(name, table[name], rules, dictionary) for name in table.column_names)
        for table in (left, right)
    )
    return ColumnOverlaps(
        left_columns,
        right_columns,
        dictionary.count,
        _count_shared(left_columns, right_columns, dictionary.count),
    )


def encode_column(
    name: str, cells: pa.ChunkedArray, rules: ValueRules, dictionary: TextTable
) -> EncodedColumn:
    """Encode a column, adding its values to the dictionary."""
    data = encode_query(cells, rules)
    return EncodedColumn(name, data, dictionary.add(data.tokens).astype(np.int64))


def may_refer(
    child: EncodedColumn, parent: EncodedColumn, matches: int, used: float = _USED
) -> bool:
    """Whether a column of whole numbers may refer to a key that it is contained in.

    `matches` of its distinct values are in the key. They must be nearly all of them, not too few,
    be so much `used` of the key, and not just count the rows of their table.
    """
    if {child.profile.type, parent.profile.type} != {ColumnType.INTEGER}:
        return False
    if matches < _UNIQUE * len(child) or parent.profile.uniqueness < _UNIQUE:
        return False
    if len(child) < max(_SEVERAL, used * len(parent)):
        return False
    ends, key_ends = _ends(child), _ends(parent)
    if ends is None or key_ends is None:
        return False
    (low, high), (key_low, key_high) = ends, key_ends
    counts = child.profile.uniqueness >= _UNIQUE and len(child) >= _UNIQUE * (high - low + 1)
    # References begin and end about where the key does; lengths and minutes need not.
    gap = _GAPS * (key_high - key_low + 1) / len(child)
    return not counts and low - key_low <= gap and key_high - high <= gap


def counts_rows(column: EncodedColumn) -> bool:
    """Whether a column numbers the rows of its table from 0 or 1 on."""
    if column.profile.type is not ColumnType.INTEGER or column.profile.uniqueness < 1.0:
        return False
    low, high = _ends(column) or (-1, -1)
    return low in (0, 1) and high - low + 1 == len(column)


def _ends(column: EncodedColumn) -> tuple[int, int] | None:
    """The smallest and the largest whole number of a column; None beyond 76 digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for kind in (pa.int64(), pa.decimal256(76)):
        try:
            ends = pc.min_max(column.data.tokens.cast(kind))
        except pa.ArrowException:
            continue
        return int(ends["min"].as_py()), int(ends["max"].as_py())
    return None


def uniquely_named(table: pa.Table) -> list[str]:
    """The columns with a unique name: only these can be named in a join."""
    counts = Counter(table.column_names)
    return [name for name in table.column_names if counts[name] == 1]


def _some_rows(table: pa.Table, seed: int) -> pa.Table:
    """Random rows; different ones for each table, as both may be in the same order."""
    if table.num_rows <= SAMPLED_ROWS:
        return table
    rows = np.random.default_rng(seed).choice(table.num_rows, SAMPLED_ROWS, replace=False)
    return table.take(np.sort(rows))


def _choose_columns(
    left: pa.Table, right: pa.Table, sampled: ColumnOverlaps
) -> tuple[pa.Table, pa.Table]:
    """The columns that share values in the samples, those that share the most first."""
    pairs = []
    for i, j in np.argwhere(sampled.shared > 0).tolist():
        left_column, right_column = sampled.left[i], sampled.right[j]
        if (
            left_column.profile.type in _NOTHING_TO_JOIN
            or right_column.profile.type in _NOTHING_TO_JOIN
        ):
            continue
        # The sample has nearly all values of a column that repeats them, but few of a key.
        most = min(
            len(left_column) * _seen_share(right_column, right.num_rows),
            len(right_column) * _seen_share(left_column, left.num_rows),
        )
        share = min(1.0, int(sampled.shared[i, j]) / max(most, 1.0))
        keys = max(left_column.profile.key_likeness, right_column.profile.key_likeness)
        # Numbers match by chance; text, or columns of the same name, are more likely keys.
        likely = (
            left_column.profile.type is ColumnType.TEXT
            or left_column.name.lower() == right_column.name.lower()
        )
        pairs.append(
            (share * (0.2 + keys) * (1.0 if likely else 0.5), left_column.name, right_column.name)
        )
    pairs.sort(key=lambda pair: pair[0], reverse=True)
    chosen = []
    for table, side in ((left, 1), (right, 2)):
        room = max(1, MOST_CELLS // max(table.num_rows, 1))
        names = set(list(dict.fromkeys(str(pair[side]) for pair in pairs))[:room])
        chosen.append(table.select([name for name in table.column_names if name in names]))
    return chosen[0], chosen[1]


def _seen_share(column: EncodedColumn, rows: int) -> float:
    """The approximate share of a column's distinct values that a sample of its rows has."""
    return float((column.profile.rows / max(rows, 1)) ** column.profile.uniqueness)


def _count_shared(
    left: Sequence[EncodedColumn], right: Sequence[EncodedColumn], size: int
) -> Array:
    """Count the shared values of each pair by looking up the smaller column in the larger."""
    shared = np.zeros((len(left), len(right)), np.int64)
    for larger_side, smaller_side, table in ((left, right, shared), (right, left, shared.T)):
        samples = [sample_codes(column.codes, SAMPLE) for column in smaller_side]
        present = np.zeros(size, np.bool_)
        for i, column in enumerate(larger_side):
            present[column.codes] = True
            for j, smaller in enumerate(smaller_side):
                first = table is shared
                if len(smaller) < len(column) or (first and len(smaller) == len(column)):
                    matches = int(np.count_nonzero(present[samples[j]]))
                    table[i, j] = round(matches * len(smaller) / max(len(samples[j]), 1))
            present[column.codes] = False
    return shared


def sample_codes(codes: Array, most: int) -> Array:
    """At most this many of the codes, always the same."""
    if len(codes) <= most:
        return codes
    return np.random.default_rng(0).choice(codes, most, replace=False)
