"""Which texts join which keys? By their chances, or by the strict constraint of the thesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.joins.fuzzy.candidates import Index
from lakejoin.joins.fuzzy.chances import chances
from lakejoin.joins.fuzzy.evidence import Pairs, doubts, evidence, pairs_of
from lakejoin.joins.fuzzy.options import FuzzyOptions
from lakejoin.joins.fuzzy.rules import PLAIN, WEIGHED, describe, distances
from lakejoin.joins.fuzzy.strict import Constraint, strict_rule
from lakejoin.joins.fuzzy.texts import Corpus

Array = np.ndarray[Any, Any]
Known = tuple[Array, Array]  # numbers of texts and of keys that are joined already

_LIKELY = 0.5  # a pair that is more likely wrong than right is never joined


@dataclass(frozen=True, eq=False)
class Chosen:
    """Texts with the one key that each joins; why, by the number of a rule, and how surely.

    A rule is (tokens, distance, threshold).
    """

    texts: Array
    keys: Array
    distance: Array
    chance: Array
    rule: Array
    rules: list[tuple[str, str, float]]


def choose(corpus: Corpus, known: Known, options: FuzzyOptions) -> Chosen:
    """The texts that are not known yet and join, with their keys."""
    asked = np.ones(corpus.left, bool)
    asked[known[0]] = False
    claimed = np.unique(known[1])
    index = Index(corpus)
    texts = np.flatnonzero(asked)
    pairs = pairs_of(corpus, texts, index.nearest(texts), claimed)
    doubt = doubts(corpus, index, pairs, known, options.seed)
    chance = chances(evidence(corpus, pairs, doubt), pairs.texts)
    if options.precision == 1:
        others = index.nearest(np.flatnonzero(~asked))
        second = pairs_of(corpus, np.flatnonzero(~asked), others, claimed)
        return _strictly(corpus, pairs, chance, known, second, options.one_to_one)
    best = _best_of_texts(pairs, chance)
    if options.one_to_one:
        best = _best_of_keys(pairs, chance, best[~np.isin(pairs.keys[best], claimed)])
    return _likely(corpus, pairs.texts[best], pairs.keys[best], chance[best], options.precision)


def _best_of_texts(pairs: Pairs, chance: Array) -> Array:
    """The pair of the best chance of every text."""
    order = np.lexsort((pairs.keys, -chance, pairs.texts))
    return np.asarray(order[_first_of(pairs.texts[order])])


def _best_of_keys(pairs: Pairs, chance: Array, chosen: Array) -> Array:
    """Of the chosen pairs, the one of the best chance of every key."""
    order = chosen[np.lexsort((pairs.texts[chosen], -chance[chosen], pairs.keys[chosen]))]
    return np.sort(order[_first_of(pairs.keys[order])])


def _first_of(groups: Array) -> Array:
    first = np.ones(len(groups), bool)
    first[1:] = groups[1:] != groups[:-1]
    return first


def _likely(corpus: Corpus, texts: Array, keys: Array, chance: Array, precision: float) -> Chosen:
    """The most pairs whose mean chance keeps to the precision, and the rules that describe them."""
    joined = _sure_enough(chance, precision)
    far = distances(corpus, texts, keys)
    plain, rule = describe(far, joined, precision)
    distance = 1.0 - chance
    for number, (way, _) in enumerate(plain):
        distance[rule == number] = far[way, rule == number]
    rule[rule < 0] = len(plain)
    rules = [(*PLAIN[way], threshold) for way, threshold in plain]
    rules.append((*WEIGHED, float((1.0 - chance[joined]).max(initial=0.0))))
    j = joined
    return Chosen(texts[j], keys[j], distance[j], chance[j], rule[j], rules)


def _sure_enough(chance: Array, precision: float) -> Array:
    """The best pairs, as many as keep the mean of their chances to the precision."""
    order = np.argsort(-chance, kind="stable")
    mean = np.cumsum(chance[order]) / np.arange(1, len(order) + 1)
    enough = int(((mean >= precision) & (chance[order] >= _LIKELY)).sum())
    out = np.zeros(len(chance), bool)
    out[order[:enough]] = True
    return out


def _strictly(
    corpus: Corpus, pairs: Pairs, chance: Array, known: Known, second: Pairs, one_to_one: bool
) -> Chosen:
    """All pairs of the one rule that gives no text two keys, nor one to a text that has it."""
    count = len(pairs)
    texts = np.concatenate([pairs.texts, second.texts])
    keys = np.concatenate([pairs.keys, second.keys])
    far = distances(corpus, texts, keys)
    own = np.isin(texts * corpus.right + keys, known[0] * corpus.right + known[1])
    forbidden = (np.arange(len(texts)) >= count) & ~own
    if one_to_one:
        forbidden |= np.isin(keys, known[1]) & ~own
    rest = ~own
    way, threshold = strict_rule(
        far[:, rest], Constraint(texts[rest], keys[rest], forbidden[rest], one_to_one)
    )
    far = far[:, :count]
    joined = np.flatnonzero(far[way] <= threshold)
    return Chosen(
        pairs.texts[joined],
        pairs.keys[joined],
        far[way, joined],
        chance[joined],
        np.zeros(len(joined), np.int64),
        [(*PLAIN[way], threshold)],
    )
