"""Evidence for and against pairs of texts, from which probabilities are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.joins.fuzzy.candidates import TextIndex, NearestKeys
from lakejoin.joins.fuzzy.parts import run_in_threads
from lakejoin.joins.fuzzy.corpus import Corpus

Array = np.ndarray[Any, Any]

_MOST_KEYS = 5_000  # to compare with each other: enough to learn which words distinguish keys
_ALIKE = 0.4  # least similarity of texts whose differences mean something
_CLEAR = 0.1  # lead of the best key over the second from which on it is hardly in doubt
# Bounds: a word that is often missing does not make a pair likely, and no word rules a pair out.
_DOUBT = (-1.0, 3.0)


@dataclass(frozen=True, eq=False)
class CandidatePairs:
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


def candidate_pairs(corpus: Corpus, texts: Array, near: NearestKeys, claimed: Array) -> CandidatePairs:
    """The pairs of each text with its nearest keys; `claimed` keys already have an equal text."""
    from lakejoin.kernels.fuzzy_tokens import compute_leads

    there = near.keys >= 0
    own = np.repeat(texts, there.sum(axis=1))
    keys, alike = near.keys[there].astype(np.int64), near.alike[there].astype(np.float64)
    text_lead = compute_leads(keys, alike, corpus.right)
    is_claimed = np.zeros(corpus.right, bool)
    is_claimed[claimed] = True
    text_lead[is_claimed[keys]] = np.minimum(text_lead, alike - 1.0)[is_claimed[keys]]
    return CandidatePairs(own, keys, alike, compute_leads(own, alike, corpus.left), text_lead)


def word_doubts(
    corpus: Corpus, index: TextIndex, pairs: CandidatePairs, known: tuple[Array, Array], seed: int
) -> Array:
    """How much each word, if only one of the texts has it, counts against a pair.

    A word that often distinguishes a key from its nearest key counts against; a word that differs
    in pairs that are hardly in doubt does not. The logarithm of the ratio of these rates; negative
    for words that may well be missing.
    """
    from lakejoin.kernels.fuzzy_distances import count_unpaired

    keys = np.arange(corpus.right)
    if len(keys) > _MOST_KEYS:
        keys = np.sort(np.random.default_rng(seed).choice(keys, _MOST_KEYS, replace=False))
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


def pair_features(corpus: Corpus, pairs: CandidatePairs, doubt: Array) -> Array:
    """The features of each pair, one row per pair."""
    from lakejoin.kernels.fuzzy_distances import compare_words

    c, keys = corpus, pairs.keys + corpus.left
    words = c.points, c.first, c.begins, c.ends, c.words, c.numeric, c.in_keys, c.rarity
    compared = np.concatenate(
        run_in_threads(
            lambda rows: compare_words(*words, doubt, pairs.texts[rows], keys[rows]), len(pairs)
        )
    )
    paired, unpaired = compared[:, 0], compared[:, 1] + compared[:, 2]
    return np.column_stack(
        [
            paired / np.maximum(paired + 0.5 * unpaired, 1e-9),
            (compared[:, 3] > 0) & (compared[:, 4] > 0),
            compared[:, 5] + compared[:, 6],
            pairs.key_lead,
            pairs.text_lead,
        ]
    )
