"""The texts of a segment as vectors: kept ones, or encoded again where they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.search.vectors.lists import PostingLists
from lakejoin.search.vectors.space import Space

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.store.segment import Segment


def text_space(segment: Segment, encoder: Encoder) -> Space:
    """What a segment's texts mean, by the encoder that its index was made with."""
    meaning = segment.meaning
    source = meaning.source(segment.dictionary.texts, encoder)
    return Space(meaning.compact, source, PostingLists(segment, meaning.codes.all()))
