"""Search by meaning with the match rule: columns that are worth judging, then the rule on each.

Columns are found once by words and once by characters: those that hold most of the values nearest
to mine, as far as the compact vectors tell. The rule then matches my values with all values of such
a column (`engines/meaning/match_rule.py`). If the model judges, the best small columns are matched
once more, for a sample of my values, with the vectors of the sentence model beside the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.engines.meaning.compared_texts import ComparedTexts
from lakejoin.engines.meaning.match_rule import (
    Calibration,
    ColumnMatches,
    MatchTexts,
    match_column,
)
from lakejoin.engines.query import Query, locate_codes
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.engines.hits import ExcludedColumns
    from lakejoin.engines.meaning.engine import VectorSearch
    from lakejoin.engines.meaning.hits import VectorCounters, VectorHits

_SEARCHED = 64  # values that columns are found by
_SAMPLE = 256  # values that columns are judged by
_JUDGED = 40  # columns that are judged, for each part of the vectors
_CLEAR = 2.5  # one in three hundred unrelated texts is that near
_FAINT = 1.0  # one in ten: enough for a column that the model judges
_HALF = 0.5  # of the values that must match have to be clearly near
# The model reads some hundred texts a second.
_MODEL_SAMPLE, _MODEL_COLUMNS, _MODEL_TEXTS = 48, 10, 300


@dataclass(frozen=True, slots=True)
class CandidateLimits:
    """Columns are candidates if this `share` of the values have one there that is nearer than
    unrelated texts, by this `rarity`; at most so many `columns` for each part of the vectors."""

    share: float
    rarity: float = _CLEAR
    columns: int = _JUDGED


@dataclass(eq=False)
class ColumnJudge:
    """Applies the rule to columns, for the values at `rows`, with the vectors of one encoder."""

    query: Query
    rows: Array
    encoder: Encoder
    engine: VectorSearch
    stored: bool  # whether the index has the vectors of this encoder
    _columns: dict[tuple[int, int], MatchTexts] = field(default_factory=dict, init=False)
    _compared: dict[int, ComparedTexts] = field(default_factory=dict, init=False)

    @cached_property
    def calibration(self) -> Calibration:
        return Calibration.of(self.encoder, self.query.tokens)

    @cached_property
    def vectors(self) -> Array:
        """Of the values at `rows`."""
        return self.encoder.encode(self.query.tokens.take(self.rows))

    @cached_property
    def _mine(self) -> MatchTexts:
        return MatchTexts.of(self.calibration, self.vectors, self.query.tokens.take(self.rows))

    def codes(self, segment: int, column: int) -> Array:
        """The codes of a column, ascending."""
        opened = self.engine.spaces[segment].lists.segment
        return np.asarray(opened.postings.codes_of(column))

    def compare(self, columns: Sequence[tuple[int, int]]) -> None:
        """Compare the values at `rows`, which must be few, with the texts of these columns at once,
        for `match`: in long columns with those that are likely nearest. The index must have the
        vectors of the encoder."""
        for segment in {segment for segment, _ in columns}:
            space = self.engine.spaces[segment]
            own = [space.lists.ids_of(column) for number, column in columns if number == segment]
            self._compared[segment] = ComparedTexts.of(self.calibration, self._mine, space, own)

    def match(self, segment: int, column: int) -> ColumnMatches:
        """The matches of the values at `rows`."""
        codes = self.codes(segment, column)
        lists = self.engine.spaces[segment].lists
        own = locate_codes(self.query, segment, lists.segment)[self.rows]
        at = np.minimum(np.searchsorted(codes, own), len(codes) - 1)
        same = np.where(codes[at] == own, at, -1)
        if segment in self._compared:
            texts = lists.segment.dictionary.texts
            return self._compared[segment].match(
                lists.ids_of(column), lambda at: texts.take(codes[at]), same
            )
        return match_column(self.calibration, self._mine, self._texts(segment, column), same)

    def match_others(self, texts: pa.LargeStringArray, segment: int, column: int) -> Array:
        """The chances of matches of other texts, none of which the column holds, if they stood
        among the values at `rows`."""
        whole = pa.concat_arrays([self.query.tokens.take(self.rows), texts])
        vectors = np.concatenate([self.vectors, self.encoder.encode(texts)])
        others = MatchTexts.of(self.calibration, vectors, whole)
        nowhere = np.full(len(whole), -1)
        if segment in self._compared:
            space, codes = self.engine.spaces[segment], self.codes(segment, column)
            ids = space.lists.ids_of(column)
            compared = ComparedTexts.of(self.calibration, others, space, [ids])
            matches = compared.match(
                ids, lambda at: space.lists.segment.dictionary.texts.take(codes[at]), nowhere
            )
        else:
            matches = match_column(self.calibration, others, self._texts(segment, column), nowhere)
        return matches.chance[len(self.rows) :]

    def _texts(self, segment: int, column: int) -> MatchTexts:
        if (segment, column) in self._columns:
            return self._columns[segment, column]
        space = self.engine.spaces[segment]
        texts = space.lists.segment.dictionary.texts.take(self.codes(segment, column))
        if self.stored:
            vectors = space.source.take(space.lists.ids_of(column))
            return MatchTexts.of(self.calibration, vectors, texts)
        read = MatchTexts.of(self.calibration, self.encoder.encode(texts), texts)
        self._columns[segment, column] = read
        return read

    def rank(
        self, segment: int, column: int, sure: float
    ) -> tuple[float, int, int, int, int, float]:
        """What orders a column (the mean chance, negative, and size), its address, its sure pairs,
        and the share of values that are expected to match, pair by pair."""
        matches = self.match(segment, column)
        certain = int(np.count_nonzero(matches.chance >= sure))
        size = len(self.codes(segment, column))
        return -float(matches.chance.mean()), size, segment, column, certain, matches.share


@dataclass(eq=False)
class MeaningMatches:
    """The matches of a query in columns of an index, by the rule; `by_model` has the best columns
    judged by the sentence model too."""

    query: Query
    vectors: Array
    encoder: Encoder
    engine: VectorSearch
    by_model: bool = False

    @property
    def calibration(self) -> Calibration:
        return (self._model if self.by_model else self._sample).calibration

    @cached_property
    def _sample(self) -> ColumnJudge:
        rows = _spread(len(self.query), _SAMPLE)
        return ColumnJudge(self.query, rows, self.encoder, self.engine, stored=True)

    @cached_property
    def _model(self) -> ColumnJudge:
        from lakejoin.encoders.sentence_model import ModelEncoder

        rows = _spread(len(self.query), _MODEL_SAMPLE)
        encoder = ModelEncoder(self.encoder)
        return ColumnJudge(self.query, rows, encoder, self.engine, stored=False)

    def search(
        self, sure: float, least: float, k: int | None, excluded: ExcludedColumns | None
    ) -> VectorHits:
        """The columns in which at least a share `least` of my values are expected to have a right
        match, pair by pair, or the best `k`. Those with the most right matches, given the column,
        come first, then the smaller column, then index order."""
        from lakejoin.engines.meaning.hits import VectorHits

        rarity = _FAINT if self.by_model else _CLEAR
        some = self.vectors[_spread(len(self.query), _SEARCHED)]
        limits = CandidateLimits(_HALF * least, rarity)
        calibration = self._sample.calibration
        candidates, counters = find_candidates(self.engine, calibration, some, excluded, limits)
        found = sorted(self._sample.rank(*address, sure) for address in candidates)
        if self.by_model:
            small = [row for row in found if row[1] <= _MODEL_TEXTS][:_MODEL_COLUMNS]
            found = sorted(self._model.rank(row[2], row[3], sure) for row in small)
        kept = [row for row in found if row[5] >= max(least, 1e-3) - 1e-9]
        best = np.array(kept[:k], np.float64).reshape(-1, 6)
        matched = np.maximum(1, np.round(-best[:, 0] * len(self.query))).astype(np.int64)
        segments, columns, pairs = best[:, 2:5].astype(np.int64).T
        none = (None,) * len(self.engine.spaces)
        return VectorHits(segments, columns, matched, pairs, counters, none)

    def match(self, segment: int, column: int) -> tuple[ColumnMatches, Array]:
        """The matches of my values in a column, and the codes of its values; by the model, of the
        values that it reads."""
        judge = self._model if self.by_model else self._whole
        return judge.match(segment, column).spread(judge.rows, len(self.query)), judge.codes(
            segment, column
        )

    @cached_property
    def _whole(self) -> ColumnJudge:
        every = np.arange(len(self.query))
        return ColumnJudge(self.query, every, self.encoder, self.engine, stored=True)


def find_candidates(
    engine: VectorSearch,
    calibration: Calibration,
    vectors: Array,
    excluded: ExcludedColumns | None,
    limits: CandidateLimits,
) -> tuple[list[tuple[int, int]], VectorCounters]:
    """The (segment, column) of columns that hold most of the values nearest to these vectors, by
    words and by characters."""
    from lakejoin.engines.meaning.hits import VectorCounters
    from lakejoin.engines.meaning.near_columns import find_near_columns

    found: dict[tuple[int, int], None] = {}
    counters = VectorCounters(segments=len(engine.spaces))
    counters.values = sum(space.compact.count for space in engine.spaces)
    begin = 0
    for size, curve in zip(calibration.sizes, calibration.curves, strict=True):
        # The product with this part alone is the similarity of the parts, times their length.
        queries = np.zeros(vectors.shape, np.float32)
        part = vectors[:, begin : begin + size]
        lengths = np.linalg.norm(part, axis=1)
        queries[:, begin : begin + size] = part / np.where(lengths > 0, lengths, 1)[:, None]
        begin += size
        queries = queries[lengths > 0]
        if not len(queries):
            continue
        clear = float(lengths[lengths > 0].min()) * curve.cosine_of(limits.rarity)
        ranked = []
        for number, space in enumerate(engine.spaces):
            without = None if excluded is None else excluded.columns[number]
            near = find_near_columns(space, queries, clear, without)
            enough = near.hits >= max(1, int(limits.share * len(queries)))
            chosen = np.stack([-near.hits, near.sizes, near.columns])[:, enough].T
            ranked += [(hits, size, number, column) for hits, size, column in chosen.tolist()]
        counters.bounded += counters.values * len(queries)
        best = sorted(ranked)[: limits.columns]
        found |= dict.fromkeys((number, column) for _, _, number, column in best)
    return list(found), counters


def _spread(count: int, most: int) -> Array:
    """At most so many positions, evenly spread.

    >>> _spread(3, 9).tolist(), _spread(9, 3).tolist()
    ([0, 1, 2], [0, 4, 8])
    """
    return np.unique(np.linspace(0, count - 1, most).astype(np.int64))
