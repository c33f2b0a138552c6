"""Fold the texts of two columns and cut them into words and 3-grams.

Words that are one word elsewhere in the two columns ("super cup", "supercup") are joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from lakejoin.joins.fuzzy.folded_texts import fold_text, join_words
from lakejoin.kernels.fuzzy_distances import MAX_WORDS
from lakejoin.kernels.fuzzy_tokens import (
    compute_unit_weights,
    count_tokens,
    cut_words,
    hash_grams,
    hash_words,
    index_hashes,
    mark_words_with,
)
from lakejoin.model import Array

_NUMBER = 4  # letters that a number counts for at least: a single digit says more than a letter
# Articles, prepositions and "and" of the most common languages of names.
_GRAMMAR = (
    *("the", "of", "and", "a", "an", "in", "at", "on", "for", "to", "by", "with"),
    *("de", "la", "le", "les", "du", "des", "et", "el", "los", "las", "del", "y", "e"),
    *("da", "do", "dos", "di", "der", "die", "das", "den", "dem", "von", "und", "im", "am", "zu"),
)


@dataclass(frozen=True, eq=False)
class FoldedTexts:
    """The distinct non-empty folded texts of a column, and each row's text (or -1)."""

    texts: list[str]
    rows: Array

    def __len__(self) -> int:
        return len(self.texts)


def fold_texts(values: pa.Array | pa.ChunkedArray) -> FoldedTexts:
    """A column's distinct texts, without nulls and texts without a letter or digit.

    >>> column = fold_texts(pa.array(["Bern", None, "?", "Zug", "Bern"]))
    >>> column.texts, column.rows.tolist()
    (['bern', 'zug'], [0, -1, -1, 1, 0])
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    coded = values.cast(pa.large_string()).dictionary_encode()
    folded = [fold_text(text) if text else "" for text in coded.dictionary.to_pylist()]
    index = np.full(len(folded) + 1, -1, np.int64)
    valid = np.array([bool(text) for text in folded] + [False], bool)
    index[valid] = np.arange(int(valid.sum()))
    codes = coded.indices.fill_null(len(folded)).to_numpy(zero_copy_only=False)
    return FoldedTexts([text for text in folded if text], index[codes])


@dataclass(frozen=True, eq=False)
class Tokens:
    """Every text's distinct tokens, ascending, at `start`; weights have length 1 per text."""

    start: Array
    ids: Array
    weights: Array
    count: int  # of distinct tokens


@dataclass(frozen=True, eq=False)
class Corpus:
    """The texts of both columns, left before right, as code points, words and 3-grams."""

    left: int
    right: int
    points: Array
    starts: Array
    first: Array  # word of each text
    begins: Array  # of each word in the points
    ends: Array
    words: Array  # the id of each word
    numeric: Array  # whether a word id is a number
    in_keys: Array  # whether a word id is in the right column
    rarity: Array  # of a word id, 0..1
    word_tokens: Tokens
    gram_tokens: Tokens


def build_corpus(left: FoldedTexts, right: FoldedTexts) -> Corpus:
    """Cut the texts of two columns into words and 3-grams."""
    texts = join_words(left.texts + right.texts)
    starts = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=starts[1:])
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    first, begins, ends = cut_words(points, starts, MAX_WORDS)
    hashes = hash_words(points, begins, ends)
    words, seen = index_hashes(hashes)
    tokens, rarity = _weigh_tokens(first, words, len(seen), len(left))
    numeric = _mark_numeric(points, begins[seen], ends[seen])
    in_keys = np.zeros(len(seen), bool)
    in_keys[words[first[len(left)] :]] = True
    lengths = np.maximum((ends - begins)[seen], np.where(numeric, _NUMBER, 0))
    rarity *= _weight_of_words(hashes[seen], lengths) / np.log1p(len(texts))
    threes = cut_grams(points, first, begins, ends, 3, len(left))
    return Corpus(
        len(left), len(right), points, starts, first, begins, ends, words, numeric, in_keys,
        rarity, tokens, threes,
    )  # fmt: skip


def cut_grams(
    points: Array, first: Array, begins: Array, ends: Array, size: int, left: int
) -> Tokens:
    """The q-grams of texts, the first `left` of which are of the left column."""
    start, hashes = hash_grams(points, first, begins, ends, size)
    ids, seen = index_hashes(hashes)
    return _weigh_tokens(start, ids, len(seen), left)[0]


def _weigh_tokens(start: Array, ids: Array, distinct: int, left: int) -> tuple[Tokens, Array]:
    """Tokens with their weights, and the rarity of each: ln(1 + texts / texts that contain it).

    The column that contains it more often counts: a token is not less rare for being in both.
    """
    start, ids, counts = count_tokens(start, ids)
    sides = ids[: start[left]], ids[start[left] :]
    frequency = np.maximum(*(np.bincount(side, minlength=distinct) for side in sides))
    rarity = np.log1p((len(start) - 1) / np.maximum(frequency, 1))
    return Tokens(start, ids, compute_unit_weights(start, ids, counts, rarity), distinct), rarity


def _mark_numeric(points: Array, begins: Array, ends: Array) -> Array:
    digits = [point for point in np.unique(points).tolist() if chr(point).isdigit()]
    return mark_words_with(points, np.isin(points, digits), begins, ends)


def _weight_of_words(hashes: Array, lengths: Array) -> Array:
    """The weight of words by themselves, 0..1: short ones less, grammatical ones hardly any.

    In a large column these are common anyway; in a small one that does not show.
    """
    weight = 1.0 - 0.5**lengths
    return np.where(np.isin(hashes, _hashes(_GRAMMAR)), 0.25 * weight, weight)


@cache
def _hashes(words: tuple[str, ...]) -> Array:
    ends = np.cumsum([len(word) for word in words])
    points = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    return hash_words(points, np.concatenate([[0], ends[:-1]]), ends)
