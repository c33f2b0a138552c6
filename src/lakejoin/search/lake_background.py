"""What overlap means in this lake: how specific column names are, and what random values would
match."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.model import Array
from lakejoin.signals.chance import (
    PATTERN_VALUES,
    WrongValues,
    combine_chances,
    map_variants,
    match_chance_by,
    wrong_values,
)
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.meaning_vectors import TEXT_TYPES

if TYPE_CHECKING:
    from lakejoin.engines.query import Query
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


_SAMPLE = 150


class ChanceEstimator:
    """Chances for one query column; its wrong values are looked up once per segment."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._located: dict[int, list[WrongValues]] = {}

    def of(self, segment_index: int, segment: Segment, column: int, size: int) -> float:
        """The share of wrong values of the smaller column that the other column holds."""
        theirs = segment.postings.codes_of(column)
        if len(self._query) > size:
            return match_chance_by(_some(segment, theirs), self._held_by_mine, _SAMPLE)
        return combine_chances(
            [_met(wrong, theirs) for wrong in self._located_in(segment_index, segment)],
        )

    @cached_property
    def _wrong(self) -> list[WrongValues]:
        return wrong_values(self._query.tokens)

    def _located_in(self, segment_index: int, segment: Segment) -> list[WrongValues]:
        """The wrong values as codes of a segment: -1 if there is no value, -2 if the segment lacks
        it."""

        def find(wrong: pa.LargeStringArray) -> Array:
            codes = segment.dictionary.find(wrong)
            return np.where(codes == NOT_FOUND, -2, codes.astype(np.int64))

        if segment_index not in self._located:
            self._located[segment_index] = [map_variants(group, find) for group in self._wrong]
        return self._located[segment_index]

    @cached_property
    def _mine(self) -> frozenset[str]:
        return frozenset(self._query.tokens.to_pylist())

    def _held_by_mine(self, wrong: pa.LargeStringArray) -> pa.BooleanArray:
        mine = self._mine
        return pa.array([text in mine for text in wrong.to_pylist()], pa.bool_())


def is_among(codes: Array, ascending: Array) -> Array:
    """Which codes are among ascending ones.

    >>> is_among(np.array([5, 2, 9]), np.array([2, 4, 5])).tolist()
    [True, True, False]
    """
    if not len(ascending):
        return np.zeros(codes.shape, dtype=bool)
    at = np.minimum(np.searchsorted(ascending, codes), len(ascending) - 1)
    return np.asarray(ascending[at] == codes)


def _met(located: WrongValues, theirs: Array) -> WrongValues:
    """1 if a column holds the wrong value, 0 if not, -1 if there is no value."""
    codes = located.variants
    held = is_among(codes, theirs.astype(np.int64)).astype(np.int8)
    return WrongValues(located.share, np.where(codes == -1, np.int8(-1), held))


def _some(segment: Segment, codes: Array) -> pa.LargeStringArray:
    """The values of codes: all, or a sample."""
    if len(codes) > PATTERN_VALUES:
        codes = np.sort(np.random.default_rng(0).choice(codes, PATTERN_VALUES, replace=False))
    return segment.dictionary.texts.take(codes)


_LETTERS = 5  # median letters of a text: shorter ones are codes
_NUMBERS = 0.2  # of the texts may contain a digit
_LOOKED_AT = 200  # texts to check
_WRONG = 16  # texts of each kind
_COLUMNS = 64  # to draw wrong texts from


def look_like_words(tokens: pa.LargeStringArray) -> bool:
    """Whether a sample of texts has words, and not codes, numbers, dates or addresses, which a
    meaning cannot tell apart.

    >>> look_like_words(pa.array(["norway", "sweden"])), look_like_words(pa.array(["NO", "SE-12"]))
    (True, False)
    >>> look_like_words(pa.array(["Monday, 3 May 2010", "Sunday, 9 May 2010"]))
    False
    """
    positions = np.linspace(0, len(tokens) - 1, min(len(tokens), _LOOKED_AT)).astype(np.int64)
    some = tokens.take(positions).to_pylist()
    if not some:
        return False
    letters = np.median([sum(map(str.isalpha, text)) for text in some])
    numbers = np.mean([any(map(str.isdigit, text)) for text in some])
    return bool(letters >= _LETTERS and numbers <= _NUMBERS)


