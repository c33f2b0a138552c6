"""Which columns of two tables join fuzzily? Names, not numbers: a key, and what means it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins.fuzzy.matching import FuzzyMatches, fuzzy_matches
from lakejoin.joins.fuzzy.options import FuzzyOptions
from lakejoin.joins.fuzzy.texts import fold
from lakejoin.signals.chance import chance_of_meeting, evidence

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_KEY = 0.8  # the share of distinct texts from which on a column may be the key
_SAMPLE = 1000  # texts of a column that tell which columns are worth trying
_TRIED = 4  # pairs of columns
_WORDED = 0.5  # the share of a column's texts that must hold a word of three letters or more
_LONGEST = 120.0  # characters on average: what is longer is a description
# Unrelated tables share a name now and then: a join is believed from that many texts on, and from
# a share of the texts of either side that is the larger the shorter they are (by characters).
_FEWEST = 3
_SHARES = ((10.0, 0.15), (8.0, 0.3), (5.0, 0.5), (0.0, 0.65))
# Names that only a number tells apart (Item 1, Item 2) meet in any two tables, as numbers do: so
# much evidence there must be against chance, in nats.
_NATS = 8.0


@dataclass(frozen=True, eq=False)
class FuzzyFound:
    """The columns that join fuzzily, the side that is the key, and the rows as left and right."""

    left_column: str
    right_column: str
    key_side: str
    matches: FuzzyMatches


def find_fuzzy(
    left: pa.Table,
    right: pa.Table,
    options: FuzzyOptions | None = None,
    on: Sequence[tuple[str, str]] = (),
) -> FuzzyFound | None:
    """The two columns that join the most rows fuzzily, or none where that is not to be believed.

    With `on`, one pair of columns, only these are looked at, and what joins is believed.

    >>> import pyarrow as pa
    >>> mine = pa.table({"no": [1, 2, 3], "town": ["Zürich (city)", "BERN", "City of Geneva"]})
    >>> theirs = pa.table({"name": ["Geneva", "Zurich", "Bern", "Basel"], "area": [16, 88, 52, 24]})
    >>> found = find_fuzzy(mine, theirs)
    >>> found.left_column, found.right_column, found.key_side, found.matches.right_rows.tolist()
    ('town', 'name', 'right', [1, 2, 0])
    """
    options = options or FuzzyOptions()
    if len(on) > 1:
        raise InputError("a fuzzy join takes one column of each table; name one pair with on")
    mine, theirs = _columns(left, [a for a, _ in on]), _columns(right, [b for _, b in on])
    tries = [(a, b) for a in mine for b in theirs]
    if not on:
        tries = sorted(tries, key=lambda pair: -_promise(*pair))
        tries = [pair for pair in tries if _promise(*pair) > 0][:_TRIED]
    best: FuzzyFound | None = None
    for one, other in tries:
        for found in _both_ways(one, other, options, bool(on)):
            if best is None or _reach(found) > _reach(best):
                best = found
    return best


@dataclass(frozen=True, eq=False)
class _Named:
    """A column of names: its texts, how distinct they are, and the words of some of them."""

    name: str
    values: pa.Array
    distinct: int
    share: float  # of distinct texts among the cells
    words: list[frozenset[str]]
    vocabulary: frozenset[str]


def _columns(table: pa.Table, given: list[str]) -> list[_Named]:
    """The columns of names of a table, or those that are given."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    for name in given or table.column_names:
        if table.column_names.count(name) != 1:
            if given:
                raise InputError(f"no column {name!r}; there are {', '.join(table.column_names)}")
            continue
        if not given and not (
            pa.types.is_string(table[name].type) or pa.types.is_large_string(table[name].type)
        ):
            continue
        values = table[name].cast(pa.large_string()).combine_chunks()
        distinct = pc.unique(values.drop_null())
        cells = len(values) - values.null_count
        some = distinct
        if len(some) > _SAMPLE:
            places = np.random.default_rng(0).choice(len(some), _SAMPLE, replace=False)
            some = some.take(np.sort(places))
        words = [frozenset(w for w in fold(t).split() if _is_word(w)) for t in some.to_pylist()]
        worded = sum(map(bool, words)) / max(1, len(words))
        length = pc.mean(pc.utf8_length(some)).as_py() or 0.0
        if given or (len(distinct) > 1 and worded >= _WORDED and length <= _LONGEST):
            share = len(distinct) / max(1, cells)
            vocabulary = frozenset().union(*words)
            found.append(_Named(name, values, len(distinct), share, words, vocabulary))
    return found


def _is_word(word: str) -> bool:
    return len(word) > 2 and word.isalpha()


def _promise(one: _Named, other: _Named) -> float:
    """How much two columns have in common: the share of texts that hold a word of the other's."""
    return min(
        sum(not w.isdisjoint(b.vocabulary) for w in a.words) / max(1, len(a.words))
        for a, b in ((one, other), (other, one))
    )


def _both_ways(one: _Named, other: _Named, options: FuzzyOptions, given: bool) -> list[FuzzyFound]:
    """What joins with the right column as key, and with the left one."""
    found = []
    if other.share >= _KEY or (given and other.share >= one.share):
        matches = fuzzy_matches(one.values, other.values, options)
        found.append(FuzzyFound(one.name, other.name, "right", matches))
    if one.share >= _KEY or (given and one.share > other.share):
        matches = _turned(fuzzy_matches(other.values, one.values, options))
        found.append(FuzzyFound(one.name, other.name, "left", matches))
    return [way for way in found if _believed(one, other, way.matches, given)]


def _believed(one: _Named, other: _Named, matches: FuzzyMatches, given: bool) -> bool:
    if given:
        return len(matches) > 0
    import pyarrow.compute as pc

    texts = pc.unique(one.values.take(np.unique(matches.left_rows)))
    mine = len(texts)
    theirs = len(pc.unique(other.values.take(np.unique(matches.right_rows))))
    if min(mine, theirs) < min(_FEWEST, one.distinct, other.distinct):
        return False
    share = max(mine / one.distinct, theirs / other.distinct)
    length = pc.mean(pc.utf8_length(texts)).as_py() or 0.0
    chance = chance_of_meeting(pc.utf8_lower(texts), pc.utf8_lower(other.values))
    few = min(one.distinct, other.distinct) <= _FEWEST
    return share >= next(least for size, least in _SHARES if length >= size) and (
        few or evidence(min(one.distinct, other.distinct), share, chance) >= _NATS
    )


def _turned(matches: FuzzyMatches) -> FuzzyMatches:
    order = np.lexsort((matches.left_rows, matches.right_rows))
    return replace(
        matches,
        left_rows=matches.right_rows[order],
        right_rows=matches.left_rows[order],
        distance=matches.distance[order],
        chance=matches.chance[order],
        rule=matches.rule[order],
    )


def _reach(found: FuzzyFound) -> float:
    """How many rows of either side are joined, by their chances; a key on the right if equal."""
    return float(found.matches.chance.sum()) + (found.key_side == "right") * 1e-6
