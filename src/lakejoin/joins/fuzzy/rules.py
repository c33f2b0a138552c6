"""The rules that describe a fuzzy join: tokens, a distance and its largest threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.joins.fuzzy.corpus import Corpus, Tokens, grams

Array = np.ndarray[Any, Any]

PLAIN_MEASURES = (
    ("words", "jaccard"),
    ("words", "cosine"),
    ("words", "containment"),
    ("2-grams", "jaccard"),
    ("3-grams", "jaccard"),
    ("3-grams", "cosine"),
    ("3-grams", "containment"),
    ("letters", "edit"),
    ("letters", "jaro-winkler"),
)
WEIGHTED_MEASURE = ("words and 3-grams", "weighed")
_MOST_PLAIN = 3  # rules to show
_WORTH = 0.05  # least share of the matches that a rule must add


def pair_distances(corpus: Corpus, texts: Array, keys: Array) -> Array:
    """The distance of pairs by each of the plain measures, one row per measure."""
    from lakejoin.kernels.fuzzy_distances_more import (
        compute_edit_distances,
        compute_jaro_winkler_distances,
    )

    c, theirs = corpus, keys + corpus.left
    twos = grams(c.points, c.first, c.begins, c.ends, 2, c.left)
    kinds = {"words": c.word_tokens, "2-grams": twos, "3-grams": c.gram_tokens}
    out = np.empty((len(PLAIN_MEASURES), len(texts)))
    for i, (tokens, distance) in enumerate(PLAIN_MEASURES):
        if distance == "edit":
            out[i] = compute_edit_distances(c.points, c.starts, texts, theirs)
        elif distance == "jaro-winkler":
            out[i] = compute_jaro_winkler_distances(c.points, c.starts, texts, theirs)
        else:
            out[i] = _set_distance(kinds[tokens], distance, texts, theirs)
    return np.clip(out, 0.0, 1.0)


def _set_distance(tokens: Tokens, distance: str, left: Array, right: Array) -> Array:
    from lakejoin.kernels.fuzzy_distances_more import count_shared_tokens
    from lakejoin.kernels.fuzzy_tokens import compute_similarities

    if distance == "cosine":
        alike = compute_similarities(tokens.start, tokens.ids, tokens.weights, left, right)
        return np.asarray(1.0 - alike)
    shared = count_shared_tokens(tokens.start, tokens.ids, left, right)
    sizes = np.diff(tokens.start)
    left_sizes, right_sizes = sizes[left], sizes[right]
    if distance == "containment":
        return np.asarray(1.0 - shared / np.maximum(np.minimum(left_sizes, right_sizes), 1))
    return np.asarray(1.0 - shared / np.maximum(left_sizes + right_sizes - shared, 1))


def describe_matches(far: Array, joined: Array, precision: float) -> tuple[list[tuple[int, float]], Array]:
    """Plain rules (measure, threshold) that describe which pairs match, and each pair's rule.

    A rule's threshold is the largest within which at least a share `precision` of all pairs match;
    the rule that adds the most comes first. -1 for matches that no plain rule describes.
    """
    rule = np.full(far.shape[1], -1, np.int64)
    found: list[tuple[int, float]] = []
    waiting = joined.copy()
    largest = [_largest_threshold(row, joined, precision) for row in far]
    while len(found) < _MOST_PLAIN:
        adds = [int((waiting & (row <= s)).sum()) for row, s in zip(far, largest, strict=True)]
        best = int(np.argmax(adds))
        if adds[best] < max(2, _WORTH * joined.sum()):
            break
        chosen = waiting & (far[best] <= largest[best])
        rule[chosen] = len(found)
        waiting &= ~chosen
        found.append((best, largest[best]))
    return found, rule


def _largest_threshold(far: Array, joined: Array, precision: float) -> float:
    """The largest threshold that keeps the precision; -1 if even the nearest pairs do not match."""
    order = np.argsort(far, kind="stable")
    steps = far[order]
    share = np.cumsum(joined[order]) / np.arange(1, len(order) + 1)
    # Pairs at equal distance match together or not at all.
    last = np.append(steps[1:] != steps[:-1], True)
    fits = np.flatnonzero(last & (share >= precision) & joined[order])
    return float(steps[fits[-1]]) if len(fits) else -1.0
