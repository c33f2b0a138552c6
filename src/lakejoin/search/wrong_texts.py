"""Detect texts that have a meaning, and make texts that are certainly wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.store.meaning_vectors import TEXT_TYPES

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.segment import Segment

_LETTERS = 5  # median letters of a text: shorter ones are codes
_NUMBERS = 0.2  # of the texts may contain a digit
_LOOKED_AT = 200  # texts to check
_WRONG = 16  # texts of each kind
_COLUMNS = 64  # to draw wrong texts from


def look_like_words(tokens: pa.LargeStringArray) -> bool:
    """Whether a sample of texts has words, and not codes, numbers, dates or addresses, which a
    meaning cannot tell apart.

    >>> import pyarrow as pa
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
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = pa.array(list(map(str, TEXT_TYPES)), pa.string())
    types = segment.catalog.columns["type"].cast(pa.string())
    texts = np.asarray(pc.is_in(types, value_set=kinds)) & np.asarray(segment.indexed, dtype=bool)
    return np.flatnonzero(texts & (np.asarray(segment.catalog.columns["distinct"]) > 0)).tolist()
