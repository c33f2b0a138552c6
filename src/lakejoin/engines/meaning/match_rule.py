"""Which value of a column a value matches, and the chance that the match is right.

No radius separates another word for a thing from its siblings: monday is as near to tuesday as car
to automobile. The column does: the match of a value is the nearest value *of that column*, the
value must in turn be the nearest of mine, and the runners-up on both sides must be farther.

Words and characters are compared separately, each on the scale of unrelated texts: the *rarity* of
a similarity is how many powers of ten fewer pairs of unrelated texts reach it. The rarer of the two
counts, so a match is near in words *or* in characters. The chance is a logistic model of the rarity
in a column of this size, and of the leads over the runners-up. As all are measured against
unrelated texts, one set of weights serves every encoder (docs/pexeso.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from lakejoin.engines.meaning.text_numbers import TextNumbers
from lakejoin.model import Array, TextEncoder

SURE = 0.9  # chance from which a pair is called a match, unless the caller says otherwise
# Fitted on the tuning half of benchmarks/meaning_cases.py, by benchmarks/meaning_rule.py --fit.
CONSTANT = -8.6
WEIGHTS = (1.33, 0.29, 0.34, -0.2)  # of rarity, lead, lead on the way back, other numbers
_GIVEN_CONSTANT, _GIVEN_PAIR, _GIVEN_SHARE = 3.2, 0.5, 1.7
_MOST_SHARE = 0.4  # a larger share was rarely seen when fitting, and adds no trust
_EQUAL_SHARE = 0.3  # equal values show that a column suits mine, but not that others match too
_PRIOR_SHARE, _PRIOR = 0.15, 4.0  # a column of few values says little: so many values more
_USUAL_SIZE = 50  # values of a column that the weights were fitted with
_MOST_LEAD = 5.0  # leads, in deviations of unrelated texts
_MOST_RARITY = 8.0
_STEPS = np.arange(0.5, 4.01, 0.25)  # rarities that are read off unrelated pairs
_SAMPLE = 512  # texts compared with the unrelated ones
_BLOCK = 1 << 9
_EQUAL = 0.999  # a cosine from which two texts have the same words


@dataclass(frozen=True, eq=False, slots=True)
class NullCurve:
    """How similar unrelated texts are: mean and deviation of their cosines, and the cosines that
    fewer and fewer pairs reach."""

    mean: float
    deviation: float
    cosines: Array

    @classmethod
    def of(cls, cosines: Array) -> NullCurve:
        """The curve of some cosines of unrelated texts.

        >>> curve = NullCurve.of(np.linspace(-0.5, 0.5, 100_001))
        >>> curve.rarity(np.array([0.4, 0.49])).round(1).tolist()
        [1.0, 2.0]
        """
        ordered = np.sort(np.asarray(cosines, np.float64))
        at = np.minimum(len(ordered) - 1, (len(ordered) * (1 - 10.0**-_STEPS)).astype(np.int64))
        rising = np.maximum.accumulate(ordered[at] + 1e-6 * np.arange(len(at)))
        return cls(float(ordered.mean()), max(float(ordered.std()), 1e-6), rising)

    def rarity(self, cosine: Array) -> Array:
        """-log10 of the share of unrelated pairs that are at least this similar; beyond what the
        sample shows, along its last straight line."""
        first, last = self.cosines[-7], self.cosines[-1]
        slope = (_STEPS[-1] - _STEPS[-7]) / max(1e-3, last - first)
        beyond = _STEPS[-1] + (cosine - last) * slope
        inside = np.interp(cosine, self.cosines, _STEPS)
        rarity = np.minimum(np.where(cosine > last, beyond, inside), _MOST_RARITY)
        return np.where(cosine >= _EQUAL, _MOST_RARITY, rarity)

    def cosine_of(self, rarity: float) -> float:
        """The least cosine with that rarity, at most 1."""
        grid = np.linspace(-1, 1, 2001)
        reached = self.rarity(grid) >= rarity
        return float(grid[np.argmax(reached)]) if reached.any() else 1.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """What unrelated texts look like to an encoder: a curve for each part of its vectors.

    `sizes` are the dimensions of the parts: words and characters, or all in one.
    """

    sizes: tuple[int, ...]
    curves: tuple[NullCurve, ...]
    weights: tuple[float, ...]  # of the parts when the nearest value is sought

    @classmethod
    def of(cls, encoder: TextEncoder, texts: Sequence[str] | pa.Array) -> Calibration:
        """Calibrate on a sample of `texts` against others that are certainly unrelated."""
        sizes = encoder_parts(encoder)
        step = max(1, len(texts) // _SAMPLE)
        some = texts[::step] if len(texts) else texts
        ours = split_parts(encoder.encode(pa.array(list(_strings(some)), pa.large_string())), sizes)
        curves = []
        for mine, (theirs, among) in zip(ours, _compare_unrelated(encoder), strict=True):
            cosines = np.concatenate([among, (mine @ theirs.T).ravel()])
            curves.append(NullCurve.of(cosines[cosines < _EQUAL]))
        weights = getattr(encoder, "part_weights", None) or (1 / len(sizes),) * len(sizes)
        return cls(sizes, tuple(curves), weights)

    def split(self, vectors: Array) -> tuple[Array, ...]:
        return split_parts(vectors, self.sizes)

    def score(self, cosines: Sequence[Array]) -> Array:
        """How near texts are, all parts together, from the cosines of each part."""
        score = np.zeros(cosines[0].shape, np.float32)
        for cosine, curve, weight in zip(cosines, self.curves, self.weights, strict=True):
            score += np.float32(weight) * ((cosine - curve.mean) / curve.deviation)
        return score

    def rarity(self, cosines: Sequence[Array]) -> Array:
        """The rarity of the rarer part, from the cosines of each part."""
        pairs = zip(cosines, self.curves, strict=True)
        return np.asarray(np.max([curve.rarity(cosine) for cosine, curve in pairs], axis=0))

    def limits(self, sure: float) -> tuple[float, ...]:
        """For each part, the farthest that a match may be, as a share of the largest distance: in a
        column of usual size that suits my values well, where no other value comes close."""
        logit = (float(_logit(np.array(sure))) - float(_given_column(np.zeros(1), 1.0)[0])) / (
            _GIVEN_PAIR
        )
        leads = (WEIGHTS[1] + WEIGHTS[2]) * _MOST_LEAD
        rarity = (logit - CONSTANT - leads) / WEIGHTS[0]
        cosines = np.array([curve.cosine_of(rarity) for curve in self.curves])
        return tuple((np.sqrt(np.maximum(2 - 2 * cosines, 0)) / 2).tolist())


@dataclass(frozen=True, eq=False)
class MatchTexts:
    """The texts of one side, by the parts of their vectors, with their numbers."""

    parts: tuple[Array, ...]
    numbers: TextNumbers

    @classmethod
    def of(cls, calibration: Calibration, vectors: Array, texts: Any) -> MatchTexts:
        return cls(calibration.split(vectors), TextNumbers.of(texts))

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Array) -> MatchTexts:
        """Some of the texts."""
        return MatchTexts(tuple(part[rows] for part in self.parts), self.numbers.take(rows))


@dataclass(frozen=True, eq=False, slots=True)
class ColumnMatches:
    """For each of my values its best partner in a column (-1 for none), the `rarity` of their
    similarity and the `chance` that it is right, given all matches of the column. `share` is the
    expected share of my values with a right match."""

    partner: Array
    rarity: Array
    chance: Array
    share: float

    def spread(self, rows: Array, count: int) -> ColumnMatches:
        """These matches as those of the values at `rows` among `count`; the others have none."""
        partner, (rarity, chance) = np.full(count, -1, np.int64), np.zeros((2, count))
        partner[rows], rarity[rows], chance[rows] = self.partner, self.rarity, self.chance
        return ColumnMatches(partner, rarity, chance, self.share)


def match_column(
    calibration: Calibration, mine: MatchTexts, theirs: MatchTexts, same: Array
) -> ColumnMatches:
    """Match my values with those of a column; `same` has the position of the equal value, or -1.

    An equal value is the match of a value, and certain.
    """
    count = len(mine)
    if not count or not len(theirs):
        return ColumnMatches(np.full(count, -1), np.zeros(count), np.zeros(count), 0.0)
    return weigh_matches(find_nearest_values(calibration, mine, theirs), len(theirs), same)


def weigh_matches(nearest: NearestValues, size: int, same: Array) -> ColumnMatches:
    """The matches with the nearest values of a column of `size`; `same` as in `match_column`."""
    logit = measure_evidence(nearest, size) @ np.array(WEIGHTS) + CONSTANT
    equal = same >= 0
    found = equal | ((nearest.partner >= 0) & (nearest.back_lead >= 0))
    logit = np.where(equal, 12.0, np.where(found, logit, -12.0))
    chance = 1 / (1 + np.exp(-logit))
    share = float(chance.mean())
    others = chance[~equal]
    differing = (float(others.sum()) + _PRIOR_SHARE * _PRIOR) / (len(others) + _PRIOR)
    given = _given_column(logit, max(differing, min(share, _EQUAL_SHARE)))
    final = np.where(equal, 1.0, np.where(found, 1 / (1 + np.exp(-given)), 0.0))
    partner = np.where(equal, same, np.where(found, nearest.partner, -1))
    return ColumnMatches(partner, nearest.rarity, final, share)


def _given_column(logit: Array, share: float) -> Array:
    """The log odds of pairs in a column in which that share of my values are expected to have a
    right match."""
    column = float(_logit(np.array(min(share, _MOST_SHARE))))
    return _GIVEN_CONSTANT + _GIVEN_PAIR * logit + _GIVEN_SHARE * column


@dataclass(frozen=True, eq=False, slots=True)
class NearestValues:
    """For each of my values the nearest of the column, and how far it leads on both sides."""

    partner: Array
    lead: Array
    back_lead: Array
    rarity: Array
    other_numbers: Array


def measure_evidence(nearest: NearestValues, size: int) -> Array:
    """What the chance is computed from, a row for each of my values, for a column of `size`: in a
    large column a stray similarity is more likely, so its rarity counts less."""
    rarity = nearest.rarity - max(0.0, float(np.log10(size / _USUAL_SIZE)))
    lead = np.clip(nearest.lead, 0, _MOST_LEAD)
    back = np.clip(nearest.back_lead, -_MOST_LEAD, _MOST_LEAD)
    return np.stack([rarity, lead, back, nearest.other_numbers], axis=1)


def find_nearest_values(
    calibration: Calibration, mine: MatchTexts, theirs: MatchTexts
) -> NearestValues:
    count, size = len(mine), len(theirs)
    partner = np.full(count, -1, np.int64)
    best, second = np.full((2, count), -np.inf)
    rarity, other_numbers = np.zeros((2, count))
    # The nearest of mine for each of theirs, its rival, and whose it is.
    back, rival = np.full((2, size), -np.inf)
    owner = np.full(size, -1, np.int64)
    for begin in range(0, count, _BLOCK):
        end = min(begin + _BLOCK, count)
        cosines = [a[begin:end] @ b.T for a, b in zip(mine.parts, theirs.parts, strict=True)]
        conflict, differ = mine.numbers.slice(begin, end).compare(theirs.numbers)
        score = calibration.score(cosines)
        score[conflict] = -np.inf
        rows = np.arange(end - begin)
        first = score.argmax(axis=1)
        best[begin:end] = score[rows, first]
        partner[begin:end] = np.where(np.isfinite(best[begin:end]), first, -1)
        rarity[begin:end] = calibration.rarity([cosine[rows, first] for cosine in cosines])
        other_numbers[begin:end] = differ[rows, first]
        _update_best_two(score, begin, back, rival, owner)
        score[rows, first] = -np.inf
        second[begin:end] = score.max(axis=1)
    at = np.maximum(partner, 0)
    others = np.where(owner[at] == np.arange(count), rival[at], back[at])
    with np.errstate(invalid="ignore"):
        lead, back_lead = best - second, best - others
    return NearestValues(partner, lead, back_lead, rarity, other_numbers)


def _update_best_two(score: Array, begin: int, back: Array, rival: Array, owner: Array) -> None:
    """Add a block of rows to the two best rows of each column."""
    columns = np.arange(score.shape[1])
    row = score.argmax(axis=0)
    top = score[row, columns]
    rest = score.copy()
    rest[row, columns] = -np.inf
    runner_up = rest.max(axis=0)
    better = top > back
    rival[:] = np.maximum(rival, np.where(better, np.maximum(back, runner_up), top))
    back[:] = np.where(better, top, back)
    owner[:] = np.where(better, begin + row, owner)


def encoder_parts(encoder: TextEncoder) -> tuple[int, ...]:
    """The dimensions of an encoder's parts: those it states as `parts`, else one."""
    return tuple(getattr(encoder, "parts", ())) or (encoder.dimension,)


