"""How like are two texts? By the parts of three letters that they share, rare ones more.

Which texts are the same, though written differently, is decided by the fuzzy join
(`joins/fuzzy`) of my keys with theirs. That looks at all of them together; so that a new row is
judged alone, only one number is kept of it: how like a text must be to be taken, for which as few
wrong ones would be as the fuzzy join allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_PRECISION = 0.9
_BLOCK = 1 << 10  # texts of mine that are compared at a time
_LEAST = 0.5  # whatever was learned


@dataclass(frozen=True)
class Likeness:
    """A text is taken for the one that is most like it, if it is `least` like it (0 to 1)."""

    least: float

    def nearest(self, mine: Sequence[str], theirs: Sequence[str]) -> Array:
        """The place in theirs of the text that each of mine is taken for, -1 for none."""
        place, alike = most_alike(mine, theirs)
        return np.where(alike >= self.least, place, -1)


def most_alike(mine: Sequence[str], theirs: Sequence[str]) -> tuple[Array, Array]:
    """The text of theirs that is most like each of mine, and how like it is, 0 to 1.

    >>> place, alike = most_alike(["city of bern"], ["basel", "bern", "bergen"])
    >>> place.tolist(), bool(alike[0] > 0.4)
    ([1], True)
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    place, alike = np.zeros(len(mine), np.int64), np.zeros(len(mine))
    # Weights are those of their texts, whatever mine are.
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
    try:
        others = vectors.fit_transform(theirs).T.tocsc()
    except ValueError:  # none has three letters
        return place, alike
    for begin in range(0, len(mine), _BLOCK):
        # Rare parts that theirs do not have make mine no less like them: their length is not mine.
        products = (vectors.transform(mine[begin : begin + _BLOCK]) @ others).tocsr()
        for row in range(products.shape[0]):
            part = slice(products.indptr[row], products.indptr[row + 1])
            if part.start < part.stop:
                best = np.lexsort((products.indices[part], -products.data[part]))[0]
                place[begin + row] = products.indices[part][best]
                alike[begin + row] = products.data[part][best]
    return place, np.clip(alike, 0.0, 1.0)


def learned_likeness(
    mine: pa.LargeStringArray, theirs: pa.LargeStringArray, known: tuple[Array, Array]
) -> Likeness | None:
    """How like texts must be, as the fuzzy join of two columns tells; None if it joins nothing.

    `known` are the places of texts of mine and of theirs that are the same already.
    """
    from lakejoin.joins.fuzzy import FuzzyOptions, fuzzy_matches

    waiting = np.setdiff1d(np.arange(len(mine)), known[0])
    if not len(waiting):
        return None
    found = fuzzy_matches(mine, theirs, FuzzyOptions(_PRECISION), known)
    partner = dict(zip(found.left_rows.tolist(), found.right_rows.tolist(), strict=True))
    if not partner:
        return None
    place, alike = most_alike(mine.take(waiting).to_pylist(), theirs.to_pylist())
    right = np.array([partner.get(i) == j for i, j in zip(waiting.tolist(), place, strict=True)])
    order = np.argsort(-alike, kind="stable")
    share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    fits = np.flatnonzero((share >= _PRECISION) & right[order] & (alike[order] >= _LEAST))
    return Likeness(float(alike[order][fits[-1]])) if len(fits) else None
