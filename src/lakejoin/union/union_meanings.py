"""Compare the texts of two columns by meaning, by the vectors of some of them.

If the texts of two columns are of the same kind, those of one are as close to the other's centre as
its own texts; otherwise they are no closer than random texts of the lake. The likeness is where
between the two they lie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.errors import InputError, MissingDependency
from lakejoin.model import Array
from lakejoin.search.lake_background import draw_lake_texts, look_like_words
from lakejoin.search.meaning_search import MeaningSearch
from lakejoin.search.options import ByMeaning, SearchOptions
from lakejoin.search.tau_choice import LARGEST_DISTANCE

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.segment import Segment
    from lakejoin.union.column_likeness import ColumnSample

_TEXTS = 24  # texts of a column that are compared
_FEWEST = 8  # values from which a search by meaning is worthwhile
_SEARCHED_TEXTS = 16  # of them that are searched for
_SHARE = 0.25  # share of these that must have a match
_NEAR = 40  # columns that are fetched
_LEAST = 0.05  # by which a column's own texts must be closer to its centre than others


@dataclass(frozen=True, slots=True, eq=False)
class _Middle:
    """The centre of a column's vectors; how close its own are to it, and others of the lake."""

    vector: Array
    own: float
    others: float


@dataclass(eq=False)
class ColumnMeanings:
    """The meanings of the query table's columns, computed on demand."""

    encoder: Encoder
    segments: tuple[Segment, ...]
    _middles: dict[int, _Middle | None] = field(default_factory=dict)
    _lake_vectors: dict[int, Array | None] = field(default_factory=dict)

    def similarity(self, query_column: int, query: ColumnSample, lake: ColumnSample) -> float:
        """How close the texts of a lake column are to those of the query column, 0 to 1."""
        if not (query.is_text and lake.is_text):
            return 0.0
        if query_column not in self._middles:
            self._middles[query_column] = self._middle(query)
        middle = self._middles[query_column]
        vectors = None if middle is None else self._vectors(lake)
        if middle is None or vectors is None:
            return 0.0
        near = float((vectors @ middle.vector).mean())
        return min(1.0, max(0.0, (near - middle.others) / (middle.own - middle.others)))

    def _middle(self, query: ColumnSample) -> _Middle | None:
        vectors = self._encode_some(query)
        if vectors is None:
            return None
        half = len(vectors) // 2  # for the centre; the rest shows how close own texts are to it
        middle = _unit(vectors[:half].mean(axis=0))
        own = float((vectors[half:] @ middle).mean())
        drawn = draw_lake_texts(self.segments, pa.array(query.values, pa.large_string()))
        if not drawn:
            return None
        others = float((self.encoder.encode(drawn) @ middle).mean())
        return _Middle(middle, own, others) if own - others > _LEAST else None

    def _vectors(self, lake: ColumnSample) -> Array | None:
        key = id(lake)
        if key not in self._lake_vectors:
            self._lake_vectors[key] = self._encode_some(lake)
        return self._lake_vectors[key]

    def _encode_some(self, column: ColumnSample) -> Array | None:
        some = list(column.values)[:: max(1, len(column.values) // _TEXTS)][:_TEXTS]
        if len(some) < 4 or not look_like_words(pa.array(some, pa.large_string())):
            return None
        return self.encoder.encode(some)


def open_meanings(searcher: Searcher) -> ColumnMeanings | None:
    """The meanings of texts, if the index has vectors and its encoder is available."""
    snapshot = searcher.snapshot
    if snapshot.manifest.options.meaning is None:
        return None
    try:
        return ColumnMeanings(searcher.meanings.encoder(), snapshot.segments)
    except (InputError, MissingDependency):
        return None


def note_missing_encoder(searcher: Searcher) -> list[str]:
    """What to do if the index has vectors and their encoder cannot be opened."""
    problem = searcher.meanings.explain_missing_encoder()
    return [f"columns were not compared by meaning: {problem}"] if problem else []


def find_near_columns(
    searcher: Searcher, query_table: QueryTable, query_column: int
) -> list[tuple[int, int, float]]:
    """(segment, column, share) of the lake columns that match a query column by meaning; the share
    is of some of its values."""
    from lakejoin.engines.meaning.vector_space import Nearness

    tokens = query_table.query(query_column).tokens
    if len(tokens) < _FEWEST or not look_like_words(tokens):
        return []
    options = SearchOptions("meaning", k=_NEAR, others=True, near=ByMeaning())
    search = searcher.prepare_near_search(query_table, (query_column,), options)
    assert isinstance(search, MeaningSearch)
    try:
        encoder = search.meanings.encoder()
    except (InputError, MissingDependency):
        return []
    some = tokens.take(
        np.linspace(0, len(tokens) - 1, min(len(tokens), _SEARCHED_TEXTS)).astype(np.int64)
    )
    least = max(2, round(_SHARE * len(some)))
    nearness = Nearness(LARGEST_DISTANCE * search.radius_tau, least=least, k=_NEAR)
    vectors = encoder.encode(some)
    hits = search.meanings.engine(encoder).search(vectors, nearness, search.excluded)
    shares = (hits.matched / len(some)).tolist()
    return list(zip(hits.segment.tolist(), hits.column.tolist(), shares, strict=True))


def _unit(vector: Array) -> Array:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
