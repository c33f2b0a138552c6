"""Find the pair, or the few pairs, of equal columns to join two tables by.

All pairs of columns are compared by their distinct values (`shared_values`). A pair is believed if
it shares more values than expected by chance (`chance`) or its names denote the same identifier
(`name_similarity`), and if it is a key of at least one side, so that the join does not multiply
rows. If one pair multiplies rows, further pairs are added (`key_extension`): a country and a year.

Cost: one pass over every cell, some lookups per pair of columns, and a few passes over the rows
for the best pairs; see `shared_values` for what is skipped in very large tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.equal.shared_values import ColumnOverlaps, EncodedColumn, count_shared_values
from lakejoin.joins.key_extension import extend_key, sample_matched_rows
from lakejoin.joins.row_keys import Keys, combine_keys, count_rows
from lakejoin.model import Array, ColumnProfile, ColumnType, ValueRules
from lakejoin.signals.chance import LEAST_CHANCE, evidence, match_chance
from lakejoin.signals.name_similarity import CONTAINED, VAGUE, NameSimilarity, compare_names
from lakejoin.text_format import format_percent

if TYPE_CHECKING:
    import pyarrow as pa

_CANDIDATES = 40  # pairs of columns to examine closely
_BASES = 4  # pairs to extend with further pairs

# What is believed. Evidence is in nats: five matching words give about 20.
_ENOUGH = 25.0
_OF_NAMES = 20.0  # evidence of equal names
_OF_IDENTIFIERS = 100.0  # of equal identifier names: no other columns beat them
_SOME = 3.5  # least evidence of the values, unless the names are identifiers
_MOST_EVIDENCE = 100.0
_SHARE = 0.65  # least share of the smaller column's values that match; fewer may be namesakes
_OF_LARGER = 0.2  # if fewer of the larger column's values match (states among schools) …
_SHARE_OF_FEW = 0.9  # … nearly all of the smaller one's must
_SHARE_IF_LONG = 0.3
_LONG = 10.0  # characters on average: longer texts have few namesakes
_SHARE_IF_ALIKE = 0.2
_SHARE_IF_ONLY_NAMES = 0.9
_MULTIPLIES = 1.5  # pairs per joined row of the larger side: 1 if the other side is a key
_KEY = 0.95
_YEARS = (1000, 2200)


@dataclass(frozen=True, eq=False)
class EqualColumns:
    """The columns to join two tables by, how many rows match, and whether to believe it.

    `on` are the pairs of names, all of which must be equal. `left_joined` and `right_joined` rows
    match in `pairs` pairs, through `shared` distinct keys. If it is not `believed`, it is only the
    best candidate. `why` gives the reason in one clause.
    """

    on: tuple[tuple[str, str], ...]
    left_joined: int
    right_joined: int
    pairs: int
    shared: int
    why: str
    believed: bool


def find_equal_columns(
    left: pa.Table,
    right: pa.Table,
    rules: ValueRules | None = None,
    table_names: tuple[str, str] = ("", ""),
) -> EqualColumns | None:
    """The best pairs of columns to join by; None if the tables share no value.

    The names of the `table_names`, if known, tell what an `id` column refers to.

    >>> import pyarrow as pa
    >>> towns = ["Bern", "Ulm", "Bonn", "Zug", "Graz", "Oslo", "Turin", "Lyon"]
    >>> left = pa.table({"no": range(8), "town": towns})
    >>> right = pa.table({"row": range(9), "city": ["Riga", *reversed(towns)]})
    >>> columns = find_equal_columns(left, right)
    >>> columns.on, columns.believed, columns.left_joined, columns.pairs
    ((('town', 'city'),), True, 8, 8)
    >>> columns.why
    'all 8 values of town are in city'
    """
    values = count_shared_values(left, right, rules or ValueRules())
    candidates = _candidates(values, table_names)
    if not candidates:
        return None
    alone = sorted((_Set((pair,)) for pair in candidates), key=_rank, reverse=True)
    grown = [_extend(base, values, candidates) for base in alone[:_BASES]]
    return max([*grown, *alone], key=_rank).result()


# -- one pair of columns ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pair:
    """A pair of columns, what they share, and how strong that is as evidence."""

    left: EncodedColumn
    right: EncodedColumn
    size: int  # of the dictionary
    share: float  # of the smaller column's values that match
    chance: float
    names: NameSimilarity

    @property
    def values(self) -> int:
        return min(len(self.left), len(self.right))

    @cached_property
    def evidence(self) -> float:
        return min(evidence(self.values, self.share, self.chance), _MOST_EVIDENCE)

    @cached_property
    def in_time(self) -> bool:
        return _in_time(self.left) and _in_time(self.right)

    @property
    def strength(self) -> float:
        if self.is_identifier:
            return _MOST_EVIDENCE + _OF_IDENTIFIERS * self.names.similarity + self.names.both_say_id
        return self.evidence + _OF_NAMES * self.names.similarity

    @property
    def is_identifier(self) -> bool:
        """Whether the names denote one identifier and the values do not contradict it."""
        return self.names.same_identifier and self.share >= _SHARE_IF_ONLY_NAMES

    def doubt(self) -> str:
        """Why the shared values prove nothing; "" if they do."""
        if self.in_time:
            return self._doubt_of_time()
        if self.is_identifier:
            return ""
        least = self._least_share
        if self.share < least:
            share = format_percent(self.share)
            return f"only {share} of the values of {self._smaller} are in {self._larger}"
        if self.evidence < _SOME and self.chance >= _SHARE * self.share:
            return f"{format_percent(self.chance)} of slightly changed values would match too"
        if self.evidence < _SOME or self.evidence + _OF_NAMES * self.names.similarity < _ENOUGH:
            return "too few values match to rule out coincidence"
        return ""

    @property
    def _least_share(self) -> float:
        if self.names.similarity >= CONTAINED:
            return _SHARE_IF_ALIKE
        shorter = min(self.left.profile.mean_length, self.right.profile.mean_length)
        if shorter >= _LONG:
            return _SHARE_IF_LONG
        larger = max(len(self.left), len(self.right))
        return _SHARE if self.share * self.values >= _OF_LARGER * larger else _SHARE_OF_FEW

    def _doubt_of_time(self) -> str:
        keys = min(self.left.profile.uniqueness, self.right.profile.uniqueness) >= _KEY
        if not keys or self.names.similarity < VAGUE or self.share < _SHARE:
            return "years and dates match in any two tables"
        return ""

    def reason(self) -> str:
        """Why the pair is believed."""
        if not self.in_time and self.evidence + _OF_NAMES * self.names.similarity >= _ENOUGH:
            share = "all" if self.share == 1 else f"{format_percent(self.share)} of the"
            reason = f"{share} {self.values:,} values of {self._smaller} are in {self._larger}"
            chance = f", against {format_percent(self.chance)} by chance"
            return reason + (chance if self.chance > LEAST_CHANCE else "")
        return (
            "the column names are similar, and "
            f"{format_percent(self.share)} of the values of {self._smaller} match"
        )

    @property
    def _smaller(self) -> str:
        return (self.left if len(self.left) <= len(self.right) else self.right).name

    @property
    def _larger(self) -> str:
        return (self.right if len(self.left) <= len(self.right) else self.left).name


def _candidates(values: ColumnOverlaps, tables: tuple[str, str]) -> list[_Pair]:
    """The pairs of columns that share the most values, and those with similar names."""
    quick = []
    for i, j in np.argwhere(values.shared > 0).tolist():
        left, right = values.left[i], values.right[j]
        share = int(values.shared[i, j]) / min(len(left), len(right))
        names = compare_names(left.name, right.name, *tables)
        worth = share * np.log1p(values.shared[i, j]) + 2.0 * names.similarity
        quick.append((float(worth), i, j, min(share, 1.0), names))
    quick.sort(key=lambda pair: pair[0], reverse=True)
    return [
        _Pair(left, right, values.size, share, _chance(left, right), names)
        for _, i, j, share, names in quick[:_CANDIDATES]
        for left, right in [(values.left[i], values.right[j])]
    ]


def _chance(left: EncodedColumn, right: EncodedColumn) -> float:
    smaller, larger = sorted((left, right), key=len)
    return match_chance(smaller.data.tokens, larger.data.tokens)


def _in_time(column: EncodedColumn) -> bool:
    """Whether a column contains years or dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.profile.type is ColumnType.DATE:
        return True
    if column.profile.type is not ColumnType.INTEGER or column.profile.max_length > 4:
        return False
    tokens = column.data.tokens
    years = tokens.filter(pc.match_substring_regex(tokens, r"^\d{4}$")).cast(pa.int64())
    between = pc.and_(pc.greater_equal(years, _YEARS[0]), pc.less(years, _YEARS[1]))
    return bool((pc.sum(between).as_py() or 0) >= _KEY * len(tokens))


