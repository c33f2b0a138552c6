"""Which keys may a text join? The few that are most alike by the words and 3-grams they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.joins.fuzzy.parts import in_parts
from lakejoin.joins.fuzzy.texts import Corpus, Tokens

Array = np.ndarray[Any, Any]

MOST = 8  # keys a text that are looked at: the right one is hardly ever beyond the first few
# Entries of lists that a column's texts may read in all, a fraction of a second; and how many each
# may read however many there are.
_WORK = 10_000_000
_LEAST_WORK = 1_000


@dataclass(frozen=True, eq=False)
class Near:
    """For every query the numbers of its nearest keys, best first (-1: none), and how alike."""

    keys: Array
    alike: Array


class Index:
    """The right column's texts by token, to be asked for the most alike ones.

    Likeness is the mean of the cosines of words and of 3-grams, both weighted by rarity. A text
    finds keys by its rarest tokens, as many as `_WORK` allows for, and those found are compared in
    full. That is exact for some 300 texts and keys; with more, a key that shares only common
    tokens with a text may be missed.
    """

    def __init__(self, corpus: Corpus) -> None:
        from lakejoin.kernels.fuzzy_nearest import invert

        self._begin = corpus.left
        self._tokens = _both(corpus.word_tokens, corpus.gram_tokens)
        t = self._tokens
        self._lists = invert(t.start, t.ids, t.weights, self._begin, t.count)

    def nearest(self, texts: Array, most: int = MOST) -> Near:
        """The keys most alike to texts, given by their numbers in the corpus."""
        from lakejoin.kernels.fuzzy_nearest import nearest

        budget = max(_LEAST_WORK, _WORK // max(1, len(texts)))
        t = self._tokens

        def part(rows: slice) -> tuple[Array, Array]:
            return nearest(
                t.start, t.ids, t.weights, texts[rows], self._begin, *self._lists, most, budget
            )

        found = in_parts(part, len(texts))
        return Near(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def _both(words: Tokens, grams: Tokens) -> Tokens:
    """Words and 3-grams as tokens of one kind, each half of the weight."""
    texts = len(words.start) - 1
    start = words.start + grams.start
    ids = np.empty(start[-1], np.int32)
    weights = np.empty(start[-1], np.float32)
    shift = np.repeat(grams.start[:-1], np.diff(words.start))
    place = np.arange(len(words.ids)) + shift
    ids[place] = words.ids
    weights[place] = words.weights
    shift = np.repeat(words.start[1:], np.diff(grams.start))
    place = np.arange(len(grams.ids)) + shift
    ids[place] = grams.ids + words.count
    weights[place] = grams.weights
    assert texts == len(grams.start) - 1
    return Tokens(start, ids, weights * np.float32(np.sqrt(0.5)), words.count + grams.count)
