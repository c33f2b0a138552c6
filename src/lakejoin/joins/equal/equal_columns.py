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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.equal.shared_values import (
    ColumnOverlaps,
    EncodedColumn,
    count_shared_values,
    may_refer,
)
from lakejoin.joins.key_extension import (
    extend_key,
    is_measure,
    measure_agreement,
    sample_matched_rows,
)
from lakejoin.joins.row_keys import Keys, combine_keys, count_rows
from lakejoin.model import Array, ColumnProfile, ColumnType, ValueRules
from lakejoin.signals.chance import LEAST_CHANCE, evidence, match_chance
from lakejoin.signals.name_similarity import (
    CONTAINED,
    SAME,
    VAGUE,
    NameSimilarity,
    compare_names,
    is_identifier_name,
    is_named_for,
    specific_words,
)
from lakejoin.signals.sureness import UNDECIDED, estimate_sureness
from lakejoin.text_format import format_percent

if TYPE_CHECKING:
    import pyarrow as pa

_CANDIDATES = 40  # pairs of columns to examine closely
_MEASURE, _SAME_BUT_DOUBTED, _OTHER_NAMES, _DOUBTED = 0.3, 0.85, 0.6, 0.5  # see `fitness`
_NEARLY_ONCE, _NAMED_REACH = 1.02, 0.25  # matches per row, and rows, of a key known by its names
_NEARLY_SAME = 1.1  # row pairs
_ONCE = 0.1  # the weight of one-to-one matches
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
_CANNOT_TELL = "possible: all values match, but so would any numbers in this range"
_YEARS = (1000, 2200)


