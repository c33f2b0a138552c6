"""Find the pair, or the few pairs, of equal columns to join two tables by.

All pairs of columns are compared by their distinct values (`shared_values`), and weighed
(`compared_columns`). A pair joins if it is believed and a key of at least one side, so that the
join does not multiply rows. If one pair multiplies rows, further pairs are added
(`key_extension`): a country and a year.

Cost: one pass over every cell, some lookups per pair of columns, and a few passes over the rows
for the best pairs; see `shared_values` for what is skipped in very large tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.equal.compared_columns import (
    MOST_EVIDENCE,
    OF_NAMES,
    CodedColumns,
    ComparedColumns,
    compare_columns,
    keys_of,
    measure_agreements,
)
from lakejoin.joins.equal.shared_values import ColumnOverlaps, count_shared_values
from lakejoin.joins.key_extension import extend_key, sample_matched_rows
from lakejoin.joins.row_keys import Keys, combine_keys, count_rows
from lakejoin.model import ValueRules
from lakejoin.signals.chance import LEAST_CHANCE, evidence
from lakejoin.signals.name_similarity import CONTAINED, compare_names
from lakejoin.signals.sureness import UNDECIDED, KeyQuality, estimate_sureness

if TYPE_CHECKING:
    import pyarrow as pa

_BASES = 4  # pairs to extend with further pairs
_MULTIPLIES = 1.5  # pairs per joined row of the larger side: 1 if the other side is a key
_NEARLY_ONCE, _NAMED_REACH = 1.02, 0.25  # matches per row, and rows, of a key known by its names
_MEASURED_REACH = 0.95  # the same, if one of the columns looks like a measure
_NAMED_FITNESS = 0.85  # of such a key
_MIXED = 5_000  # rows to measure the chance that columns match in another order
_TOGETHER = 25.0  # nats of columns that are a key together
_TIMED_FITNESS = 0.9  # of times that have other names, beside other columns
_NEARLY_SAME = 1.1  # row pairs
_ALL_KEPT = 0.98  # share of a table's rows that a longer key keeps
# See `_rank`.
_ENOUGH = 30.0  # nats, of which more say hardly more
_IDENTIFIERS = 1.6  # the weight of the same identifier in both names
_REPEATED, _SELDOM = 0.6, 1.05  # the weight of keys that repeat in both tables, and from when on
_OF_SMALLER = 0.25  # the weight of the side with the smaller share of rows that join
_EACH = 0.95  # the weight of each further column
_OF_SAME_NAMES = (
    0.5  # the weight of rows that match, for a key of several columns of the same names
)
_ONCE = 0.1  # the weight of one-to-one matches
_CANNOT_TELL = "possible: all values match, but so would any numbers in this range"


@dataclass(frozen=True, eq=False)
class EqualColumns:
    """The columns to join two tables by, how many rows match, and whether to believe it.

    `on` are the pairs of names, all of which must be equal. `left_joined` and `right_joined` rows
    match in `pairs` pairs, through `shared` distinct keys. If it is not `believed`, it is only the
    best candidate; if it is not `decided`, it may be right, but values cannot prove it. `sure` is
    the chance that it is right. `why` gives the reason in one clause.
    """

    on: tuple[tuple[str, str], ...]
    left_joined: int
    right_joined: int
    pairs: int
    shared: int
    why: str
    believed: bool
    sure: float
    decided: bool = True


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
    candidates = measure_agreements(values, compare_columns(values, table_names))
    if not candidates:
        return None
    alone = sorted((_Set((pair,)) for pair in candidates), key=_rank, reverse=True)
    named = [base for base in alone[_BASES:] if base.pairs[0].has_same_names][:_BASES]
    bases = [*alone[:_BASES], *named]
    grown = [_drop_idle(_extend(base, values, candidates)) for base in bases]
    shorter = [base for base, longer in zip(bases, grown, strict=True) if longer is not base]
    shorter += [key for key in grown if any(key.is_refined_by(longer) for longer in grown)]
    best = max((key for key in [*grown, *alone] if key not in shorter), key=_rank)
    if best.doubt():
        references = [base for base in alone if base.pairs[0].refers]
        if references:
            return replace(
                references[0].result(),
                why=_CANNOT_TELL,
                believed=True,
                sure=UNDECIDED,
                decided=False,
            )
    return best.result()


# -- several pairs together ------------------------------------------------------------------------


class _Set:
    """Pairs of columns that must all be equal, and the rows that then match."""

    def __init__(self, pairs: tuple[ComparedColumns, ...], keys: Keys | None = None) -> None:
        self.pairs = pairs
        self.keys = keys or keys_of(pairs[0])
        left, right = (
            count_rows(keys, self.keys.count) for keys in (self.keys.left, self.keys.right)
        )
        both = (left > 0) & (right > 0)
        self.shared = int(np.count_nonzero(both))
        self.left_joined = int(left[both].sum())
        self.right_joined = int(right[both].sum())
        self.row_pairs = int((left[both] * right[both]).sum())

    @classmethod
    def of(cls, pairs: tuple[ComparedColumns, ...]) -> _Set:
        """The rows that match by some pairs."""
        base = cls(pairs[:1])
        for pair in pairs[1:]:
            base = base.with_pair(pair)
        return base

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
    def _is_named_key(self) -> bool:
        """Whether several columns of the same names are a key of a table together: the parts of a
        date, a series and an episode."""
        if not self.has_same_names:
            return False
        if any(pair.is_measure for pair in self.pairs):
            return self._is_one_to_one and self.reach >= _MEASURED_REACH
        return self.reach >= _NAMED_REACH

    @property
    def has_same_names(self) -> bool:
        """Whether it is a key of a table, of several columns that all have the same names."""
        return (
            len(self.pairs) > 1
            and all(pair.has_same_names for pair in self.pairs)
            and self.multiplies <= _NEARLY_ONCE
        )

    @property
    def _is_one_to_one(self) -> bool:
        """Whether rows of either table almost never match several rows."""
        return self.row_pairs <= _NEARLY_ONCE * min(self.left_joined, self.right_joined)

    @cached_property
    def _is_telling_together(self) -> bool:
        """Whether several columns are a key of a table that nearly all rows of the other match, and
        that columns in another order would not: chapter and verse, or a day and a share."""
        if len(self.pairs) < 2 or self.multiplies > _NEARLY_ONCE or self.reach < _MEASURED_REACH:
            return False
        chance = max(_mixed_chance(self.pairs), LEAST_CHANCE)
        return evidence(self.shared, self.reach, chance) >= _TOGETHER

    @property
    def fitness(self) -> float:
        """How fit the columns are to be a key, 0 to 1; the least fit column counts."""
        timed = len(self.pairs) > 1  # a time of any name is as good a part of a key
        fitness = min(
            _TIMED_FITNESS if timed and pair.in_time and not pair.has_same_names else pair.fitness
            for pair in self.pairs
        )
        return max(fitness, _NAMED_FITNESS) if self._is_named_key else fitness

    @property
    def usual_reach(self) -> float:
        """The share of rows that join, mostly of the side where it is larger."""
        rows = len(self.keys.left), len(self.keys.right)
        shares = self.left_joined / max(rows[0], 1), self.right_joined / max(rows[1], 1)
        return float(max(shares) ** (1 - _OF_SMALLER) * min(shares) ** _OF_SMALLER)

    @property
    def _quality(self) -> KeyQuality:
        return KeyQuality(
            repeated=self.multiplies > _NEARLY_ONCE,
            named=all(pair.names.similarity >= CONTAINED for pair in self.pairs),
            measured=any(pair.is_measure for pair in self.pairs),
            reach=self.reach,
        )

    def is_refined_by(self, longer: _Set) -> bool:
        """Whether a longer key has all columns of this one, which are several, and is one-to-one
        where this one is not, for all rows of one of the tables."""
        names, more = (
            {(pair.left.name, pair.right.name) for pair in key.pairs} for key in (self, longer)
        )
        kept = max(
            longer.left_joined / max(1, self.left_joined),
            longer.right_joined / max(1, self.right_joined),
        )
        return (
            len(names) > 1
            and names < more
            and longer.row_pairs * _NEARLY_ONCE <= self.row_pairs
            and kept >= _ALL_KEPT
            and longer._is_one_to_one
            and not longer.doubt()
        )

    @property
    def strongest(self) -> ComparedColumns:
        """The pair with the strongest evidence, believed ones first."""
        return max(self.pairs, key=lambda pair: (not pair.doubt(), pair.strength))

    def with_pair(self, pair: ComparedColumns) -> _Set:
        return _Set((*self.pairs, pair), combine_keys(self.keys, keys_of(pair)))

    def doubt(self) -> str:
        """Why it is not believed; "" if it is."""
        doubts = [pair.doubt() for pair in self.pairs]
        measured = [pair.is_measure for pair in self.pairs]
        doubt = next(
            (
                doubt
                for doubt, of_measure in zip(doubts, measured, strict=True)
                if doubt and of_measure
            ),
            "",
        )
        if "" not in doubts:
            doubt = doubt or doubts[0]
        if doubt and (self._is_named_key or self._is_telling_together):
            doubt = ""
        if not doubt and self.multiplies > _MULTIPLIES:
            doubt = f"values repeat in both tables, {self.multiplies:,.1f} pairs per row"
        return doubt

    def result(self) -> EqualColumns:
        doubt = self.doubt()
        pairs = sorted(self.pairs, key=lambda pair: -pair.strength)
        return EqualColumns(
            tuple((pair.left.name, pair.right.name) for pair in pairs),
            self.left_joined,
            self.right_joined,
            self.row_pairs,
            self.shared,
            doubt or self.strongest.reason(),
            not doubt,
            estimate_sureness(self.strongest.nats, self._quality),
        )


def _mixed_chance(pairs: Sequence[ComparedColumns]) -> float:
    """The share of rows that would match if every column were in an order of its own, of the table
    where it is larger."""
    mixed = [_mix_rows(keys_of(pair), seed) for seed, pair in enumerate(pairs)]
    return max(_share_held(reduce(combine_keys, sides)) for sides in zip(*mixed, strict=True))


def _mix_rows(keys: Keys, seed: int) -> tuple[Keys, Keys]:
    """Some rows of the left table in another order, with all of the right one; and the reverse, as
    keys of the other table."""
    left, right = (
        np.random.default_rng(seed).permutation(own)[:_MIXED] for own in (keys.left, keys.right)
    )
    return Keys(left, keys.right, keys.count), Keys(right, keys.left, keys.count)


def _share_held(keys: Keys) -> float:
    """The share of the left rows with a key that the right table has."""
    own = keys.left[keys.left >= 0]
    return float(np.isin(own, keys.right).mean()) if len(own) else 1.0


def _rank(candidate: _Set) -> tuple[bool, float, int]:
    """Believed sets first; then those that are fitter to be a key; then fewer pairs.

    Once there is enough evidence, more of it does not make a key likelier: names of teams are
    stronger evidence than a round and a year, yet these may be the key.
    """
    pairs = candidate.pairs
    strength = min(candidate.strongest.strength, MOST_EVIDENCE + OF_NAMES)
    worth = 1 - math.exp(-strength / _ENOUGH)
    if any(pair.is_same_identifier for pair in pairs):
        worth *= _IDENTIFIERS
    # Of two tables with the same key, few rows may match: of other years, or of other places.
    telling = candidate.has_same_names and all(pair.has_telling_names for pair in pairs)
    worth *= candidate.usual_reach ** (_OF_SAME_NAMES if telling else 1.0)
    once = max(
        1.0, candidate.row_pairs / max(1, min(candidate.left_joined, candidate.right_joined))
    )
    repeated = _REPEATED if candidate.multiplies > _SELDOM else 1.0
    worth *= candidate.fitness * repeated / max(candidate.multiplies, 1.0) ** 0.5
    return not candidate.doubt(), worth * _EACH ** len(pairs) / once**_ONCE, -len(pairs)


def _extend(base: _Set, values: ColumnOverlaps, candidates: Sequence[ComparedColumns]) -> _Set:
    """Add the further pairs that keep a base from multiplying rows."""
    if base.row_pairs <= min(base.left_joined, base.right_joined):
        return base
    tables = CodedColumns(values.left), CodedColumns(values.right)
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
        pair = ComparedColumns(left, right, values.size, share, 1.0, names)
        base = base.with_pair(known.get((left.name, right.name), pair))
    return base


def _drop_idle(grown: _Set) -> _Set:
    """Leave out pairs without which the others are as good a key."""
    for pair in grown.pairs if len(grown.pairs) > 1 else ():
        rest = _Set.of(tuple(other for other in grown.pairs if other is not pair))
        same = rest.row_pairs <= grown.row_pairs
        suffices = len(rest.pairs) == 1 and not rest.pairs[0].is_measure and not rest.doubt()
        once = rest.row_pairs <= min(rest.left_joined, rest.right_joined)
        if same or (suffices and once and rest.row_pairs <= _NEARLY_SAME * grown.row_pairs):
            grown = rest
            if len(grown.pairs) == 1:
                break
    return grown
