"""Choose a key for each text, by probability or by the strict constraint of the thesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.joins.fuzzy.candidates import TextIndex
from lakejoin.joins.fuzzy.chances import match_probabilities
from lakejoin.joins.fuzzy.pair_evidence import (
    CandidatePairs,
    word_doubts,
    pair_features,
    candidate_pairs,
)
from lakejoin.joins.fuzzy.options import FuzzyOptions
from lakejoin.joins.fuzzy.rules import (
    PLAIN_MEASURES,
    WEIGHTED_MEASURE,
    describe_matches,
    pair_distances,
)
from lakejoin.joins.fuzzy.strict import Constraint, strict_rule
from lakejoin.joins.fuzzy.corpus import Corpus

Array = np.ndarray[Any, Any]
KnownMatches = tuple[Array, Array]  # indexes of texts and keys that are already matched

_LIKELY = 0.5  # least probability of a match


@dataclass(frozen=True, eq=False)
class ChosenMatches:
    """Texts with the key that each matches, the index of the rule, and the probability.

    A rule is (tokens, distance, threshold).
    """

    texts: Array
    keys: Array
    distance: Array
    chance: Array
    rule: Array
    rules: list[tuple[str, str, float]]


def choose_matches(corpus: Corpus, known: KnownMatches, options: FuzzyOptions) -> ChosenMatches:
    """Match the texts that are not known yet."""
    unmatched = np.ones(corpus.left, bool)
    unmatched[known[0]] = False
    claimed = np.unique(known[1])
    index = TextIndex(corpus)
    texts = np.flatnonzero(unmatched)
    pairs = candidate_pairs(corpus, texts, index.nearest(texts), claimed)
    doubt = word_doubts(corpus, index, pairs, known, options.seed)
    chance = match_probabilities(pair_features(corpus, pairs, doubt), pairs.texts)
    if options.precision == 1:
        matched = np.flatnonzero(~unmatched)
        second = candidate_pairs(corpus, matched, index.nearest(matched), claimed)
        return _strictly(corpus, pairs, chance, known, second, options.one_to_one)
    best = _best_of_texts(pairs, chance)
    if options.one_to_one:
        best = _best_of_keys(pairs, chance, best[~np.isin(pairs.keys[best], claimed)])
    return _likely(corpus, pairs.texts[best], pairs.keys[best], chance[best], options.precision)


def _best_of_texts(pairs: CandidatePairs, chance: Array) -> Array:
    """The most probable pair of every text."""
    order = np.lexsort((pairs.keys, -chance, pairs.texts))
    return np.asarray(order[_first_of(pairs.texts[order])])


def _best_of_keys(pairs: CandidatePairs, chance: Array, chosen: Array) -> Array:
    """The most probable of the chosen pairs of every key."""
    order = chosen[np.lexsort((pairs.texts[chosen], -chance[chosen], pairs.keys[chosen]))]
    return np.sort(order[_first_of(pairs.keys[order])])


def _first_of(groups: Array) -> Array:
    first = np.ones(len(groups), bool)
    first[1:] = groups[1:] != groups[:-1]
    return first


def _likely(corpus: Corpus, texts: Array, keys: Array, chance: Array, precision: float) -> ChosenMatches:
    """The most pairs whose mean probability reaches the precision, and rules describing them."""
    joined = _probable_enough(chance, precision)
    far = pair_distances(corpus, texts, keys)
    plain, rule = describe_matches(far, joined, precision)
    distance = 1.0 - chance
    for index, (measure, _) in enumerate(plain):
        distance[rule == index] = far[measure, rule == index]
    rule[rule < 0] = len(plain)
    rules = [(*PLAIN_MEASURES[measure], threshold) for measure, threshold in plain]
    rules.append((*WEIGHTED_MEASURE, float((1.0 - chance[joined]).max(initial=0.0))))
    j = joined
    return ChosenMatches(texts[j], keys[j], distance[j], chance[j], rule[j], rules)


def _probable_enough(chance: Array, precision: float) -> Array:
    """The most probable pairs, as many as keep their mean probability above the precision."""
    order = np.argsort(-chance, kind="stable")
    mean = np.cumsum(chance[order]) / np.arange(1, len(order) + 1)
    enough = int(((mean >= precision) & (chance[order] >= _LIKELY)).sum())
    chosen = np.zeros(len(chance), bool)
    chosen[order[:enough]] = True
    return chosen


def _strictly(
    corpus: Corpus, pairs: CandidatePairs, chance: Array, known: KnownMatches, second: CandidatePairs, one_to_one: bool
) -> ChosenMatches:
    """All pairs of the one rule that gives no text a second key."""
    count = len(pairs)
    texts = np.concatenate([pairs.texts, second.texts])
    keys = np.concatenate([pairs.keys, second.keys])
    far = pair_distances(corpus, texts, keys)
    own = np.isin(texts * corpus.right + keys, known[0] * corpus.right + known[1])
    forbidden = (np.arange(len(texts)) >= count) & ~own
    if one_to_one:
        forbidden |= np.isin(keys, known[1]) & ~own
    rest = ~own
    measure, threshold = strict_rule(
        far[:, rest], Constraint(texts[rest], keys[rest], forbidden[rest], one_to_one)
    )
    far = far[:, :count]
    joined = np.flatnonzero(far[measure] <= threshold)
    return ChosenMatches(
        pairs.texts[joined],
        pairs.keys[joined],
        far[measure, joined],
        chance[joined],
        np.zeros(len(joined), np.int64),
        [(*PLAIN_MEASURES[measure], threshold)],
    )
