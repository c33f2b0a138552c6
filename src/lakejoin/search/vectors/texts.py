"""The texts of a segment as vectors: kept ones, or encoded again where they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.vectors.lists import PostingLists
from lakejoin.search.vectors.space import Space

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.store.arrayfile import CheckedArray
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTexts:
    """Vectors of a segment's texts, made when they are asked for; `codes[id]` is a text's code."""

    segment: Segment
    encoder: Encoder
    codes: Array

    @property
    def count(self) -> int:
        """How many texts there are."""
        return len(self.codes)

    @property
    def dimension(self) -> int:
        """How many numbers the encoder gives."""
        return self.encoder.dimension

    def take(self, ids: Array) -> Array:
        """The vectors of some texts."""
        return self.encoder.encode(self.segment.dictionary.texts.take(self.codes[ids]))


@dataclass(frozen=True, slots=True, eq=False)
class KeptVectors:
    """Vectors that the index keeps whole."""

    kept: CheckedArray
    dimension: int

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.kept) // self.dimension

    def take(self, ids: Array) -> Array:
        """Some of them."""
        begin = np.asarray(ids, dtype=np.int64) * self.dimension
        whole = self.kept.touch(begin, begin + self.dimension).reshape(-1, self.dimension)
        return np.ascontiguousarray(whole[ids], dtype=np.float32)


def text_space(segment: Segment, encoder: Encoder) -> Space:
    """What a segment's texts mean, by the encoder that its index was made with."""
    meaning = segment.meaning
    codes = meaning.codes.all()
    source = (
        EncodedTexts(segment, encoder, codes)
        if meaning.vectors is None
        else KeptVectors(meaning.vectors, meaning.dimension)
    )
    return Space(meaning.compact, source, PostingLists(segment, codes))