def mix_texts(texts: Sequence[str], right: frozenset[str], most: int = _WRONG) -> list[str]:
    """Combine halves of two texts each; none of the results is a `right` text.

    >>> mix_texts(["north sea", "black forest", "norway"], frozenset())
    ['north forest', 'blackway', 'nor sea']
    """
    made = []
    for first, second in zip(texts, [*texts[1:], *texts[:1]], strict=True):
        text = (_beginning(first) + _end(second)).strip()
        if text and text not in right:
            made.append(text)
    return made[:most]


def _beginning(text: str) -> str:
    words = text.split()
    return " ".join(words[: len(words) // 2]) if len(words) > 1 else text[: len(text) // 2]


def _end(text: str) -> str:
    words = text.split()
    return " " + " ".join(words[len(words) // 2 :]) if len(words) > 1 else text[len(text) // 2 :]


def draw_lake_texts(segments: Sequence[Segment], mine: pa.LargeStringArray) -> list[str]:
    """Values of lake columns, one per column, that are about as long as the query's."""
    random = np.random.default_rng(0)
    columns = [(segment, column) for segment in segments for column in _text_columns(segment)]
    drawn = []
    for index in random.permutation(len(columns))[:_COLUMNS].tolist():
        segment, column = columns[index]
        codes = segment.postings.codes_of(column)
        drawn.append(segment.dictionary.texts.take(codes[random.integers(0, len(codes), 1)])[0])
    known = set(mine.to_pylist())
    usual = float(np.median([len(text) for text in known]))
    texts = [text for scalar in drawn if (text := scalar.as_py()) not in known]
    return sorted(texts, key=lambda text: abs(len(text) - usual))[:_WRONG]


def _text_columns(segment: Segment) -> list[int]:
    kinds = pa.array(list(map(str, TEXT_TYPES)), pa.string())
    types = segment.catalog.columns["type"].cast(pa.string())
    texts = np.asarray(pc.is_in(types, value_set=kinds)) & np.asarray(segment.indexed, dtype=bool)
    return np.flatnonzero(texts & (np.asarray(segment.catalog.columns["distinct"]) > 0)).tolist()


_known: WeakKeyDictionary[Snapshot, LakeNames] = WeakKeyDictionary()


class LakeNames:
    """The column names of a lake, and how many columns have each."""

    def __init__(self, snapshot: Snapshot) -> None:
        totals = snapshot.manifest.totals
        self._segments = snapshot.segments
        self._tables = max(2, totals.tables)
        self.columns = max(2, totals.columns)

    @cached_property
    def _names(self) -> list[pa.Array]:
        """By segment, in lower case."""
        return [pc.utf8_lower(segment.catalog.columns["name"]) for segment in self._segments]

    @cached_property
    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for names in self._names:
            for entry in pc.value_counts(names).to_pylist():
                counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
        return counts

    def specificity(self, name: str) -> float:
        """How specific a name is: 0 if every table has it, 1 if it occurs once."""
        count = max(1, self._counts.get(name.lower(), 1))
        return max(0.0, 1 - math.log(count) / math.log(self._tables))

    @cached_property
    def plain_names(self) -> list[pa.Array]:
        """By segment, in lower case, without blanks, `_`, `-` and `.`."""
        return [plain_names(segment.catalog.columns["name"]) for segment in self._segments]

    def find_columns(self, name: str, most: int) -> list[tuple[int, int]]:
        """The searched columns of that name, (segment index, column); empty if more than `most`."""
        if self._counts.get(name.lower(), 0) > most:
            return []
        found = []
        for segment_index, names in enumerate(self._names):
            indexed = self._segments[segment_index].indexed
            same = np.flatnonzero(pc.equal(names, name.lower())).tolist()
            found += [(segment_index, column) for column in same if indexed[column]]
        return found


def plain_names(names: pa.Array) -> pa.Array:
    """Names in lower case, without blanks, `_`, `-` and `.`."""
    return pc.replace_substring_regex(pc.utf8_lower(names), r"[\s_\-.]+", "")


def get_lake_names(snapshot: Snapshot) -> LakeNames:
    """The column names of a lake, counted once per snapshot."""
    if snapshot not in _known:
        _known[snapshot] = LakeNames(snapshot)
    return _known[snapshot]
