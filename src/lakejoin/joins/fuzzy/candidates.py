"""Find the keys most similar to a text, by shared words and 3-grams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.joins.fuzzy.parts import run_in_threads
from lakejoin.joins.fuzzy.corpus import Corpus, Tokens

Array = np.ndarray[Any, Any]

MOST_NEAREST = 8  # keys to compare per text: the right one is nearly always among the first few
# Posting list entries to read for all texts of a column, a fraction of a second; and the entries
# that each text may read in any case.
_WORK = 10_000_000
_LEAST_WORK = 1_000


@dataclass(frozen=True, eq=False)
class NearestKeys:
    """The nearest keys of every text, best first (-1: none), and their similarities."""

    keys: Array
    alike: Array


class TextIndex:
    """An inverted index of the right column's texts, to look up the most similar ones.

    Similarity is the mean of the cosines of words and of 3-grams, both weighted by rarity. A text
    finds keys by its rarest tokens, as many as `_WORK` allows, and compares these keys in full.
    That is exact for some 300 texts and keys; with more, a key that shares only common tokens with
    a text may be missed.
    """

    def __init__(self, corpus: Corpus) -> None:
        from lakejoin.kernels.fuzzy_tokens import build_token_lists

        self._begin = corpus.left
        self._tokens = _both(corpus.word_tokens, corpus.gram_tokens)
        t = self._tokens
        self._lists = build_token_lists(t.start, t.ids, t.weights, self._begin, t.count)

    def nearest(self, texts: Array, most: int = MOST_NEAREST) -> NearestKeys:
        """The keys most similar to texts, which are given by their corpus index."""
        from lakejoin.kernels.fuzzy_tokens import find_nearest_texts

        budget = max(_LEAST_WORK, _WORK // max(1, len(texts)))
        t = self._tokens

        def search(rows: slice) -> tuple[Array, Array]:
            return find_nearest_texts(
                t.start, t.ids, t.weights, texts[rows], self._begin, *self._lists, most, budget
            )

        results = run_in_threads(search, len(texts))
        return NearestKeys(*(np.concatenate(arrays) for arrays in zip(*results, strict=True)))


def _both(words: Tokens, grams: Tokens) -> Tokens:
    """Merge words and 3-grams into one kind of token, each with half of the weight."""
    texts = len(words.start) - 1
    start = words.start + grams.start
    ids = np.empty(start[-1], np.int32)
    weights = np.empty(start[-1], np.float32)
    shift = np.repeat(grams.start[:-1], np.diff(words.start))
    position = np.arange(len(words.ids)) + shift
    ids[position] = words.ids
    weights[position] = words.weights
    shift = np.repeat(words.start[1:], np.diff(grams.start))
    position = np.arange(len(grams.ids)) + shift
    ids[position] = grams.ids + words.count
    weights[position] = grams.weights
    assert texts == len(grams.start) - 1
    return Tokens(start, ids, weights * np.float32(np.sqrt(0.5)), words.count + grams.count)
