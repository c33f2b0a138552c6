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
from lakejoin.joins.fuzzy.choosing import Chosen, choose
from lakejoin.joins.fuzzy.options import FuzzyOptions, Rule
from lakejoin.joins.fuzzy.texts import Column, column_of, corpus_of

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


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
    return _rows(mine, theirs, choose(corpus, _known_texts(mine, theirs, known), options))


def _known_texts(
    mine: Column, theirs: Column, known: tuple[Array, Array] | None
) -> tuple[Array, Array]:
    """What is joined already, as distinct pairs of texts."""
    if known is None or not len(known[0]):
        return _none(np.int64), _none(np.int64)
    texts, keys = mine.rows[known[0]], theirs.rows[known[1]]
    said = (texts >= 0) & (keys >= 0)
    both = np.unique(texts[said] * len(theirs) + keys[said])
    return both // len(theirs), both % len(theirs)


def _rows(mine: Column, theirs: Column, chosen: Chosen) -> FuzzyMatches:
    """Texts and keys as rows: all rows of the one text with all rows of the other."""
    pair_of = np.full(len(mine) + 1, -1, np.int64)  # the last one is of rows without a text
    pair_of[chosen.texts] = np.arange(len(chosen.texts))
    left = np.flatnonzero(pair_of[mine.rows] >= 0)
    pair = pair_of[mine.rows[left]]
    by_key = np.argsort(theirs.rows, kind="stable")
    ends = np.searchsorted(theirs.rows[by_key], np.arange(len(theirs) + 1))
    begin, stop = ends[chosen.keys[pair]], ends[chosen.keys[pair] + 1]
    times = stop - begin
    place = np.repeat(begin - np.cumsum(times) + times, times) + np.arange(int(times.sum()))
    of_rule = np.bincount(chosen.rule[pair], minlength=len(chosen.rules))
    number = np.cumsum(of_rule > 0) - 1  # of the rules that join anything
    rules = [Rule(*chosen.rules[i], int(of_rule[i])) for i in np.flatnonzero(of_rule)]
    pair = np.repeat(pair, times)
    return FuzzyMatches(
        np.repeat(left, times),
        by_key[place],
        chosen.distance[pair],
        chosen.chance[pair],
        number[chosen.rule[pair]],
        tuple(rules),
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