def split_parts(vectors: Array, sizes: Sequence[int]) -> tuple[Array, ...]:
    """The parts of vectors, each scaled to length 1; a part without a direction stays zero."""
    parts, begin = [], 0
    for size in sizes:
        part = np.asarray(vectors[:, begin : begin + size], np.float32)
        length = np.linalg.norm(part, axis=1, keepdims=True)
        parts.append(part / np.where(length > 0, length, 1))
        begin += size
    return tuple(parts)


# Not by the identity of the encoder: a function may change and keep its name.
_unrelated: WeakKeyDictionary[TextEncoder, list[tuple[Array, Array]]] = WeakKeyDictionary()


def _compare_unrelated(encoder: TextEncoder) -> list[tuple[Array, Array]]:
    """For each part of the vectors of the unrelated texts: the vectors, and their cosines."""
    known = _unrelated.get(encoder)
    if known is None:
        parts = split_parts(encoder.encode(read_unrelated_texts()), encoder_parts(encoder))
        known = [(part, (part @ part.T)[np.triu_indices(len(part), 1)]) for part in parts]
        _unrelated[encoder] = known
    return known


def read_unrelated_texts() -> pa.LargeStringArray:
    """Texts that have nothing to do with each other, for calibration."""
    text = files("lakejoin.engines.meaning").joinpath("unrelated_texts.txt").read_text("utf-8")
    return pa.array(text.splitlines(), pa.large_string())


def _logit(chance: Array) -> Array:
    inside = np.clip(chance, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(inside / (1 - inside)))


def _strings(texts: Any) -> Sequence[str]:
    return texts.to_pylist() if isinstance(texts, pa.Array | pa.ChunkedArray) else list(texts)
