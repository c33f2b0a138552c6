"""Find the columns of two tables to join fuzzily: columns of names, one of them a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins.fuzzy.matching import FuzzyMatches, fuzzy_matches
from lakejoin.joins.fuzzy.options import FuzzyOptions
from lakejoin.joins.fuzzy.corpus import fold_text
from lakejoin.signals.chance import match_chance, evidence

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_KEY = 0.8  # least share of distinct texts of a key column
_SAMPLE = 1000  # texts of a column to choose columns by
_TRIED = 4  # pairs of columns
_WORDED = 0.5  # least share of texts with a word of three letters or more
_LONGEST = 120.0  # mean characters: longer texts are descriptions
# Unrelated tables share a name now and then: a join is believed from this many texts on, and from
# a share of the texts of either side that is larger for shorter texts (by characters).
_FEWEST = 3
_SHARES = ((10.0, 0.15), (8.0, 0.3), (5.0, 0.5), (0.0, 0.65))
# Names that differ only in a number (Item 1, Item 2) match in any two tables, as numbers do: the
# least evidence against chance, in nats.
_NATS = 8.0


@dataclass(frozen=True, eq=False)
class FuzzyJoin:
    """The columns that join fuzzily, the side with the key, and the matching rows."""

    left_column: str
    right_column: str
    key_side: str
    matches: FuzzyMatches


def find_fuzzy_join(
    left: pa.Table,
    right: pa.Table,
    options: FuzzyOptions | None = None,
    on: Sequence[tuple[str, str]] = (),
) -> FuzzyJoin | None:
    """The two columns that match the most rows fuzzily; None if no match is believed.

    With `on`, one pair of columns, only these are tried, and their matches are believed.

    >>> import pyarrow as pa
    >>> left = pa.table({"no": [1, 2, 3], "town": ["Zürich (city)", "BERN", "City of Geneva"]})
    >>> right = pa.table({"name": ["Geneva", "Zurich", "Bern", "Basel"], "area": [16, 88, 52, 24]})
    >>> found = find_fuzzy_join(left, right)
    >>> found.left_column, found.right_column, found.key_side, found.matches.right_rows.tolist()
    ('town', 'name', 'right', [1, 2, 0])
    """
    options = options or FuzzyOptions()
    if len(on) > 1:
        raise InputError(f"a fuzzy join takes one column of each table; got {len(on)} pairs")
    left_columns = _columns(left, [a for a, _ in on])
    right_columns = _columns(right, [b for _, b in on])
    tries = [(a, b) for a in left_columns for b in right_columns]
    if not on:
        tries = sorted(tries, key=lambda pair: -_promise(*pair))
        tries = [pair for pair in tries if _promise(*pair) > 0][:_TRIED]
    best: FuzzyJoin | None = None
    for left_column, right_column in tries:
        for found in _match_both_ways(left_column, right_column, options, bool(on)):
            if best is None or _reach(found) > _reach(best):
                best = found
    return best


@dataclass(frozen=True, eq=False)
class _Named:
    """A column of names: its texts, their distinctness, and the words of a sample."""

    name: str
    values: pa.Array
    distinct: int
    share: float  # distinct texts per cell
    words: list[frozenset[str]]
    vocabulary: frozenset[str]


def _columns(table: pa.Table, named: list[str]) -> list[_Named]:
    """The columns of names of a table, or the named columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for name in named or table.column_names:
        if table.column_names.count(name) != 1:
            if named:
                names = ", ".join(table.column_names)
                raise InputError(f"column {name!r} not found; the columns are {names}")
            continue
        if not named and not (
            pa.types.is_string(table[name].type) or pa.types.is_large_string(table[name].type)
        ):
            continue
        values = table[name].cast(pa.large_string()).combine_chunks()
        distinct = pc.unique(values.drop_null())
        cells = len(values) - values.null_count
        some = distinct
        if len(some) > _SAMPLE:
            positions = np.random.default_rng(0).choice(len(some), _SAMPLE, replace=False)
            some = some.take(np.sort(positions))
        words = [frozenset(w for w in fold_text(t).split() if _is_word(w)) for t in some.to_pylist()]
        worded = sum(map(bool, words)) / max(1, len(words))
        length = pc.mean(pc.utf8_length(some)).as_py() or 0.0
        if named or (len(distinct) > 1 and worded >= _WORDED and length <= _LONGEST):
            share = len(distinct) / max(1, cells)
            vocabulary = frozenset().union(*words)
            columns.append(_Named(name, values, len(distinct), share, words, vocabulary))
    return columns


def _is_word(word: str) -> bool:
    return len(word) > 2 and word.isalpha()


def _promise(left: _Named, right: _Named) -> float:
    """How much two columns have in common: the share of texts with a word of the other."""
    return min(
        sum(not w.isdisjoint(b.vocabulary) for w in a.words) / max(1, len(a.words))
        for a, b in ((left, right), (right, left))
    )


def _match_both_ways(
    left: _Named, right: _Named, options: FuzzyOptions, given: bool
) -> list[FuzzyJoin]:
    """The matches with the right column as key, and with the left one."""
    found = []
    if right.share >= _KEY or (given and right.share >= left.share):
        matches = fuzzy_matches(left.values, right.values, options)
        found.append(FuzzyJoin(left.name, right.name, "right", matches))
    if left.share >= _KEY or (given and left.share > right.share):
        matches = _swap_sides(fuzzy_matches(right.values, left.values, options))
        found.append(FuzzyJoin(left.name, right.name, "left", matches))
    return [candidate for candidate in found if _believed(left, right, candidate.matches, given)]


def _believed(left: _Named, right: _Named, matches: FuzzyMatches, given: bool) -> bool:
    if given:
        return len(matches) > 0
    import pyarrow.compute as pc

    texts = pc.unique(left.values.take(np.unique(matches.left_rows)))
    left_texts = len(texts)
    right_texts = len(pc.unique(right.values.take(np.unique(matches.right_rows))))
    if min(left_texts, right_texts) < min(_FEWEST, left.distinct, right.distinct):
        return False
    share = max(left_texts / left.distinct, right_texts / right.distinct)
    length = pc.mean(pc.utf8_length(texts)).as_py() or 0.0
    chance = match_chance(pc.utf8_lower(texts), pc.utf8_lower(right.values))
    few = min(left.distinct, right.distinct) <= _FEWEST
    return share >= next(least for size, least in _SHARES if length >= size) and (
        few or evidence(min(left.distinct, right.distinct), share, chance) >= _NATS
    )


def _swap_sides(matches: FuzzyMatches) -> FuzzyMatches:
    order = np.lexsort((matches.left_rows, matches.right_rows))
    return replace(
        matches,
        left_rows=matches.right_rows[order],
        right_rows=matches.left_rows[order],
        distance=matches.distance[order],
        chance=matches.chance[order],
        rule=matches.rule[order],
    )


def _reach(found: FuzzyJoin) -> float:
    """The expected number of correct pairs; a key on the right breaks ties."""
    return float(found.matches.chance.sum()) + (found.key_side == "right") * 1e-6
