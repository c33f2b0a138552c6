"""The constrained fuzzy join of two text columns.

The right column is the key: each left text matches at most one right text. Matches are chosen by
their probability of being correct, so that the mean probability reaches the requested precision;
rules then describe them in plain words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.fuzzy.candidates import TextIndex
from lakejoin.joins.fuzzy.match_choice import ChosenMatches, choose_matches
from lakejoin.joins.fuzzy.options import FuzzyOptions, FuzzyRule
from lakejoin.joins.fuzzy.corpus import FoldedColumn, fold_column, build_corpus

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


def _none(kind: type) -> Array:
    return np.zeros(0, kind)


@dataclass(frozen=True, eq=False)
class FuzzyMatches:
    """Matching rows, ordered by left and then by right row.

    `chance` is the estimated probability that a pair is correct; `rule` is the index in `rules` of
    the rule that matches it, and `distance` (0..1) the distance by that rule.
    """

    left_rows: Array = field(default_factory=lambda: _none(np.int64))
    right_rows: Array = field(default_factory=lambda: _none(np.int64))
    distance: Array = field(default_factory=lambda: _none(np.float64))
    chance: Array = field(default_factory=lambda: _none(np.float64))
    rule: Array = field(default_factory=lambda: _none(np.int64))
    rules: tuple[FuzzyRule, ...] = ()

    def __len__(self) -> int:
        return len(self.left_rows)


def fuzzy_matches(
    left: pa.Array,
    right: pa.Array,
    options: FuzzyOptions | None = None,
    known: tuple[Array, Array] | None = None,
) -> FuzzyMatches:
    """Match the rows of two text columns fuzzily; the right column is the key.

    `known` are (left rows, right rows) that are already matched. They keep their matches, are not
    returned again, and show which words may differ. Nulls, and texts without a letter or digit,
    match nothing.

    >>> import pyarrow as pa
    >>> left = pa.array(["Zürich (city)", "BERN", "City of Geneva", None, "Lugano"])
    >>> right = pa.array(["Geneva", "Zurich", "Bern", "Basel"])
    >>> found = fuzzy_matches(left, right)
    >>> list(zip(found.left_rows.tolist(), found.right_rows.tolist()))
    [(0, 1), (1, 2), (2, 0)]
    """
    options = options or FuzzyOptions()
    texts, keys = fold_column(left), fold_column(right)
    if not len(texts) or not len(keys):
        return FuzzyMatches()
    corpus = build_corpus(texts, keys)
    return _rows(texts, keys, choose_matches(corpus, _known_texts(texts, keys, known), options))


def _known_texts(
    left: FoldedColumn, right: FoldedColumn, known: tuple[Array, Array] | None
) -> tuple[Array, Array]:
    """The known matches as distinct pairs of texts."""
    if known is None or not len(known[0]):
        return _none(np.int64), _none(np.int64)
    texts, keys = left.rows[known[0]], right.rows[known[1]]
    valid = (texts >= 0) & (keys >= 0)
    both = np.unique(texts[valid] * len(right) + keys[valid])
    return both // len(right), both % len(right)


def _rows(texts: FoldedColumn, keys: FoldedColumn, chosen: ChosenMatches) -> FuzzyMatches:
    """Convert matching texts to rows: all rows of one text with all rows of the other."""
    pair_of = np.full(len(texts) + 1, -1, np.int64)  # the last entry is for rows without a text
    pair_of[chosen.texts] = np.arange(len(chosen.texts))
    left = np.flatnonzero(pair_of[texts.rows] >= 0)
    pair = pair_of[texts.rows[left]]
    by_key = np.argsort(keys.rows, kind="stable")
    ends = np.searchsorted(keys.rows[by_key], np.arange(len(keys) + 1))
    begin, stop = ends[chosen.keys[pair]], ends[chosen.keys[pair] + 1]
    counts = stop - begin
    position = np.repeat(begin - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
    of_rule = np.bincount(chosen.rule[pair], minlength=len(chosen.rules))
    new_index = np.cumsum(of_rule > 0) - 1  # of the rules that match anything
    rules = [FuzzyRule(*chosen.rules[i], int(of_rule[i])) for i in np.flatnonzero(of_rule)]
    pair = np.repeat(pair, counts)
    return FuzzyMatches(
        np.repeat(left, counts),
        by_key[position],
        chosen.distance[pair],
        chosen.chance[pair],
        new_index[chosen.rule[pair]],
        tuple(rules),
    )


def nearest_texts(left: pa.Array, right: pa.Array, rows: Array) -> tuple[Array, Array]:
    """The nearest right row of each of these left rows, and its distance; (-1, 1.0) if none.

    >>> import pyarrow as pa
    >>> nearest, far = nearest_texts(pa.array(["Bern!", "x"]), pa.array(["Basel", "Bern"]), [0, 1])
    >>> nearest.tolist(), far.tolist()
    ([1, -1], [0.0, 1.0])
    """
    rows = np.asarray(rows, np.int64)
    texts, keys = fold_column(left.take(rows)), fold_column(right)
    nearest, far = np.full(len(rows), -1, np.int64), np.ones(len(rows))
    if not len(texts) or not len(keys):
        return nearest, far
    corpus = build_corpus(texts, keys)
    near = TextIndex(corpus).nearest(np.arange(corpus.left), 1)
    first_row = np.full(len(keys) + 1, -1, np.int64)
    first_row[keys.rows[::-1]] = np.arange(len(keys.rows))[::-1]
    first_row[-1] = -1
    valid = texts.rows >= 0
    nearest[valid] = first_row[near.keys[texts.rows[valid], 0]]
    far[valid] = np.clip(1.0 - near.alike[texts.rows[valid], 0], 0.0, 1.0)
    return nearest, np.round(far, 6)
