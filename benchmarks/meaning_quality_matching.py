"""When do two texts match? Equality and similarities, as matrices of queries by targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lakejoin.encoders import open_encoder
from lakejoin.model import Array

Texts = Sequence[str]
Similarity = Callable[[Texts, Texts], Array]

OURS = "lakejoin"
LIKE_WORDS = 0.8  # words whose edit similarity is at least that may match in a fuzzy join


def similarities() -> dict[str, Similarity]:
    """The predicates of the paper's table IV, and edit distance."""
    return {
        "equi-join": equal,
        "Jaccard-join": jaccard,
        "edit distance": edit,
        "fuzzy-join": fuzzy,
        OURS: Meaning(),
    }


def equal(queries: Texts, targets: Texts) -> Array:
    """1 where two texts are the same."""
    number = {text: i for i, text in enumerate(dict.fromkeys(targets))}
    theirs = np.array([number[text] for text in targets])
    mine = np.array([number.get(text, -1) for text in queries])
    return (mine[:, None] == theirs[None, :]).astype(np.float32)


def edit(queries: Texts, targets: Texts) -> Array:
    """1 - the edit distance as a share of the longer text; below a half it is 0."""
    from rapidfuzz import distance, process

    scorer: Any = distance.Levenshtein.normalized_similarity
    found = process.cdist(queries, targets, scorer=scorer, score_cutoff=0.5, dtype=np.float32)
    return np.asarray(found)


def jaccard(queries: Texts, targets: Texts) -> Array:
    """Jaccard similarity of the sets of words."""
    return _by_words(queries, targets, lambda mine, theirs: [[(w, 1.0)] for w in mine])


def fuzzy(queries: Texts, targets: Texts) -> Array:
    """Fuzzy Jaccard similarity (Wang and others, Fast-Join): words match if they are alike.

    A word of mine counts by the edit similarity of the most similar word of theirs, if that is at
    least 0.8. Two words of mine may meet the same one of theirs, which the original forbids.
    """
    from rapidfuzz import distance, process

    scorer: Any = distance.Levenshtein.normalized_similarity

    def alike(mine: list[str], theirs: list[str]) -> list[list[tuple[str, float]]]:
        found = []
        for begin in range(0, len(mine), 256):
            some = mine[begin : begin + 256]
            cells = process.cdist(some, theirs, scorer=scorer, score_cutoff=LIKE_WORDS)
            for row in np.asarray(cells):
                at = np.flatnonzero(row >= LIKE_WORDS)
                found.append([(theirs[i], float(row[i])) for i in at])
        return found

    return _by_words(queries, targets, alike)


def _by_words(
    queries: Texts,
    targets: Texts,
    alike: Callable[[list[str], list[str]], list[list[tuple[str, float]]]],
) -> Array:
    """Jaccard similarity in which each word of mine counts by its best partner."""
    lists: dict[str, list[int]] = {}
    sizes = np.zeros(len(targets))
    for number, target in enumerate(targets):
        words = set(target.split())
        sizes[number] = len(words)
        for word in words:
            lists.setdefault(word, []).append(number)
    places = {word: np.array(own) for word, own in lists.items()}
    vocabulary = sorted({word for query in queries for word in query.split()})
    partners = dict(zip(vocabulary, alike(vocabulary, list(places)), strict=True))
    out = np.zeros((len(queries), len(targets)), np.float32)
    for row, query in enumerate(queries):
        words = set(query.split())
        shared = np.zeros(len(targets), np.float32)
        for word in words:
            best = np.zeros(len(targets), np.float32)
            for other, weight in partners[word]:
                if other in places:
                    at = places[other]
                    best[at] = np.maximum(best[at], weight)
            shared += best
        out[row] = shared / np.maximum(len(words) + sizes - shared, 1)
    return out


class Meaning:
    """1 - distance / 2 of the default encoder's vectors; 0 for a text that means nothing."""

    def __init__(self) -> None:
        self.encoder = open_encoder()

    def __call__(self, queries: Texts, targets: Texts) -> Array:
        cosine = self.encoder.encode(list(queries)) @ self.encoder.encode(list(targets)).T
        return similarity_of(cosine)


def similarity_of(cosine: Array) -> Array:
    """1 - tau, where tau is the distance as a share of the largest one."""
    found: Array = 1 - np.sqrt(np.maximum(2 - 2 * cosine.astype(np.float64), 0)) / 2
    return np.where(cosine == 0, 0.0, found).astype(np.float32)