# -- several pairs together ------------------------------------------------------------------------


class _Set:
    """Pairs of columns that must all be equal, and the rows that then match."""

    def __init__(self, pairs: tuple[_Pair, ...], keys: Keys | None = None) -> None:
        self.pairs = pairs
        self.keys = keys or _keys_of(pairs[0])
        left, right = (
            count_rows(keys, self.keys.count) for keys in (self.keys.left, self.keys.right)
        )
        both = (left > 0) & (right > 0)
        self.shared = int(np.count_nonzero(both))
        self.left_joined = int(left[both].sum())
        self.right_joined = int(right[both].sum())
        self.row_pairs = int((left[both] * right[both]).sum())

    @property
    def multiplies(self) -> float:
        """Pairs per joined row, of the side with more joined rows."""
        return self.row_pairs / max(self.left_joined, self.right_joined, 1)

    @property
    def reach(self) -> float:
        """The larger share of rows that join, of either side."""
        rows = len(self.keys.left), len(self.keys.right)
        return max(self.left_joined / max(rows[0], 1), self.right_joined / max(rows[1], 1))

    @property
    def strongest(self) -> _Pair:
        """The pair with the strongest evidence, believed ones first."""
        return max(self.pairs, key=lambda pair: (not pair.doubt(), pair.strength))

    def with_pair(self, pair: _Pair) -> _Set:
        return _Set((*self.pairs, pair), combine_keys(self.keys, _keys_of(pair)))

    def doubt(self) -> str:
        """Why it is not believed; "" if it is."""
        doubts = [pair.doubt() for pair in self.pairs]
        doubt = "" if "" in doubts else doubts[0]
        if not doubt and self.multiplies > _MULTIPLIES:
            doubt = f"values repeat in both tables, {self.multiplies:,.1f} pairs per row"
        return doubt

    def result(self) -> EqualColumns:
        doubt = self.doubt()
        return EqualColumns(
            tuple((pair.left.name, pair.right.name) for pair in self.pairs),
            self.left_joined,
            self.right_joined,
            self.row_pairs,
            self.shared,
            doubt or self.strongest.reason(),
            not doubt,
        )


