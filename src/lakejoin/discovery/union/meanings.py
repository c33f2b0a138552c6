"""Do the texts of two columns mean the same kind of thing? By the vectors of some of them.

The texts of a column have a middle. Those of another one are as near to it as its own if they are
of the same kind, and no nearer than texts from anywhere in the lake if they are not; the likeness
is where between the two they lie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.fused.wrong_texts import are_words, texts_of_lake
from lakejoin.errors import InputError
from lakejoin.search.meanings import Meanings
from lakejoin.search.near_options import ByMeaning
from lakejoin.search.options import SearchOptions
from lakejoin.search.tau import LARGEST

if TYPE_CHECKING:
    from lakejoin.discovery.union.looks import Look
    from lakejoin.encoders import Encoder
    from lakejoin.search.mine import MyTable
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_TEXTS = 24  # of a column
_FEWEST = 8  # values of mine that make it worth while to search by meaning
_ASKED = 16  # of them are searched for
_SHARE = 0.25  # of these must have a partner
_NEAR = 40  # columns
_LEAST = 0.05  # by which my own texts must be nearer to their middle than others are


@dataclass(frozen=True, slots=True, eq=False)
class _Middle:
    """The middle of a column's vectors; how near its own are to it, and others of the lake."""

    vector: Array
    own: float
    others: float


@dataclass(eq=False)
class Meant:
    """The meaning of my columns, as far as they were asked for."""

    encoder: Encoder
    segments: tuple[Segment, ...]
    _middles: dict[int, _Middle | None] = field(default_factory=dict)
    _theirs: dict[int, Array | None] = field(default_factory=dict)

    def alike(self, place: int, mine: Look, theirs: Look) -> float:
        """How near the texts of a column are to those of mine, 0 to 1."""
        if not (mine.is_text and theirs.is_text):
            return 0.0
        if place not in self._middles:
            self._middles[place] = self._middle(mine)
        middle = self._middles[place]
        vectors = None if middle is None else self._vectors(theirs)
        if middle is None or vectors is None:
            return 0.0
        near = float((vectors @ middle.vector).mean())
        return min(1.0, max(0.0, (near - middle.others) / (middle.own - middle.others)))

    def _middle(self, mine: Look) -> _Middle | None:
        import pyarrow as pa

        vectors = self._encoded(mine)
        if vectors is None:
            return None
        half = len(vectors) // 2  # the middle of some, and how near the others are to it
        middle = _unit(vectors[:half].mean(axis=0))
        own = float((vectors[half:] @ middle).mean())
        drawn = texts_of_lake(self.segments, pa.array(mine.values, pa.large_string()))
        if not drawn:
            return None
        others = float((self.encoder.encode(drawn) @ middle).mean())
        return _Middle(middle, own, others) if own - others > _LEAST else None

    def _vectors(self, theirs: Look) -> Array | None:
        key = id(theirs)
        if key not in self._theirs:
            self._theirs[key] = self._encoded(theirs)
        return self._theirs[key]

    def _encoded(self, look: Look) -> Array | None:
        import pyarrow as pa

        some = list(look.values)[:: max(1, len(look.values) // _TEXTS)][:_TEXTS]
        if len(some) < 4 or not are_words(pa.array(some, pa.large_string())):
            return None
        return self.encoder.encode(some)


def meant_by(searcher: Searcher) -> Meant | None:
    """The meaning of texts, where the index has that part and its encoder is there."""
    snapshot = searcher.snapshot
    if snapshot.manifest.options.meaning is None:
        return None
    try:
        return Meant(Meanings(snapshot).encoder(), snapshot.segments)
    except InputError:
        return None


def near_columns(searcher: Searcher, mine: MyTable, place: int) -> list[tuple[int, int, float]]:
    """(segment, column, share) of the columns that hold partners, by meaning, for some of the
    values of a column of mine: the share of them that have one."""
    from lakejoin.search.meaning import MeaningSearch
    from lakejoin.search.vectors.space import Nearness

    tokens = mine.query(place).tokens
    if len(tokens) < _FEWEST or not are_words(tokens):
        return []
    options = SearchOptions("meaning", k=_NEAR, others=True, near=ByMeaning())
    search = searcher.near(mine, (place,), options)
    assert isinstance(search, MeaningSearch) and search.reach.tau is not None
    some = tokens.take(np.linspace(0, len(tokens) - 1, min(len(tokens), _ASKED)).astype(np.int64))
    try:
        encoder = search.meanings.encoder()
    except InputError:
        return []
    least = max(2, round(_SHARE * len(some)))
    nearness = Nearness(LARGEST * search.reach.tau, least=least, k=_NEAR)
    vectors = encoder.encode(some)
    hits = search.meanings.engine(encoder).search(vectors, nearness, search.excluded)
    shares = (hits.matched / len(some)).tolist()
    return list(zip(hits.segment.tolist(), hits.column.tolist(), shares, strict=True))


def _unit(vector: Array) -> Array:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
