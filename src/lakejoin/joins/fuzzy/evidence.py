"""What speaks for a pair of texts, and what against it? The evidence that chances are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.joins.fuzzy.candidates import Index, Near
from lakejoin.joins.fuzzy.parts import in_parts
from lakejoin.joins.fuzzy.texts import Corpus

Array = np.ndarray[Any, Any]

_MOST_KEYS = 5_000  # that are compared among each other: enough to know the words that tell apart
_ALIKE = 0.4  # from which on two texts have enough in common that what differs says something
_CLEAR = 0.1  # how much more alike than the second the best key is where it is hardly in doubt
# A word that is missing everywhere does not make a pair likely, nor one word alone impossible.
_DOUBT = (-1.0, 3.0)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Texts and keys that may join, by their numbers; those of a text stand together.

    `key_lead` is how much more alike to its text the key is than any other key (below 0 if it is
    less), and `text_lead` how much more alike to its key the text is than any other text.
    """

    texts: Array
    keys: Array
    alike: Array
    key_lead: Array
    text_lead: Array

    def __len__(self) -> int:
        return len(self.texts)


def pairs_of(corpus: Corpus, texts: Array, near: Near, claimed: Array) -> Pairs:
    """The pairs of each text with its nearest keys; `claimed` keys have an equal text already."""
    from lakejoin.kernels.fuzzy_nearest import leads

    there = near.keys >= 0
    own = np.repeat(texts, there.sum(axis=1))
    keys, alike = near.keys[there].astype(np.int64), near.alike[there].astype(np.float64)
    text_lead = leads(keys, alike, corpus.right)
    is_claimed = np.zeros(corpus.right, bool)
    is_claimed[claimed] = True
    text_lead[is_claimed[keys]] = np.minimum(text_lead, alike - 1.0)[is_claimed[keys]]
    return Pairs(own, keys, alike, leads(own, alike, corpus.left), text_lead)


def doubts(
    corpus: Corpus, index: Index, pairs: Pairs, known: tuple[Array, Array], seed: int
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
    words = c.points, c.first, c.begins, c.ends, c.words, c.numeric, c.in_keys, c.rarity
    apart = count_open(*words, keys[close] + c.left, near.keys[close, 0] + c.left)
    clear = (pairs.key_lead > _CLEAR) & (pairs.text_lead >= 0) & (pairs.alike >= _ALIKE)
    texts = np.concatenate([pairs.texts[clear], known[0]])
    theirs = np.concatenate([pairs.keys[clear], known[1]])
    same = count_open(*words, texts, theirs + c.left)
    # A pair of keys is met from both sides, and there may be more keys than texts.
    scale = 0.5 * corpus.left / max(1, len(keys))
    return np.clip(np.log((apart * scale + 0.5) / (same + 0.5)), *_DOUBT)


def evidence(corpus: Corpus, pairs: Pairs, doubt: Array) -> Array:
    """What is known of each pair, a row of numbers."""
    from lakejoin.kernels.fuzzy_words import compare_words

    c, theirs = corpus, pairs.keys + corpus.left
    words = c.points, c.first, c.begins, c.ends, c.words, c.numeric, c.in_keys, c.rarity
    said = np.concatenate(
        in_parts(
            lambda rows: compare_words(*words, doubt, pairs.texts[rows], theirs[rows]), len(pairs)
        )
    )
    paired, apart = said[:, 0], said[:, 1] + said[:, 2]
    return np.column_stack(
        [
            paired / np.maximum(paired + 0.5 * apart, 1e-9),
            (said[:, 3] > 0) & (said[:, 4] > 0),
            said[:, 5] + said[:, 6],
            pairs.key_lead,
            pairs.text_lead,
        ]
    )
