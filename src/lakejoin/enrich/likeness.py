"""How like are two texts? By the parts of three letters that they share, rare ones more.

Which texts are the same, though written differently, is decided by the fuzzy join (`joins/fuzzy`)
of my keys with theirs. That looks at all of them together; a new row must be judged alone. So it is
kept which texts were taken for which, and for all others how like a text must be: as like as those
that were joined, with as few wrong ones as the fuzzy join allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.their_table import TheirTable

Array = np.ndarray[Any, Any]

_PRECISION = 0.9
_BLOCK = 1 << 10  # texts of mine that are compared at a time
_LEAST = 0.4  # whatever was learned
_REACH = 0.05  # of my texts that must be joined, where nothing else speaks for a table


@dataclass(frozen=True, eq=False)
class Likeness:
    """A text is taken for the one that is `known` to be the same, or else for the one that is most
    like it, if it is `least` like it (0 to 1) by what `vectors` weigh."""

    vectors: Any
    least: float
    known: Mapping[str, str]

    def nearest(self, mine: Sequence[str], theirs: Sequence[str]) -> Array:
        """The place in theirs of the text that each of mine is taken for, -1 for none."""
        places = {text: place for place, text in enumerate(theirs)}
        found = np.array([places.get(self.known.get(text, ""), -1) for text in mine], np.int64)
        rest = np.flatnonzero([text not in self.known for text in mine])
        if len(rest):
            place, alike = most_alike(self.vectors, [mine[i] for i in rest.tolist()], theirs)
            found[rest] = np.where(alike >= self.least, place, -1)
        return found


def weighed_by(texts: Sequence[str]) -> Any:
    """What makes vectors of texts: rare parts of these count more."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
    return vectors.fit([*texts, "  "])


def most_alike(vectors: Any, mine: Sequence[str], theirs: Sequence[str]) -> tuple[Array, Array]:
    """The text of theirs that is most like each of mine, and how like it is, 0 to 1.

    >>> towns = ["basel", "bern", "bergen"]
    >>> place, alike = most_alike(weighed_by(towns), ["city of bern"], towns)
    >>> place.tolist(), bool(alike[0] > 0.4)
    ([1], True)
    """
    place, alike = np.zeros(len(mine), np.int64), np.zeros(len(mine))
    if not len(theirs):
        return place, alike
    others = vectors.transform(theirs).T.tocsc()
    for begin in range(0, len(mine), _BLOCK):
        products = (vectors.transform(mine[begin : begin + _BLOCK]) @ others).tocsr()
        rows = np.repeat(np.arange(products.shape[0]), np.diff(products.indptr))
        order = np.lexsort((products.indices, -products.data, rows))
        found, first = np.unique(rows, return_index=True)  # rows ascend, and so they do in order
        place[begin + found] = products.indices[order[first]]
        alike[begin + found] = products.data[order[first]]
    return place, np.clip(alike, 0.0, 1.0)


def learned_likeness(
    tokens: pa.LargeStringArray, table: TheirTable, column: str, alone: bool = False
) -> Likeness | None:
    """How like my texts and those of a column must be, as the fuzzy join of both tells; None if it
    joins nothing. Where nothing else speaks for the table (`alone`), the join must be believed."""
    import pyarrow as pa

    from lakejoin.joins.fuzzy import FuzzyOptions, find_fuzzy, fuzzy_matches

    codes = table.distinct(column)
    theirs = table.tokens(codes)
    mine, options = tokens, FuzzyOptions(_PRECISION)
    met = _known(table.find(tokens), codes)
    waiting = np.setdiff1d(np.arange(len(mine)), met[0])
    if not len(waiting) or not len(theirs):
        return None
    if alone:
        found = find_fuzzy(pa.table({"mine": mine}), pa.table({"theirs": theirs}), options)
        if found is None:
            return None
        matches = found.matches
        if len(np.unique(matches.left_rows)) < _REACH * len(mine):
            return None
    else:
        matches = fuzzy_matches(mine, theirs, options, met)
    partner = dict(zip(matches.left_rows.tolist(), matches.right_rows.tolist(), strict=True))
    if not partner:
        return None
    texts, others = mine.to_pylist(), theirs.to_pylist()
    vectors = weighed_by([*texts, *others])
    place, alike = most_alike(vectors, [texts[i] for i in waiting.tolist()], others)
    right = np.array([partner.get(i) == j for i, j in zip(waiting.tolist(), place, strict=True)])
    known = {texts[i]: others[j] for i, j in partner.items()}
    return Likeness(vectors, _least(alike, right), known)


def _least(alike: Array, right: Array) -> float:
    """How like texts must be for nearly all that are to be right; more than 1 if none are."""
    order = np.argsort(-alike, kind="stable")
    share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    fits = np.flatnonzero((share >= _PRECISION) & right[order] & (alike[order] >= _LEAST))
    return float(alike[order][fits[-1]]) if len(fits) else 2.0


def _known(found: Array, codes: Array) -> tuple[Array, Array]:
    """Places of my texts that a column holds, and their places there; codes ascend."""
    place = np.minimum(np.searchsorted(codes, found), max(0, len(codes) - 1))
    held = np.zeros(len(found), bool)
    if len(codes):
        held = (found != NOT_FOUND) & (codes[place] == found)
    return np.flatnonzero(held), place[held]