def _rank(candidate: _Set) -> tuple[bool, float, int]:
    """Believed sets first; then stronger evidence for more rows; then fewer pairs."""
    worth = candidate.strongest.strength * candidate.reach / max(candidate.multiplies, 1.0) ** 0.5
    return not candidate.doubt(), worth, -len(candidate.pairs)


def _extend(base: _Set, values: ColumnOverlaps, candidates: Sequence[_Pair]) -> _Set:
    """Add the further pairs that keep a base from multiplying rows."""
    if base.multiplies <= 1.0 or not base.shared:
        return base
    tables = _Columns(values.left), _Columns(values.right)
    used = (
        [tables[0].columns.index(pair.left) for pair in base.pairs],
        [tables[1].columns.index(pair.right) for pair in base.pairs],
    )
    extension = extend_key(*tables, sample_matched_rows(base.keys), used)
    known = {(pair.left.name, pair.right.name): pair for pair in candidates}
    for i, j in extension.pairs if extension else ():
        left, right = values.left[i], values.right[j]
        share = min(1.0, int(values.shared[i, j]) / max(1, min(len(left), len(right))))
        names = compare_names(left.name, right.name)
        pair = _Pair(left, right, values.size, share, 1.0, names)
        base = base.with_pair(known.get((left.name, right.name), pair))
    return base


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of a table as coded columns."""

    columns: tuple[EncodedColumn, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def profiles(self) -> list[ColumnProfile]:
        return [column.profile for column in self.columns]

    def codes_at(self, columns: Sequence[int], rows: Array) -> Array:
        codes = [self.columns[column].rows[rows] for column in columns]
        return np.array(codes, np.int64).reshape(len(columns), len(rows))


def _keys_of(pair: _Pair) -> Keys:
    return Keys(pair.left.rows, pair.right.rows, pair.size)
