"""The vectors of a segment's texts: stored, or encoded again when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.engines.meaning.vector_space import PostingLists
from lakejoin.engines.meaning.space import VectorSpace

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.store.segment import Segment


def open_text_space(segment: Segment, encoder: Encoder) -> VectorSpace:
    """Open the vectors of a segment's texts; `encoder` must be the one that the index used."""
    meaning = segment.meaning
    source = meaning.source(segment.dictionary.texts, encoder)
    return VectorSpace(meaning.compact, source, PostingLists(segment, meaning.codes.all()))
