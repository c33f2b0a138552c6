"""Extend the key of a join by further columns that are equal in matching rows.

A key that repeats in both tables multiplies rows: a county without its state, a team without the
year. Such a key is extended by pairs of columns that agree in rows that match by it
(`agreeing_columns`). If rows of other keys agree as well, the pair must make one table unique.

Pairs that make one table unique come first, identifiers and years before measures (a price, an
attendance), and what separates no rows is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakejoin.joins.agreeing_columns import (
    NEARLY_ALL,
    AgreeingPair,
    CodedTable,
    MatchCount,
    MatchedRows,
    RowSample,
)
from lakejoin.signals.name_similarity import CONTAINED, SAME

_MOST_PAIRS = 4  # of a key
_TRIED = 8  # pairs to try in each step
_MOST = 0.7  # … if the names are the same and the key is to be made one-to-one
_UNIQUE = 1.02  # matches per row of a table, as a few rows are repeated by mistake
_NEARLY_ONE, _ALL_OF_ONE = 1.05, 0.7  # matches per row, and rows kept, of a key made one-to-one
_LESS = 0.8  # a further pair must leave at most this share of the matches


@dataclass(frozen=True, slots=True)
class KeyExtension:
    """Pairs of further columns, left and right, that must be equal too.

    `matches` is the number of matching rows per row with a match, of the table where it is smaller:
    1 if the longer key is unique in one table. `before` is the same without the pairs. `nats` is
    how much better the pairs agree than in rows of other keys.
    """

    pairs: tuple[tuple[int, int], ...]
    matches: float
    before: float
    nats: float

    @property
    def is_unique(self) -> bool:
        """Whether the longer key is unique in one of the tables."""
        return self.matches <= _UNIQUE


def extend_key(
    left: CodedTable,
    right: CodedTable,
    rows: MatchedRows,
    used: tuple[Sequence[int], Sequence[int]],
) -> KeyExtension | None:
    """The further columns that make a key unique, or multiply rows less; None if there are none.

    `used` are the columns of the key itself.
    """
    sample = RowSample(left, right, rows, used)
    base = sample.count_matches(())
    if not base.left or base.most_matches <= _UNIQUE:
        return None
    pairs = sorted(sample.agreeing_pairs(), key=lambda pair: pair.order)
    if base.matches <= _UNIQUE:
        return _make_one_to_one(sample, base, pairs)
    chosen = _drop_idle(sample, _grow(sample, base, pairs))
    after = sample.count_matches(chosen)
    if after.matches > _UNIQUE:
        chosen = tuple(pair for pair in chosen if pair.is_telling)
        after = sample.count_matches(chosen)
    if not chosen or after.matches > max(_UNIQUE, _LESS * base.matches):
        return None
    indexes = tuple((pair.left, pair.right) for pair in chosen)
    return KeyExtension(indexes, after.matches, base.matches, max(pair.nats for pair in chosen))


def _make_one_to_one(
    sample: RowSample, base: MatchCount, pairs: Sequence[AgreeingPair]
) -> KeyExtension | None:
    """Extend a key that is unique in one table, if that makes it unique in the other: a city has
    namesakes in other countries. A reference to many rows stays as it is."""
    telling = [
        pair
        for pair in pairs
        if pair.is_telling and pair.share >= (_MOST if pair.similarity >= SAME else NEARLY_ALL)
    ]
    chosen = _drop_idle(sample, _grow(sample, base, telling, both=True))
    after = sample.count_matches(chosen)
    if after.most_matches > _NEARLY_ONE or after.keeps(base) < _ALL_OF_ONE:
        return None
    if not any(pair.similarity >= CONTAINED for pair in chosen):
        return None
    indexes = tuple((pair.left, pair.right) for pair in chosen)
    nats = max(pair.nats for pair in chosen)
    return KeyExtension(indexes, after.matches, base.most_matches, nats)


def _grow(
    sample: RowSample, base: MatchCount, pairs: Sequence[AgreeingPair], both: bool = False
) -> tuple[AgreeingPair, ...]:
    """Add pairs one by one, as long as they multiply rows less, of one table or of `both`, and keep
    the matching rows."""
    chosen: tuple[AgreeingPair, ...] = ()
    current = base.most_matches if both else base.matches
    while current > 1.0 and len(chosen) < _MOST_PAIRS:
        better = []
        for pair in _open_pairs(pairs, chosen)[:_TRIED]:
            grown = sample.count_matches((*chosen, pair))
            matches = grown.most_matches if both else grown.matches
            least = pair.share / 2 if pair.similarity >= SAME else NEARLY_ALL * pair.share
            fewer = matches <= _LESS * current or matches <= 1.0
            unique = matches <= _UNIQUE
            if fewer and grown.keeps(base) >= least and (unique or not pair.is_measure):
                lost = round(1 - grown.keeps(base), 1)
                order = pair.is_measure, not unique, lost, matches, pair.order
                better.append((order, matches, pair))
        if not better:
            break
        _, current, pair = min(better, key=lambda entry: entry[0])
        chosen = (*chosen, pair)
    return chosen


def _open_pairs(
    pairs: Sequence[AgreeingPair], chosen: Sequence[AgreeingPair]
) -> list[AgreeingPair]:
    """The pairs whose columns are not in the key yet."""
    left, right = {pair.left for pair in chosen}, {pair.right for pair in chosen}
    return [pair for pair in pairs if pair.left not in left and pair.right not in right]


def _drop_idle(sample: RowSample, chosen: tuple[AgreeingPair, ...]) -> tuple[AgreeingPair, ...]:
    """Leave out the pairs that separate no rows once the later ones are there."""
    needed = sample.count_matches(chosen).pairs
    for pair in chosen:
        rest = tuple(other for other in chosen if other is not pair)
        if rest and sample.count_matches(rest).pairs <= needed:
            chosen = rest
    return chosen
