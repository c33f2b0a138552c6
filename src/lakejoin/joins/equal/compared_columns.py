"""Compare the columns of two tables in pairs: what they share, and how strong that is as evidence.

A pair is believed if it shares more values than expected by chance (`chance`), if its names denote
the same identifier (`name_similarity`), or if other columns agree in the rows it matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.joins.equal.shared_values import (
    ColumnOverlaps,
    EncodedColumn,
    counts_rows,
    may_refer,
)
from lakejoin.joins.key_extension import (
    measure_agreement,
    sample_matched_rows,
)
from lakejoin.joins.row_keys import Keys
from lakejoin.model import Array, ColumnProfile, ColumnType
from lakejoin.signals.chance import LEAST_CHANCE, evidence, match_chance
from lakejoin.signals.column_roles import are_measures
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
from lakejoin.text_format import format_percent

_CANDIDATES = 40  # pairs of columns to examine closely
_MEASURED = 4  # keys that chance explains, whose other columns are compared
_MEASURE, _SAME_BUT_DOUBTED, _OTHER_NAMES, _DOUBTED = 0.3, 0.85, 0.6, 0.5  # see `fitness`

# What is believed. Evidence is in nats: five matching words give about 20.
_ENOUGH = 25.0
OF_NAMES = 20.0  # evidence of equal names
_OF_IDENTIFIERS = 100.0  # of equal identifier names: no other columns beat them
_SOME = 3.5  # least evidence of the values, unless the names are identifiers
MOST_EVIDENCE = 100.0
_SHARE = 0.65  # least share of the smaller column's values that match; fewer may be namesakes
_OF_LARGER = 0.2  # if fewer of the larger column's values match (states among schools) …
_SHARE_OF_FEW = 0.9  # … nearly all of the smaller one's must
_SHARE_IF_LONG = 0.3
_LONG = 10.0  # characters on average: longer texts have few namesakes
_SHARE_IF_ALIKE = 0.2
_SHARE_IF_ONLY_NAMES = 0.9
_KEY = 0.95
_YEARS = (1000, 2200)
# The least share of a key that references use: of one that is named as such, and of row numbers.
_USED_OF_IDENTIFIER, _USED_OF_COUNTER = 0.2, 0.7


@dataclass(frozen=True, eq=False)
class ComparedColumns:
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
        return min(evidence(self.values, self.share, self.chance), MOST_EVIDENCE)

    @cached_property
    def in_time(self) -> bool:
        return _in_time(self.left) and _in_time(self.right)

    @property
    def is_same_identifier(self) -> bool:
        """Whether both names say the same identifier in the same words."""
        names = self.names
        return self.is_identifier and (names.both_say_id or names.similarity >= SAME)

    @property
    def strength(self) -> float:
        names = self.names
        if self.is_same_identifier:
            return MOST_EVIDENCE + _OF_IDENTIFIERS * names.similarity + names.both_say_id
        evidence = max(self.evidence, min(self.agreement, MOST_EVIDENCE))
        return (MOST_EVIDENCE if self.is_identifier else evidence) + OF_NAMES * names.similarity

    @property
    def nats(self) -> float:
        """All evidence: of values, names, and other columns that agree."""
        return self.evidence + OF_NAMES * self.names.similarity + self.agreement

    @property
    def is_dense_key(self) -> bool:
        """Whether it compares identifiers that are unique in both tables, which chance explains."""
        unique = min(self.left.profile.uniqueness, self.right.profile.uniqueness) >= _KEY
        names = self.left.name, self.right.name
        same = names[0].casefold() == names[1].casefold()
        named = all(is_identifier_name(name) and (same or specific_words(name)) for name in names)
        return unique and named and self.share >= _SHARE and self.evidence < _ENOUGH

    @cached_property
    def is_measure(self) -> bool:
        """Whether it compares measures, such as prices, and not names of things."""
        left, right = self.left, self.right
        return not self.is_identifier and are_measures(
            (left.name, right.name), (left.profile, right.profile)
        )

    @property
    def has_same_names(self) -> bool:
        return self.left.name.casefold() == self.right.name.casefold() or (
            self.names.similarity >= SAME
        )

    @property
    def has_telling_names(self) -> bool:
        """Whether the same names say what the values are: `team`, or a time, but not `key_id`."""
        return self.has_same_names and (self.in_time or bool(specific_words(self.left.name)))

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
        if self.evidence < _SOME or self.evidence + OF_NAMES * self.names.similarity < _ENOUGH:
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
        if not self.in_time and self.evidence + OF_NAMES * self.names.similarity >= _ENOUGH:
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


def compare_columns(values: ColumnOverlaps, tables: tuple[str, str]) -> list[ComparedColumns]:
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
        ComparedColumns(left, right, values.size, share, _chance(left, right), names)
        for _, i, j, share, names in quick[:_CANDIDATES]
        for left, right in [(values.left[i], values.right[j])]
    ]
    return [replace(pair, refers=_may_refer(pair, tables)) for pair in pairs]


def _chance(left: EncodedColumn, right: EncodedColumn) -> float:
    smaller, larger = sorted((left, right), key=len)
    return match_chance(smaller.data.tokens, larger.data.tokens)


def _in_time(column: EncodedColumn) -> bool:
    """Whether a column contains years or dates."""

    if column.profile.type is ColumnType.DATE:
        return True
    if column.profile.type is not ColumnType.INTEGER or column.profile.max_length > 4:
        return False
    tokens = column.data.tokens
    years = tokens.filter(pc.match_substring_regex(tokens, r"^\d{4}$")).cast(pa.int64())
    between = pc.and_(pc.greater_equal(years, _YEARS[0]), pc.less(years, _YEARS[1]))
    return bool((pc.sum(between).as_py() or 0) >= _KEY * len(tokens))


def measure_agreements(
    values: ColumnOverlaps, candidates: list[ComparedColumns]
) -> list[ComparedColumns]:
    """Measure whether other columns agree in matching rows, for keys that chance explains."""
    columns = CodedColumns(values.left), CodedColumns(values.right)
    keys = [pair for pair in candidates if pair.refers or pair.is_dense_key][:_MEASURED]
    measured = {}
    for pair in keys:
        used = [columns[0].columns.index(pair.left)], [columns[1].columns.index(pair.right)]
        nats = measure_agreement(*columns, sample_matched_rows(keys_of(pair)), used)
        measured[id(pair)] = replace(pair, agreement=nats)
    return [measured.get(id(pair), pair) for pair in candidates]


def _may_refer(pair: ComparedColumns, tables: tuple[str, str]) -> bool:
    """Whether a column of whole numbers may refer to the key of the other table: all its values are
    in an identifier named for its table, or in its row numbers, most of which they use, and do not
    just count rows."""
    sides = (pair.left, pair.right, tables[1]), (pair.right, pair.left, tables[0])
    return any(_refers(child, parent, subject, pair) for child, parent, subject in sides)


def _refers(
    child: EncodedColumn, parent: EncodedColumn, subject: str, pair: ComparedColumns
) -> bool:
    if is_identifier_name(child.name) and not specific_words(child.name):
        return False  # an id of its own table
    if len(child) > len(parent) or pair.in_time:
        return False
    matches = round(pair.share * len(child))
    if is_identifier_name(parent.name) and is_named_for(parent.name, subject or parent.name):
        return may_refer(child, parent, matches, _USED_OF_IDENTIFIER)
    repeats = child.profile.uniqueness < _KEY
    return repeats and counts_rows(parent) and may_refer(child, parent, matches, _USED_OF_COUNTER)


@dataclass(frozen=True, eq=False)
class CodedColumns:
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


def keys_of(pair: ComparedColumns) -> Keys:
    return Keys(pair.left.rows, pair.right.rows, pair.size)
