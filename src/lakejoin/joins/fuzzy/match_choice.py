"""Choose a key for each text within the precision, and describe the choice by rules."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins.fuzzy.corpus import Corpus, Tokens, cut_grams
from lakejoin.joins.fuzzy.pair_evidence import (
    TextIndex,
    TextPairs,
    candidate_pairs,
    match_probabilities,
    pair_features,
    word_doubts,
)
from lakejoin.kernels.fuzzy_distances import (
    compute_edit_distances,
    compute_jaro_winkler_distances,
    count_shared_tokens,
)
from lakejoin.kernels.fuzzy_tokens import compute_similarities
from lakejoin.model import Array

KnownMatches = tuple[Array, Array]  # indexes of texts and keys that are already matched

_LIKELY = 0.5  # least probability of a match


def choose_matches(corpus: Corpus, known: KnownMatches, options: FuzzyOptions) -> FuzzyMatches:
    """Match the texts that are not known yet, each with at most one key."""
    unmatched = np.ones(corpus.left, bool)
    unmatched[known[0]] = False
    claimed = np.unique(known[1])
    index = TextIndex(corpus)
    texts = np.flatnonzero(unmatched)
    pairs = candidate_pairs(corpus, texts, index.nearest(texts), claimed)
    doubt = word_doubts(corpus, index, pairs, known)
    chance = match_probabilities(pair_features(corpus, pairs, doubt), pairs.texts)
    if options.precision == 1:
        matched = np.flatnonzero(~unmatched)
        second = candidate_pairs(corpus, matched, index.nearest(matched), claimed)
        return _take_strictly(corpus, pairs, chance, known, second, options.one_to_one)
    best = _best_of_texts(pairs, chance)
    if options.one_to_one:
        best = _best_of_keys(pairs, chance, best[~np.isin(pairs.keys[best], claimed)])
    texts, keys = pairs.texts[best], pairs.keys[best]
    return _take_likely(corpus, texts, keys, chance[best], options.precision)


def _best_of_texts(pairs: TextPairs, chance: Array) -> Array:
    """The most probable pair of every text."""
    order = np.lexsort((pairs.keys, -chance, pairs.texts))
    return np.asarray(order[_first_of(pairs.texts[order])])


def _best_of_keys(pairs: TextPairs, chance: Array, chosen: Array) -> Array:
    """The most probable of the chosen pairs of every key."""
    order = chosen[np.lexsort((pairs.texts[chosen], -chance[chosen], pairs.keys[chosen]))]
    return np.sort(order[_first_of(pairs.keys[order])])


def _first_of(groups: Array) -> Array:
    first = np.ones(len(groups), bool)
    first[1:] = groups[1:] != groups[:-1]
    return first


def _take_likely(
    corpus: Corpus, texts: Array, keys: Array, chance: Array, precision: float
) -> FuzzyMatches:
    """The most pairs whose mean probability reaches the precision, and rules describing them."""
    joined = _probable_enough(chance, precision)
    far = pair_distances(corpus, texts, keys)
    plain, rule = describe_matches(far, joined, precision)
    distance = 1.0 - chance
    for index, (measure, _) in enumerate(plain):
        distance[rule == index] = far[measure, rule == index]
    rule[rule < 0] = len(plain)
    rules = [FuzzyRule(*PLAIN_MEASURES[measure], threshold) for measure, threshold in plain]
    rules.append(FuzzyRule(*WEIGHTED_MEASURE, float((1.0 - chance[joined]).max(initial=0.0))))
    j = joined
    return FuzzyMatches(texts[j], keys[j], distance[j], chance[j], rule[j], tuple(rules))


def _probable_enough(chance: Array, precision: float) -> Array:
    """The most probable pairs, as many as keep their mean probability above the precision."""
    order = np.argsort(-chance, kind="stable")
    mean = np.cumsum(chance[order]) / np.arange(1, len(order) + 1)
    enough = int(((mean >= precision) & (chance[order] >= _LIKELY)).sum())
    chosen = np.zeros(len(chance), bool)
    chosen[order[:enough]] = True
    return chosen


def _take_strictly(
    corpus: Corpus,
    pairs: TextPairs,
    chance: Array,
    known: KnownMatches,
    second: TextPairs,
    one_to_one: bool,
) -> FuzzyMatches:
    """All pairs of the one rule that gives no text a second key."""
    count = len(pairs)
    texts = np.concatenate([pairs.texts, second.texts])
    keys = np.concatenate([pairs.keys, second.keys])
    far = pair_distances(corpus, texts, keys)
    is_known = np.isin(texts * corpus.right + keys, known[0] * corpus.right + known[1])
    forbidden = (np.arange(len(texts)) >= count) & ~is_known
    if one_to_one:
        forbidden |= np.isin(keys, known[1]) & ~is_known
    rest = ~is_known
    measure, threshold = strict_rule(
        far[:, rest], Constraint(texts[rest], keys[rest], forbidden[rest], one_to_one)
    )
    far = far[:, :count]
    joined = np.flatnonzero(far[measure] <= threshold)
    return FuzzyMatches(
        pairs.texts[joined],
        pairs.keys[joined],
        far[measure, joined],
        chance[joined],
        np.zeros(len(joined), np.int64),
        (FuzzyRule(*PLAIN_MEASURES[measure], threshold),),
    )


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
    c, key_texts = corpus, keys + corpus.left
    twos = cut_grams(c.points, c.first, c.begins, c.ends, 2, c.left)
    kinds = {"words": c.word_tokens, "2-grams": twos, "3-grams": c.gram_tokens}
    out = np.empty((len(PLAIN_MEASURES), len(texts)))
    for i, (tokens, distance) in enumerate(PLAIN_MEASURES):
        if distance == "edit":
            out[i] = compute_edit_distances(c.points, c.starts, texts, key_texts)
        elif distance == "jaro-winkler":
            out[i] = compute_jaro_winkler_distances(c.points, c.starts, texts, key_texts)
        else:
            out[i] = _set_distance(kinds[tokens], distance, texts, key_texts)
    return np.clip(out, 0.0, 1.0)


def _set_distance(tokens: Tokens, distance: str, left: Array, right: Array) -> Array:
    if distance == "cosine":
        alike = compute_similarities(tokens.start, tokens.ids, tokens.weights, left, right)
        return np.asarray(1.0 - alike)
    shared = count_shared_tokens(tokens.start, tokens.ids, left, right)
    sizes = np.diff(tokens.start)
    left_sizes, right_sizes = sizes[left], sizes[right]
    if distance == "containment":
        return np.asarray(1.0 - shared / np.maximum(np.minimum(left_sizes, right_sizes), 1))
    return np.asarray(1.0 - shared / np.maximum(left_sizes + right_sizes - shared, 1))


def describe_matches(
    far: Array, joined: Array, precision: float
) -> tuple[list[tuple[int, float]], Array]:
    """Plain rules (measure, threshold) that describe which pairs match, and each pair's rule.

    A rule's threshold is the largest within which at least a share `precision` of all pairs match;
    the rule that adds the most comes first. -1 for matches that no plain rule describes.
    """
    rule = np.full(far.shape[1], -1, np.int64)
    rules: list[tuple[int, float]] = []
    waiting = joined.copy()
    largest = [_largest_threshold(row, joined, precision) for row in far]
    while len(rules) < _MOST_PLAIN:
        adds = [int((waiting & (row <= s)).sum()) for row, s in zip(far, largest, strict=True)]
        best = int(np.argmax(adds))
        if adds[best] < max(2, _WORTH * joined.sum()):
            break
        chosen = waiting & (far[best] <= largest[best])
        rule[chosen] = len(rules)
        waiting &= ~chosen
        rules.append((best, largest[best]))
    return rules, rule


def _largest_threshold(far: Array, joined: Array, precision: float) -> float:
    """The largest threshold that keeps the precision; -1 if even the nearest pairs do not match."""
    order = np.argsort(far, kind="stable")
    steps = far[order]
    share = np.cumsum(joined[order]) / np.arange(1, len(order) + 1)
    # Pairs at equal distance match together or not at all.
    last = np.append(steps[1:] != steps[:-1], True)
    fits = np.flatnonzero(last & (share >= precision) & joined[order])
    return float(steps[fits[-1]]) if len(fits) else -1.0


@dataclass(frozen=True, eq=False)
class Constraint:
    """Pairs that may match, and the constraint on them.

    A `forbidden` pair would give a second key to a text that has one; with `one_to_one`, a pair
    whose key is taken is forbidden too, and no key may get two texts.
    """

    texts: Array
    keys: Array
    forbidden: Array
    one_to_one: bool

    def allows(self, within: Array) -> bool:
        """Whether these pairs may all match."""
        if self.forbidden[within].any():
            return False
        sides = [self.texts[within]] + [self.keys[within]] * self.one_to_one
        return all(np.bincount(side, minlength=1).max() <= 1 for side in sides)


def strict_rule(far: Array, constraint: Constraint) -> tuple[int, float]:
    """The measure (a row of `far`) and threshold that match the most; -1 for no threshold.

    >>> texts, keys, free = np.array([0, 0, 1]), np.array([0, 1, 1]), np.zeros(3, bool)
    >>> far = np.array([[0.1, 0.9, 0.5], [0.3, 0.3, 0.2]])
    >>> strict_rule(far, Constraint(texts, keys, free, False))
    (0, 0.5)
    """
    largest = [_largest(row, constraint) for row in far]
    joined = [int((row <= s).sum()) for row, s in zip(far, largest, strict=True)]
    best = int(np.argmax(joined))
    return best, largest[best]


def _largest(far: Array, constraint: Constraint) -> float:
    """The largest distance within which the constraint holds, or -1."""
    steps = np.unique(far)
    low, high = 0, len(steps)  # the first `low` steps hold, those from `high` on do not
    while low < high:
        middle = (low + high) // 2
        if constraint.allows(far <= steps[middle]):
            low = middle + 1
        else:
            high = middle
    return float(steps[low - 1]) if low else -1.0


_DISTANCES = {
    "jaccard": "Jaccard",
    "cosine": "cosine",
    "containment": "containment",
    "edit": "edit",
    "jaro-winkler": "Jaro-Winkler",
    "weighed": "weighted",
}


@dataclass(frozen=True, slots=True)
class FuzzyOptions:
    """How precise a fuzzy join must be, and how often a key may match.

    `precision` is the least share of correct matches, as estimated without examples. At 1, nothing
    is estimated: instead, a rule may not give any text two keys. With `one_to_one`, every key
    matches at most one distinct text.
    """

    precision: float = 0.9
    one_to_one: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.precision <= 1:
            raise InputError(f"precision must be above 0 and at most 1, not {self.precision}")


@dataclass(frozen=True, slots=True)
class FuzzyRule:
    """Texts match if the distance of their tokens is small; `rows` are the left rows it adds.

    >>> print(FuzzyRule("3-grams", "jaccard", 0.25, 7))
    Jaccard distance of 3-grams at most 0.25
    """

    tokens: str
    distance: str
    threshold: float
    rows: int = 0

    def __str__(self) -> str:
        most = math.ceil(self.threshold * 1000) / 1000
        return f"{_DISTANCES[self.distance]} distance of {self.tokens} at most {most:g}"


@dataclass(frozen=True, eq=False)
class FuzzyMatches:
    """Matching texts, or rows that are ordered by left and then by right row.

    `chance` is the estimated probability that a pair is correct; `rule` is the index in `rules` of
    the rule that matches it, and `distance` (0..1) the distance by that rule.
    """

    left_rows: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    right_rows: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    distance: Array = field(default_factory=lambda: np.zeros(0))
    chance: Array = field(default_factory=lambda: np.zeros(0))
    rule: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    rules: tuple[FuzzyRule, ...] = ()

    def __len__(self) -> int:
        return len(self.left_rows)