@dataclass(frozen=True, eq=False)
class EqualColumns:
    """The columns to join two tables by, how many rows match, and whether to believe it.

    `on` are the pairs of names, all of which must be equal. `left_joined` and `right_joined` rows
    match in `pairs` pairs, through `shared` distinct keys. If it is not `believed`, it is only the
    best candidate; if it is not `decided`, it may be right, but values cannot tell. `sure` is the
    chance that it is right. `why` gives the reason in one clause.
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
    candidates = _with_agreement(values, _candidates(values, table_names))
    if not candidates:
        return None
    alone = sorted((_Set((pair,)) for pair in candidates), key=_rank, reverse=True)
    named = [base for base in alone[_BASES:] if base.pairs[0].has_same_names][:_BASES]
    bases = [*alone[:_BASES], *named]
    grown = [_drop_idle(_extend(base, values, candidates)) for base in bases]
    shorter = [base for base, longer in zip(bases, grown, strict=True) if longer is not base]
    best = max([*grown, *(base for base in alone if base not in shorter)], key=_rank)
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
    refers: bool = False  # whether one column may refer to the other, a key without gaps
    agreement: float = 0.0  # of other columns in matching rows, in nats, if measured

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
        names = self.names
        if self.is_identifier and (names.both_say_id or names.similarity >= SAME):
            return _MOST_EVIDENCE + _OF_IDENTIFIERS * names.similarity + names.both_say_id
        evidence = max(self.evidence, min(self.agreement, _MOST_EVIDENCE))
        return (_MOST_EVIDENCE if self.is_identifier else evidence) + _OF_NAMES * names.similarity

    @property
    def nats(self) -> float:
        """All evidence: of values, names, and other columns that agree."""
        return self.evidence + _OF_NAMES * self.names.similarity + self.agreement

    @property
    def is_dense_key(self) -> bool:
        """Whether it compares identifiers that are unique in both tables, which chance explains."""
        unique = min(self.left.profile.uniqueness, self.right.profile.uniqueness) >= _KEY
        named = all(
            is_identifier_name(side.name) and specific_words(side.name)
            for side in (self.left, self.right)
        )
        return unique and named and self.share >= _SHARE and self.evidence < _ENOUGH

    @cached_property
    def is_measure(self) -> bool:
        """Whether it compares measures, such as prices, and not names of things."""
        sides = (self.left, self.right)
        return not self.is_identifier and any(is_measure(s.name, s.profile) for s in sides)

    @property
    def has_same_names(self) -> bool:
        return self.left.name.casefold() == self.right.name.casefold() or (
            self.names.similarity >= SAME
        )

    @property
    def fitness(self) -> float:
        """How fit it is to be part of a key, 0 to 1: identifiers and times of the same name are."""
        if self.is_measure:
            return _MEASURE
        if self.refers and self.agreement >= _ENOUGH:
            return 1.0
        if self.has_same_names:
            return 1.0 if self.in_time or not self.doubt() else _SAME_BUT_DOUBTED
        named = _OTHER_NAMES + (1 - _OTHER_NAMES) * self.names.similarity
        return named if not self.doubt() else named * _DOUBTED

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
        if self.agreement >= _ENOUGH:
            return ""
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
        least = _SHARE_IF_LONG if self.has_same_names else _SHARE
        if not keys or self.names.similarity < VAGUE or self.share < least:
            return "years and dates match in any two tables"
        return ""

    def reason(self) -> str:
        """Why the pair is believed."""
        if self.agreement >= _ENOUGH and self.evidence < _ENOUGH:
            return (
                f"{format_percent(self.share)} of the values of {self._smaller} are in "
                f"{self._larger}, and other columns agree in the matching rows"
            )
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
    pairs = [
        _Pair(left, right, values.size, share, _chance(left, right), names)
        for _, i, j, share, names in quick[:_CANDIDATES]
        for left, right in [(values.left[i], values.right[j])]
    ]
    return [replace(pair, refers=_may_refer(pair, tables)) for pair in pairs]


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

    @classmethod
    def of(cls, pairs: tuple[_Pair, ...]) -> _Set:
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
        """Whether several columns of the same names are a key of both tables together: the parts
        of a date, a series and an episode."""
        fewer = min(self.left_joined, self.right_joined)
        return (
            len(self.pairs) > 1
            and all(pair.has_same_names and not pair.is_measure for pair in self.pairs)
            and self.row_pairs <= _NEARLY_ONCE * fewer
            and self.reach >= _NAMED_REACH
        )

    @property
    def strongest(self) -> _Pair:
        """The pair with the strongest evidence, believed ones first."""
        return max(self.pairs, key=lambda pair: (not pair.doubt(), pair.strength))

    def with_pair(self, pair: _Pair) -> _Set:
        return _Set((*self.pairs, pair), combine_keys(self.keys, _keys_of(pair)))

    def doubt(self) -> str:
        """Why it is not believed; "" if it is."""
        doubts = [pair.doubt() for pair in self.pairs]
        measured = [
            doubt for pair, doubt in zip(self.pairs, doubts, strict=True) if pair.is_measure
        ]
        doubt = "" if "" in doubts or self._is_named_key else doubts[0]
        doubt = next(filter(None, measured), doubt)
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
            estimate_sureness(self.strongest.nats, self.multiplies > _NEARLY_ONCE),
        )


def _rank(candidate: _Set) -> tuple[bool, float, int]:
    """Believed sets first; then stronger evidence for more rows; then fewer pairs."""
    pairs = candidate.pairs
    strength = candidate.strongest.strength
    if len(pairs) > 1:
        strength = min(strength, _MOST_EVIDENCE + _OF_NAMES)
    fitness = min(pair.fitness for pair in pairs)
    once = max(
        1.0, candidate.row_pairs / max(1, min(candidate.left_joined, candidate.right_joined))
    )
    worth = strength * fitness * candidate.reach / max(candidate.multiplies, 1.0) ** 0.5
    return not candidate.doubt(), worth / once**_ONCE, -len(pairs)


def _extend(base: _Set, values: ColumnOverlaps, candidates: Sequence[_Pair]) -> _Set:
    """Add the further pairs that keep a base from multiplying rows."""
    if base.row_pairs <= min(base.left_joined, base.right_joined):
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


def _with_agreement(values: ColumnOverlaps, candidates: list[_Pair]) -> list[_Pair]:
    """Measure whether other columns agree in matching rows, for keys that chance explains."""
    columns = _Columns(values.left), _Columns(values.right)
    keys = [pair for pair in candidates if pair.refers or pair.is_dense_key][:_BASES]
    measured = {}
    for pair in keys:
        used = [columns[0].columns.index(pair.left)], [columns[1].columns.index(pair.right)]
        nats = measure_agreement(*columns, sample_matched_rows(_keys_of(pair)), used)
        measured[id(pair)] = replace(pair, agreement=nats)
    return [measured.get(id(pair), pair) for pair in candidates]


def _may_refer(pair: _Pair, tables: tuple[str, str]) -> bool:
    """Whether a column of whole numbers may refer to the key of the other table: all its values are
    in an identifier named for its table, most of which they use, and do not just count rows."""
    sides = (pair.left, pair.right, tables[1]), (pair.right, pair.left, tables[0])
    return any(_refers(child, parent, subject, pair) for child, parent, subject in sides)


def _refers(child: EncodedColumn, parent: EncodedColumn, subject: str, pair: _Pair) -> bool:
    named = is_identifier_name(parent.name) and is_named_for(parent.name, subject or parent.name)
    matches = round(pair.share * len(child))
    fewer = len(child) <= len(parent) and not pair.in_time
    return named and fewer and may_refer(child, parent, matches)


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
