"""The vectors of a segment's texts: stored, or encoded again when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.search.vectors.lists import PostingLists
from lakejoin.search.vectors.space import Space

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.store.segment import Segment


def text_space(segment: Segment, encoder: Encoder) -> Space:
    """Open the vectors of a segment's texts; `encoder` must be the one that the index used."""
    meaning = segment.meaning
    source = meaning.source(segment.dictionary.texts, encoder)
    return Space(meaning.compact, source, PostingLists(segment, meaning.codes.all()))
