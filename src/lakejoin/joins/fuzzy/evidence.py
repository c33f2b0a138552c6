"""What speaks for a pair of texts, and what against it? The evidence that chances are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.joins.fuzzy.candidates import Index, Near
from lakejoin.joins.fuzzy.texts import Corpus

Array = np.ndarray[Any, Any]

_MOST_KEYS = 5_000  # that are compared among each other: enough to know the words that tell apart
_ALIKE = 0.4  # from which on two texts have enough in common that what differs says something
_CLEAR = 0.1  # how much more alike than the second the best key is where it is hardly in doubt
# A word that is missing everywhere is no evidence for a pair, and none that is missing once is proof.
_DOUBT = (-1.0, 3.0)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Texts and keys that may join, by their numbers; those of a text stand together."""

    texts: Array
    keys: Array
    alike: Array

    def __len__(self) -> int:
        return len(self.texts)


def pairs_of(texts: Array, near: Near) -> Pairs:
    """The pairs of each text with its nearest keys."""
    there = near.keys >= 0
    own = np.repeat(texts, there.sum(axis=1))
    return Pairs(own, near.keys[there].astype(np.int64), near.alike[there].astype(np.float64))


def lead_of_key(pairs: Pairs) -> Array:
    """How much more alike to its text each pair's key is than any other key: below 0 if less."""
    return _lead(pairs.texts, pairs.alike)


def lead_of_text(pairs: Pairs, claimed: Array) -> Array:
    """The same from the key's side; `claimed` keys have a text that equals them already."""
    taken = np.bincount(claimed, minlength=1)
    lead = _lead(pairs.keys, pairs.alike)
    is_claimed = np.zeros(max(len(taken), int(pairs.keys.max(initial=0)) + 1), bool)
    is_claimed[claimed] = True
    return np.where(is_claimed[pairs.keys], np.minimum(lead, pairs.alike - 1.0), lead)


def _lead(group: Array, value: Array) -> Array:
    """Each value less the largest other one of its group."""
    order = np.lexsort((-value, group))
    first = np.ones(len(order), bool)
    first[1:] = group[order[1:]] != group[order[:-1]]
    best = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    sorted_value = value[order]
    other = sorted_value[best]
    second = best + 1
    has_second = second < len(order)
    has_second[has_second] &= ~first[second[has_second]]
    runner_up = np.where(has_second, sorted_value[np.minimum(second, len(order) - 1)], 0.0)
    lead = np.empty(len(order))
    lead[order] = sorted_value - np.where(first, runner_up, other)
    return lead


def doubts(
    corpus: Corpus, index: Index, pairs: Pairs, claimed: Array, known: Pairs, seed: int
) -> Array:
    """How much each word, where one text has it and the other lacks it, speaks against a pair.

    Keys differ from each other: a word that is often what tells a key from its nearest one speaks
    against. A word that differs where the pair is hardly in doubt does not matter. The logarithm of
    the one rate over the other; below zero for words that may well be missing.
    """
    from lakejoin.kernels.fuzzy_words import count_open

    keys = np.arange(corpus.right)
    if len(keys) > _MOST_KEYS:
        keys = np.sort(np.random.default_rng(seed).choice(keys, _MOST_KEYS, replace=False))
    near = index.nearest(keys + corpus.left, 1)
    close = near.alike[:, 0] >= _ALIKE
    c = corpus
    words = c.points, c.first, c.begins, c.ends, c.words, c.numeric, c.rarity
    apart = count_open(*words, keys[close] + c.left, near.keys[close, 0] + c.left)
    clear = (lead_of_key(pairs) > _CLEAR) & (lead_of_text(pairs, claimed) >= 0)
    clear &= pairs.alike >= _ALIKE
    texts = np.concatenate([pairs.texts[clear], known.texts])
    theirs = np.concatenate([pairs.keys[clear], known.keys])
    same = count_open(*words, texts, theirs + c.left)
    # A pair of keys is met from both sides, and there may be more keys than texts.
    scale = 0.5 * corpus.left / max(1, len(keys))
    return np.clip(np.log((apart * scale + 0.5) / (same + 0.5)), *_DOUBT)


def evidence(corpus: Corpus, pairs: Pairs, claimed: Array, doubt: Array) -> Array:
    """What is known of each pair, a row of numbers."""
    from lakejoin.kernels.fuzzy_words import compare_words

    c = corpus
    said = compare_words(
        c.points, c.first, c.begins, c.ends, c.words, c.numeric, c.rarity, doubt,
        pairs.texts, pairs.keys + c.left,
    )  # fmt: skip
    paired, mine, theirs = said[:, 0], said[:, 1], said[:, 2]
    return np.column_stack(
        [
            paired / np.maximum(paired + 0.5 * (mine + theirs), 1e-9),
            (said[:, 3] > 0) & (said[:, 4] > 0),
            said[:, 5] + said[:, 6],
            lead_of_key(pairs),
            lead_of_text(pairs, claimed),
        ]
    )
