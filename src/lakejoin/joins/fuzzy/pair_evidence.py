"""Find the keys most similar to a text, and the probability that they match."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from lakejoin.joins.fuzzy.corpus import Corpus, Tokens
from lakejoin.kernels.fuzzy_distances import compare_words, count_unpaired
from lakejoin.kernels.fuzzy_tokens import build_token_lists, compute_leads, find_nearest_texts
from lakejoin.model import Array

_MOST_KEYS = 5_000  # to compare with each other: enough to learn which words distinguish keys
_ALIKE = 0.4  # least similarity of texts whose differences mean something
_NOTHING = 1e-9  # rarity
_CLEAR = 0.1  # lead of the best key over the second from which on it is hardly in doubt
# Bounds: a word that is often missing does not make a pair likely, and no word rules a pair out.
_DOUBT = (-1.0, 3.0)


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Indexes of texts and keys that may match; pairs of a text are adjacent.

    `key_lead` is how much more similar to its text the key is than any other key (negative if
    less), and `text_lead` how much more similar to its key the text is than any other text.
    """

    texts: Array
    keys: Array
    alike: Array
    key_lead: Array
    text_lead: Array

    def __len__(self) -> int:
        return len(self.texts)


def candidate_pairs(corpus: Corpus, texts: Array, near: NearestKeys, claimed: Array) -> TextPairs:
    """The pairs of each text with its nearest keys; `claimed` keys already have an equal text."""
    there = near.keys >= 0
    paired_texts = np.repeat(texts, there.sum(axis=1))
    keys, alike = near.keys[there].astype(np.int64), near.alike[there].astype(np.float64)
    text_lead = compute_leads(keys, alike, corpus.right)
    is_claimed = np.zeros(corpus.right, bool)
    is_claimed[claimed] = True
    text_lead[is_claimed[keys]] = np.minimum(text_lead, alike - 1.0)[is_claimed[keys]]
    key_lead = compute_leads(paired_texts, alike, corpus.left)
    return TextPairs(paired_texts, keys, alike, key_lead, text_lead)


def word_doubts(
    corpus: Corpus, index: TextIndex, pairs: TextPairs, known: tuple[Array, Array]
) -> Array:
    """How much each word, if only one of the texts has it, counts against a pair.

    A word that often distinguishes a key from its nearest key counts against; a word that differs
    in pairs that are hardly in doubt does not. The logarithm of the ratio of these rates; negative
    for words that may well be missing.
    """
    keys = np.arange(corpus.right)
    if len(keys) > _MOST_KEYS:
        keys = np.sort(np.random.default_rng(0).choice(keys, _MOST_KEYS, replace=False))
    near = index.nearest(keys + corpus.left, 1)
    close = near.alike[:, 0] >= _ALIKE
    c = corpus
    words = c.points, c.first, c.begins, c.ends, c.words, c.numeric, c.in_keys, c.rarity
    differing = count_unpaired(*words, keys[close] + c.left, near.keys[close, 0] + c.left)
    clear = (pairs.key_lead > _CLEAR) & (pairs.text_lead >= 0) & (pairs.alike >= _ALIKE)
    texts = np.concatenate([pairs.texts[clear], known[0]])
    matched_keys = np.concatenate([pairs.keys[clear], known[1]])
    same = count_unpaired(*words, texts, matched_keys + c.left)
    # Pairs of keys are counted from both sides, and there may be more keys than texts.
    scale = 0.5 * corpus.left / max(1, len(keys))
    return np.clip(np.log((differing * scale + 0.5) / (same + 0.5)), *_DOUBT)


def pair_features(corpus: Corpus, pairs: TextPairs, doubt: Array) -> Array:
    """The features of each pair, one row per pair."""
    c, keys = corpus, pairs.keys + corpus.left
    words = c.points, c.first, c.begins, c.ends, c.words, c.numeric, c.in_keys, c.rarity
    compared = np.concatenate(
        run_in_threads(
            lambda rows: compare_words(*words, doubt, pairs.texts[rows], keys[rows]), len(pairs)
        )
    )
    paired, unpaired = compared[:, 0], compared[:, 1] + compared[:, 2]
    # NGC 2218 is not Abell 2218: a number that is all they share says nothing.
    only_numbers = (compared[:, 7] < _NOTHING) & (compared[:, 1] > 0) & (compared[:, 2] > 0)
    paired[only_numbers] = 0.0
    return np.column_stack(
        [
            paired / np.maximum(paired + 0.5 * unpaired, 1e-9),
            (compared[:, 3] > 0) & (compared[:, 4] > 0),
            compared[:, 5] + compared[:, 6],
            pairs.key_lead,
            pairs.text_lead,
        ]
    )


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
        self._begin = corpus.left
        self._tokens = _both(corpus.word_tokens, corpus.gram_tokens)
        t = self._tokens
        self._lists = build_token_lists(t.start, t.ids, t.weights, self._begin, t.count)

    def nearest(self, texts: Array, most: int = MOST_NEAREST) -> NearestKeys:
        """The keys most similar to texts, which are given by their corpus index."""
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


# In the order of `pair_features`: the share of rarity that is paired, differing numbers on both
# sides, doubts from the unpaired words, leads over other keys and over other texts.
WEIGHTS = np.array([10.4, -1.3, -0.68, 1.2, 1.27])
INTERCEPT = -6.5  # intercept, as the choice "none" weighs 0
_USUAL = 0.8  # share of texts with a match in the training tables
_PRIOR_TEXTS = 10.0  # weight of that share as a prior, in texts
_ROUNDS = 50


def match_probabilities(evidence: Array, texts: Array) -> Array:
    """The probability of every pair; pairs of a text are adjacent and add up to at most 1."""
    if not len(texts):
        return np.zeros(0)
    group = np.cumsum(np.concatenate([[False], texts[1:] != texts[:-1]]))
    score = evidence @ WEIGHTS + INTERCEPT
    count = int(group[-1]) + 1
    top = np.zeros(count)
    np.maximum.at(top, group, score)
    weight = np.exp(score - top[group])
    total, none = np.bincount(group, weight, count), np.exp(-top)
    usual = _USUAL / (1 - _USUAL)
    share = _USUAL
    for _ in range(_ROUNDS):
        odds = share / (1 - share) / usual
        some = odds * total / (odds * total + none)
        share = float((some.sum() + _PRIOR_TEXTS * _USUAL) / (count + _PRIOR_TEXTS))
    odds = share / (1 - share) / usual
    return np.asarray(odds * weight / (odds * total + none)[group])


Result = TypeVar("Result")

_SMALLEST = 1000  # rows per thread: fewer are not worth one


def run_in_threads(work: Callable[[slice], Result], rows: int) -> list[Result]:
    """The results of `work` for consecutive slices of the rows, in order; at least one.

    >>> run_in_threads(lambda rows: list(range(5))[rows], 5)
    [[0, 1, 2, 3, 4]]
    """
    from concurrent.futures import ThreadPoolExecutor

    count = max(1, min(os.cpu_count() or 1, rows // _SMALLEST))
    ends = np.linspace(0, rows, count + 1).astype(int).tolist()
    slices = [slice(a, b) for a, b in pairwise(ends)]
    if count == 1:
        return [work(slices[0])]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, slices))
