"""A few of my texts compared with the texts of many columns, each distinct text once.

Columns that are worth judging are often long and share most of their texts, and encoding a text
takes longer than comparing it. So the texts of all columns are encoded together, and in a long
column only those that the compact vectors show as the likely nearest to one of mine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakejoin.engines.meaning.match_rule import (
    Calibration,
    ColumnMatches,
    MatchTexts,
    NearestValues,
    weigh_matches,
)
from lakejoin.engines.meaning.near_columns import estimate_products
from lakejoin.engines.meaning.text_numbers import TextNumbers
from lakejoin.engines.meaning.vector_space import VectorSpace
from lakejoin.model import Array

_LONG = 2048  # texts of a column from which on not all of them are encoded
_NEAREST = 128  # texts of a long column that are compared with each of mine
_BATCH = 1 << 14
ReadTexts = Callable[[Array], pa.LargeStringArray]


@dataclass(frozen=True, eq=False)
class ComparedTexts:
    """Lake texts, by ascending vector id, compared with mine: a row for each of mine, with the
    cosines of each part of the vectors and the score of all parts."""

    calibration: Calibration
    mine: MatchTexts
    ids: Array
    cosines: tuple[Array, ...]
    score: Array

    @classmethod
    def of(
        cls,
        calibration: Calibration,
        mine: MatchTexts,
        space: VectorSpace,
        columns: Sequence[Array],
    ) -> ComparedTexts:
        """Compare the texts of columns, each given by its vector ids, ascending."""
        compared = [ids for ids in columns if len(ids) <= _LONG]
        long = [ids for ids in columns if len(ids) > _LONG]
        if long:
            every = _union(long, space.compact.count)
            estimated = estimate_products(space.compact, _join_parts(calibration, mine), every)
            compared += [_likely_nearest(estimated, every, ids) for ids in long]
        ids = _union(compared, space.compact.count)
        cosines = tuple(np.empty((len(mine), len(ids)), np.float32) for _ in mine.parts)
        for begin in range(0, len(ids), _BATCH):
            theirs = calibration.split(space.source.take(ids[begin : begin + _BATCH]))
            for out, ours, their in zip(cosines, mine.parts, theirs, strict=True):
                out[:, begin : begin + _BATCH] = ours @ their.T
        return cls(calibration, mine, ids, cosines, calibration.score(cosines))

    def match(self, ids: Array, read: ReadTexts, same: Array) -> ColumnMatches:
        """Match mine with a column of these vector ids, as `match_column` does. `read` gives its
        texts at some positions, for the numbers in them; `same` has the position of the equal
        value, or -1."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        position = np.flatnonzero(self.ids[at] == ids)
        nearest = self._nearest(at[position], lambda some: read(position[some]))
        partner = np.where(nearest.partner >= 0, position[nearest.partner], -1)
        found = NearestValues(
            partner, nearest.lead, nearest.back_lead, nearest.rarity, nearest.other_numbers
        )
        return weigh_matches(found, len(ids), same)

    def _nearest(self, at: Array, read: ReadTexts) -> NearestValues:
        """The nearest of some of the texts; `read` gives the texts themselves."""
        rows = np.arange(len(self.mine))
        score = self.score[:, at]
        mine = self.mine.numbers
        differ = None
        if mine.counts.any():  # texts conflict only if both have numbers
            conflict, differ = mine.compare(TextNumbers.of(read(np.arange(len(at)))))
            score[conflict] = -np.inf
        first = score.argmax(axis=1)
        best = score[rows, first].astype(np.float64)
        among_mine = score[:, first]  # how near each of mine is to the partners
        np.fill_diagonal(among_mine, -np.inf)
        others = among_mine.max(axis=0).astype(np.float64)
        score[rows, first] = -np.inf
        second = score.max(axis=1).astype(np.float64)
        if differ is None:  # none of mine has numbers
            differ_from_first = TextNumbers.of(read(first)).counts > 0
        else:
            differ_from_first = differ[rows, first]
        with np.errstate(invalid="ignore"):
            lead, back_lead = best - second, best - others
        rarity = self.calibration.rarity([cosine[rows, at[first]] for cosine in self.cosines])
        partner = np.where(np.isfinite(best), first, -1)
        return NearestValues(partner, lead, back_lead, rarity, differ_from_first.astype(np.float64))


def _union(ids: Sequence[Array], count: int) -> Array:
    """The vector ids in any of these arrays, ascending."""
    among = np.zeros(count, bool)
    for some in ids:
        among[some] = True
    return np.flatnonzero(among)


def _join_parts(calibration: Calibration, mine: MatchTexts) -> Array:
    """Vectors whose products with others order these as scores do."""
    parts = zip(mine.parts, calibration.curves, calibration.weights, strict=True)
    return np.concatenate([part * (weight / curve.deviation) for part, curve, weight in parts], 1)


def _likely_nearest(estimated: Array, every: Array, ids: Array) -> Array:
    """Of a column's vector ids, those with the largest estimates for one of mine."""
    of_column = estimated[:, np.searchsorted(every, ids)]
    best = np.argpartition(of_column, len(ids) - _NEAREST, axis=1)[:, -_NEAREST:]
    return np.asarray(ids[_union([best], len(ids))])
