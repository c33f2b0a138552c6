"""Search by meaning with the match rule: columns that are worth judging, then the rule on each.

Columns are found once by words and once by characters: those that hold most of the values nearest
to mine, as far as the compact vectors tell. The rule then matches my values with
all values of such a column (`engines/meaning/match_rule.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

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
_HALF = 0.5  # of the values that must match have to be clearly near


@dataclass(eq=False)
class MeaningMatches:
    """The matches of a query in columns of an index, by the rule."""

    query: Query
    vectors: Array
    encoder: Encoder
    engine: VectorSearch
    calibration: Calibration = field(init=False)
    _mine: MatchTexts = field(init=False)

    def __post_init__(self) -> None:
        self.calibration = Calibration.of(self.encoder, self.query.tokens)
        self._mine = MatchTexts.of(self.calibration, self.vectors, self.query.tokens)

    def search(
        self, sure: float, least: float, k: int | None, excluded: ExcludedColumns | None
    ) -> VectorHits:
        """The columns in which at least a share `least` of my values are expected to have a right
        match, or the best `k`; most first, then the smaller column, then index order."""
        from lakejoin.engines.meaning.hits import VectorHits

        rows = _spread(len(self.query), _SAMPLE)
        candidates, counters = self._find_candidates(least, excluded)
        sampled = rows if len(rows) < len(self.query) else None
        found = []
        for segment, column in candidates:
            matches, size = self._match(segment, column, sampled)
            certain = int(np.count_nonzero(matches.chance >= sure))
            if matches.share >= max(least, 1e-3) - 1e-9:
                found.append((-matches.share, size, segment, column, certain))
        best = np.array(sorted(found)[:k], np.float64).reshape(-1, 5)
        matched = np.maximum(1, np.round(-best[:, 0] * len(self.query))).astype(np.int64)
        segments, columns, pairs = best[:, 2:].astype(np.int64).T
        none = (None,) * len(self.engine.spaces)
        return VectorHits(segments, columns, matched, pairs, counters, none)

    def match(self, segment: int, column: int) -> tuple[ColumnMatches, Array]:
        """The matches of all my values in a column, and the codes of its values."""
        return self._match(segment, column, None)[0], self._codes(segment, column)

    def _codes(self, segment: int, column: int) -> Array:
        opened = self.engine.spaces[segment].lists.segment
        return np.asarray(opened.postings.codes_of(column))

    def _match(self, segment: int, column: int, rows: Array | None) -> tuple[ColumnMatches, int]:
        space = self.engine.spaces[segment]
        opened, codes = space.lists.segment, self._codes(segment, column)
        vectors = space.source.take(space.lists.ids_of(column))
        theirs = MatchTexts.of(self.calibration, vectors, opened.dictionary.texts.take(codes))
        mine = self._mine if rows is None else self._mine.take(rows)
        own = locate_codes(self.query, segment, opened)
        own = own if rows is None else own[rows]
        at = np.minimum(np.searchsorted(codes, own), len(codes) - 1)
        same = np.where(codes[at] == own, at, -1)
        return match_column(self.calibration, mine, theirs, same), len(codes)

    def _find_candidates(
        self, least: float, excluded: ExcludedColumns | None
    ) -> tuple[list[tuple[int, int]], VectorCounters]:
        from lakejoin.engines.meaning.hits import VectorCounters
        from lakejoin.engines.meaning.near_columns import find_near_columns

        rows = _spread(len(self.query), _SEARCHED)
        found: dict[tuple[int, int], None] = {}
        counters = VectorCounters()
        begin = 0
        for size, curve in zip(self.calibration.sizes, self.calibration.curves, strict=True):
            # The product with this part alone is the similarity of the parts, times their length.
            queries = np.zeros((len(rows), self.vectors.shape[1]), np.float32)
            part = self.vectors[rows, begin : begin + size]
            lengths = np.linalg.norm(part, axis=1)
            queries[:, begin : begin + size] = part / np.where(lengths > 0, lengths, 1)[:, None]
            begin += size
            queries = queries[lengths > 0]
            if not len(queries):
                continue
            clear = float(lengths[lengths > 0].min()) * curve.cosine_of(_CLEAR)
            ranked = []
            for number, space in enumerate(self.engine.spaces):
                without = None if excluded is None else excluded.columns[number]
                near = find_near_columns(space, queries, clear, without)
                enough = near.hits >= max(1, int(_HALF * least * len(queries)))
                chosen = np.stack([-near.hits, near.sizes, near.columns])[:, enough].T
                ranked += [(hits, size, number, column) for hits, size, column in chosen.tolist()]
                counters.add(VectorCounters(values=space.compact.count))
                counters.bounded += space.compact.count * len(queries)
            best = sorted(ranked)[:_JUDGED]
            found |= dict.fromkeys((number, column) for _, _, number, column in best)
        counters.values //= max(1, len(self.calibration.sizes))
        counters.segments = len(self.engine.spaces)
        return list(found), counters


def _spread(count: int, most: int) -> Array:
    """At most so many positions, evenly spread.

    >>> _spread(3, 9).tolist(), _spread(9, 3).tolist()
    ([0, 1, 2], [0, 4, 8])
    """
    return np.unique(np.linspace(0, count - 1, most).astype(np.int64))
