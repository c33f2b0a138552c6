"""Which rows join although their texts differ? The constrained fuzzy join of two columns.

The right column is the key: each text of the left one joins at most one of its texts. What is
joined is chosen by chance of being right, so that the mean chance keeps to the precision asked for;
rules then say it in plain words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.fuzzy.candidates import Index
from lakejoin.joins.fuzzy.chances import chances
from lakejoin.joins.fuzzy.evidence import Pairs, doubts, evidence, pairs_of
from lakejoin.joins.fuzzy.options import FuzzyOptions, Rule
from lakejoin.joins.fuzzy.rules import PLAIN, WEIGHED, describe, distances
from lakejoin.joins.fuzzy.texts import Column, Corpus, column_of, corpus_of

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_LIKELY = 0.5  # a pair that is more likely wrong than right is never joined


def _none(kind: type) -> Array:
    return np.zeros(0, kind)


@dataclass(frozen=True, eq=False)
class FuzzyMatches:
    """Rows that join, by left and then right row; how far apart their texts are, and why they join.

    `chance` is the estimated probability that a pair is right; `rule` is the place in `rules` of
    the rule that joins it, and `distance` (0..1) the distance by that rule.
    """

    left_rows: Array = field(default_factory=lambda: _none(np.int64))
    right_rows: Array = field(default_factory=lambda: _none(np.int64))
    distance: Array = field(default_factory=lambda: _none(np.float64))
    chance: Array = field(default_factory=lambda: _none(np.float64))
    rule: Array = field(default_factory=lambda: _none(np.int64))
    rules: tuple[Rule, ...] = ()

    def __len__(self) -> int:
        return len(self.left_rows)


def fuzzy_matches(
    left: pa.Array,
    right: pa.Array,
    options: FuzzyOptions | None = None,
    known: tuple[Array, Array] | None = None,
) -> FuzzyMatches:
    """The rows of two columns of text that join fuzzily; the right column is the key.

    `known` are (left rows, right rows) that are joined already. They keep their partners, are not
    returned again, and tell which words may differ. Nulls, and texts without a letter or a digit,
    join nothing.

    >>> import pyarrow as pa
    >>> mine = pa.array(["Zürich (city)", "BERN", "City of Geneva", None, "Lugano"])
    >>> theirs = pa.array(["Geneva", "Zurich", "Bern", "Basel"])
    >>> found = fuzzy_matches(mine, theirs)
    >>> list(zip(found.left_rows.tolist(), found.right_rows.tolist()))
    [(0, 1), (1, 2), (2, 0)]
    """
    options = options or FuzzyOptions()
    mine, theirs = column_of(left), column_of(right)
    if not len(mine) or not len(theirs):
        return FuzzyMatches()
    corpus = corpus_of(mine, theirs)
    best, chance = _best_pairs(corpus, mine, theirs, options, known)
    if not len(best):
        return FuzzyMatches()
    joined = _sure_enough(chance, options.precision)
    if not joined.any():
        return FuzzyMatches()
    far = distances(corpus, best.texts, best.keys)
    plain, rule = describe(far, joined, options.precision)
    distance = np.where(rule < 0, 1.0 - chance, 0.0)
    for number, (way, _) in enumerate(plain):
        distance[rule == number] = far[way, rule == number]
    rule[rule < 0] = len(plain)
    names = [(*PLAIN[way], s) for way, s in plain]
    names.append((*WEIGHED, float(1.0 - chance[joined].min())))
    return _rows(mine, theirs, best, joined, distance, chance, rule, names)


def _best_pairs(
    corpus: Corpus,
    mine: Column,
    theirs: Column,
    options: FuzzyOptions,
    known: tuple[Array, Array] | None,
) -> tuple[Pairs, Array]:
    """Every text that is asked for with the key of the best chance, and that chance."""
    joined = _known_pairs(mine, theirs, known)
    asked = np.ones(corpus.left, bool)
    asked[joined.texts] = False
    claimed = np.unique(joined.keys)
    index = Index(corpus)
    texts = np.flatnonzero(asked)
    pairs = pairs_of(texts, index.nearest(texts))
    doubt = doubts(corpus, index, pairs, claimed, joined, options.seed)
    chance = chances(evidence(corpus, pairs, claimed, doubt), pairs.texts)
    order = np.lexsort((pairs.keys, -chance, pairs.texts))
    best = order[_first_of(pairs.texts[order])]
    if options.one_to_one:
        best = best[~np.isin(pairs.keys[best], claimed)]
        order = best[np.lexsort((pairs.texts[best], -chance[best], pairs.keys[best]))]
        best = np.sort(order[_first_of(pairs.keys[order])])
    return Pairs(pairs.texts[best], pairs.keys[best], pairs.alike[best]), chance[best]


def _first_of(groups: Array) -> Array:
    first = np.ones(len(groups), bool)
    first[1:] = groups[1:] != groups[:-1]
    return first


def _known_pairs(mine: Column, theirs: Column, known: tuple[Array, Array] | None) -> Pairs:
    """What is joined already, as distinct pairs of texts."""
    if known is None or not len(known[0]):
        return Pairs(_none(np.int64), _none(np.int64), _none(np.float64))
    texts, keys = mine.rows[known[0]], theirs.rows[known[1]]
    said = (texts >= 0) & (keys >= 0)
    both = np.unique(texts[said] * len(theirs) + keys[said])
    return Pairs(both // len(theirs), both % len(theirs), np.ones(len(both)))


def _sure_enough(chance: Array, precision: float) -> Array:
    """The most pairs whose mean chance keeps to the precision, the best ones first."""
    order = np.argsort(-chance, kind="stable")
    mean = np.cumsum(chance[order]) / np.arange(1, len(order) + 1)
    enough = int(((mean >= precision) & (chance[order] >= _LIKELY)).sum())
    out = np.zeros(len(chance), bool)
    out[order[:enough]] = True
    return out


def _rows(
    mine: Column,
    theirs: Column,
    best: Pairs,
    joined: Array,
    distance: Array,
    chance: Array,
    rule: Array,
    names: list[tuple[str, str, float]],
) -> FuzzyMatches:
    """Pairs of texts as pairs of rows: all rows of the one text with all rows of the other."""
    pair_of = np.full(len(mine) + 1, -1, np.int64)
    pair_of[best.texts[joined]] = np.flatnonzero(joined)
    left = np.flatnonzero(pair_of[mine.rows] >= 0)
    pair = pair_of[mine.rows[left]]
    by_key = np.argsort(theirs.rows, kind="stable")
    ends = np.searchsorted(theirs.rows[by_key], np.arange(len(theirs) + 1))
    begin, stop = ends[best.keys[pair]], ends[best.keys[pair] + 1]
    times = stop - begin
    place = np.repeat(begin - np.cumsum(times) + times, times) + np.arange(int(times.sum()))
    of_rule = np.bincount(rule[pair], minlength=len(names))
    used = np.flatnonzero(of_rule)
    number = np.cumsum(of_rule > 0) - 1
    pair = np.repeat(pair, times)
    return FuzzyMatches(
        np.repeat(left, times),
        by_key[place],
        distance[pair],
        chance[pair],
        number[rule[pair]],
        tuple(Rule(*names[i], int(of_rule[i])) for i in used),
    )


def nearest_texts(left: pa.Array, right: pa.Array, rows: Array) -> tuple[Array, Array]:
    """The nearest right row of each of these left rows, and how far it is; (-1, 1.0) if none is.

    >>> import pyarrow as pa
    >>> nearest, far = nearest_texts(pa.array(["Bern!", "x"]), pa.array(["Basel", "Bern"]), [0, 1])
    >>> nearest.tolist(), far.tolist()
    ([1, -1], [0.0, 1.0])
    """
    rows = np.asarray(rows, np.int64)
    mine, theirs = column_of(left.take(rows)), column_of(right)
    nearest, far = np.full(len(rows), -1, np.int64), np.ones(len(rows))
    if not len(mine) or not len(theirs):
        return nearest, far
    corpus = corpus_of(mine, theirs)
    near = Index(corpus).nearest(np.arange(corpus.left), 1)
    first_row = np.full(len(theirs) + 1, -1, np.int64)
    first_row[theirs.rows[::-1]] = np.arange(len(theirs.rows))[::-1]
    first_row[-1] = -1
    said = mine.rows >= 0
    nearest[said] = first_row[near.keys[mine.rows[said], 0]]
    far[said] = np.clip(1.0 - near.alike[mine.rows[said], 0], 0.0, 1.0)
    return nearest, np.round(far, 6)
