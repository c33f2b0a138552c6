"""Matches similar texts by their shared trigrams, weighing rare ones more.

The fuzzy join (`joins/fuzzy`) of the keys decides which texts are the same although written
differently. It looks at all keys together, but a new row must be matched alone. So the pairs it
joined are remembered, and for all other texts a minimum similarity: that of the joined pairs, at
the precision the fuzzy join requires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakejoin.model import Array
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.enrich.key_matches import LinkedTable

_PRECISION = 0.9
_BLOCK = 1 << 10  # texts compared at a time
_MIN_SIMILARITY = 0.4  # lower limit of the learned similarity
_MIN_JOINED = 0.05  # share of texts that must be joined if there is no other evidence for a table


@dataclass(frozen=True, eq=False)
class TextMatcher:
    """Matches a text to the one `known` to be the same, or else to the most similar one, if the
    similarity (0 to 1) of their `vectors` is at least `threshold`."""

    vectors: Any
    threshold: float
    known: Mapping[str, str]

    def match(self, texts: Sequence[str], candidates: Sequence[str]) -> Array:
        """The position in `theirs` of the match of each text in `mine`, -1 for none."""
        positions = {text: position for position, text in enumerate(candidates)}
        matches = np.array(
            [positions.get(self.known.get(text, ""), -1) for text in texts], np.int64
        )
        rest = np.flatnonzero([text not in self.known for text in texts])
        if len(rest):
            position, alike = most_similar(
                self.vectors, [texts[i] for i in rest.tolist()], candidates
            )
            matches[rest] = np.where(alike >= self.threshold, position, -1)
        return matches


def fit_vectorizer(texts: Sequence[str]) -> Any:
    """Fit a vectorizer that weighs trigrams rare in these texts more."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
    return vectors.fit([*texts, "  "])


def most_similar(
    vectors: Any, texts: Sequence[str], candidates: Sequence[str]
) -> tuple[Array, Array]:
    """The position of the most similar candidate for each of the `texts`, and its similarity.

    >>> towns = ["basel", "bern", "bergen"]
    >>> position, alike = most_similar(fit_vectorizer(towns), ["city of bern"], towns)
    >>> position.tolist(), bool(alike[0] > 0.4)
    ([1], True)
    """
    position, alike = np.zeros(len(texts), np.int64), np.zeros(len(texts))
    if not len(candidates):
        return position, alike
    others = vectors.transform(candidates).T.tocsc()
    for begin in range(0, len(texts), _BLOCK):
        products = (vectors.transform(texts[begin : begin + _BLOCK]) @ others).tocsr()
        rows = np.repeat(np.arange(products.shape[0]), np.diff(products.indptr))
        order = np.lexsort((products.indices, -products.data, rows))
        row, first = np.unique(rows, return_index=True)  # rows ascend, also in this order
        position[begin + row] = products.indices[order[first]]
        alike[begin + row] = products.data[order[first]]
    return position, np.clip(alike, 0.0, 1.0)


def learn_matcher(
    tokens: pa.LargeStringArray, table: LinkedTable, column: str, alone: bool = False
) -> TextMatcher | None:
    """Learn from the fuzzy join how similar texts and those of a column must be; None if it joins
    nothing. If there is no other evidence for the table (`alone`), the join must be credible."""
    from lakejoin.joins.fuzzy.fuzzy_join import find_fuzzy_join, fuzzy_matches
    from lakejoin.joins.fuzzy.match_choice import FuzzyOptions

    codes = table.distinct_codes(column)
    theirs = table.tokens(codes)
    mine, options = tokens, FuzzyOptions(_PRECISION)
    equal = _equal_texts(table.find(tokens), codes)
    rest = np.setdiff1d(np.arange(len(mine)), equal[0])
    if not len(rest) or not len(theirs):
        return None
    if alone:
        join = find_fuzzy_join(pa.table({"mine": mine}), pa.table({"theirs": theirs}), options)
        if join is None:
            return None
        matches = join.matches
        if len(np.unique(matches.left_rows)) < _MIN_JOINED * len(mine):
            return None
    else:
        matches = fuzzy_matches(mine, theirs, options, equal)
    joined = dict(zip(matches.left_rows.tolist(), matches.right_rows.tolist(), strict=True))
    if not joined:
        return None
    texts, others = mine.to_pylist(), theirs.to_pylist()
    vectors = fit_vectorizer([*texts, *others])
    nearest, alike = most_similar(vectors, [texts[i] for i in rest.tolist()], others)
    right = np.array([joined.get(i) == j for i, j in zip(rest.tolist(), nearest, strict=True)])
    known = {texts[i]: others[j] for i, j in joined.items()}
    return TextMatcher(vectors, _least(alike, right), known)


def _least(alike: Array, right: Array) -> float:
    """The least similarity at which the precision holds; more than 1 if there is none."""
    order = np.argsort(-alike, kind="stable")
    share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    fits = np.flatnonzero((share >= _PRECISION) & right[order] & (alike[order] >= _MIN_SIMILARITY))
    return float(alike[order][fits[-1]]) if len(fits) else 2.0


def _equal_texts(found: Array, codes: Array) -> tuple[Array, Array]:
    """Positions of the texts that a column contains, and their positions there; codes ascend."""
    position = np.minimum(np.searchsorted(codes, found), max(0, len(codes) - 1))
    held = np.zeros(len(found), bool)
    if len(codes):
        held = (found != NOT_FOUND) & (codes[position] == found)
    return np.flatnonzero(held), position[held]
