"""The constrained fuzzy join of two text columns, and the columns to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.errors import InputError
from lakejoin.joins.fuzzy.corpus import FoldedTexts, build_corpus, fold_texts
from lakejoin.joins.fuzzy.folded_texts import fold_text
from lakejoin.joins.fuzzy.match_choice import FuzzyMatches, FuzzyOptions, choose_matches
from lakejoin.joins.fuzzy.pair_evidence import TextIndex
from lakejoin.joins.row_keys import NO_KEY, Keys, Pairing, find_first_rows
from lakejoin.model import Array
from lakejoin.signals.chance import evidence, match_chance
from lakejoin.values.plain_columns import is_text

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

    >>> left = pa.table({"no": [1, 2, 3], "town": ["Zürich (city)", "BERN", "City of Geneva"]})
    >>> right = pa.table({"name": ["Geneva", "Zurich", "Bern", "Basel"], "area": [16, 88, 52, 24]})
    >>> join = find_fuzzy_join(left, right)
    >>> join.left_column, join.right_column, join.key_side, join.matches.right_rows.tolist()
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
        for candidate in _match_both_directions(left_column, right_column, options, bool(on)):
            if best is None or _reach(candidate) > _reach(best):
                best = candidate
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
    columns = []
    for name in named or table.column_names:
        if table.column_names.count(name) != 1:
            if named:
                names = ", ".join(table.column_names)
                raise InputError(f"column {name!r} not found; the columns are {names}")
            continue
        if not named and not is_text(table[name].type):
            continue
        values = table[name].cast(pa.large_string()).combine_chunks()
        distinct = pc.unique(values.drop_null())
        cells = len(values) - values.null_count
        some = distinct
        if len(some) > _SAMPLE:
            positions = np.random.default_rng(0).choice(len(some), _SAMPLE, replace=False)
            some = some.take(np.sort(positions))
        words = [
            frozenset(w for w in fold_text(t).split() if _is_word(w)) for t in some.to_pylist()
        ]
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


def _match_both_directions(
    left: _Named, right: _Named, options: FuzzyOptions, named: bool
) -> list[FuzzyJoin]:
    """The matches with the right column as key, and with the left one."""
    candidates = []
    if right.share >= _KEY or (named and right.share >= left.share):
        matches = fuzzy_matches(left.values, right.values, options)
        candidates.append(FuzzyJoin(left.name, right.name, "right", matches))
    if left.share >= _KEY or (named and left.share > right.share):
        matches = _swap_sides(fuzzy_matches(right.values, left.values, options))
        candidates.append(FuzzyJoin(left.name, right.name, "left", matches))
    return [
        candidate for candidate in candidates if _is_believed(left, right, candidate.matches, named)
    ]


def _is_believed(left: _Named, right: _Named, matches: FuzzyMatches, named: bool) -> bool:
    if named:
        return len(matches) > 0
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


def _reach(candidate: FuzzyJoin) -> float:
    """The expected number of correct pairs; a key on the right breaks ties."""
    return float(candidate.matches.chance.sum()) + (candidate.key_side == "right") * 1e-6


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

    >>> left = pa.array(["Zürich (city)", "BERN", "City of Geneva", None, "Lugano"])
    >>> right = pa.array(["Geneva", "Zurich", "Bern", "Basel"])
    >>> matches = fuzzy_matches(left, right)
    >>> list(zip(matches.left_rows.tolist(), matches.right_rows.tolist()))
    [(0, 1), (1, 2), (2, 0)]
    """
    options = options or FuzzyOptions()
    texts, keys = fold_texts(left), fold_texts(right)
    if not len(texts) or not len(keys):
        return FuzzyMatches()
    corpus = build_corpus(texts, keys)
    return _rows(texts, keys, choose_matches(corpus, _known_texts(texts, keys, known), options))


def _known_texts(
    left: FoldedTexts, right: FoldedTexts, known: tuple[Array, Array] | None
) -> tuple[Array, Array]:
    """The known matches as distinct pairs of texts."""
    if known is None or not len(known[0]):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    texts, keys = left.rows[known[0]], right.rows[known[1]]
    valid = (texts >= 0) & (keys >= 0)
    both = np.unique(texts[valid] * len(right) + keys[valid])
    return both // len(right), both % len(right)


def _rows(texts: FoldedTexts, keys: FoldedTexts, chosen: FuzzyMatches) -> FuzzyMatches:
    """Convert matching texts to rows: all rows of one text with all rows of the other."""
    pair_of_text = np.full(len(texts) + 1, -1, np.int64)  # the last entry: rows without a text
    pair_of_text[chosen.left_rows] = np.arange(len(chosen))
    pair_of_row = pair_of_text[texts.rows]
    key_of_row = np.append(chosen.right_rows, NO_KEY)[pair_of_row]
    pairing = Pairing(Keys(key_of_row, keys.rows, len(keys)))
    left, right = pairing.rows(0, len(pairing))
    of_rule = np.bincount(chosen.rule[pair_of_row[pair_of_row >= 0]], minlength=len(chosen.rules))
    new_index = np.cumsum(of_rule > 0) - 1  # of the rules that match anything
    rules = [replace(chosen.rules[i], rows=int(of_rule[i])) for i in np.flatnonzero(of_rule)]
    pair = pair_of_row[left]
    return FuzzyMatches(
        left,
        right,
        chosen.distance[pair],
        chosen.chance[pair],
        new_index[chosen.rule[pair]],
        tuple(rules),
    )


def nearest_texts(left: pa.Array, right: pa.Array, rows: Array) -> tuple[Array, Array]:
    """The nearest right row of each of these left rows, and its distance; (-1, 1.0) if none.

    >>> nearest, far = nearest_texts(pa.array(["Bern!", "x"]), pa.array(["Basel", "Bern"]), [0, 1])
    >>> nearest.tolist(), far.tolist()
    ([1, -1], [0.0, 1.0])
    """
    rows = np.asarray(rows, np.int64)
    texts, keys = fold_texts(left.take(rows)), fold_texts(right)
    nearest, far = np.full(len(rows), -1, np.int64), np.ones(len(rows))
    if not len(texts) or not len(keys):
        return nearest, far
    corpus = build_corpus(texts, keys)
    near = TextIndex(corpus).nearest(np.arange(corpus.left), 1)
    first_row = find_first_rows(keys.rows, len(keys))
    valid = texts.rows >= 0
    nearest[valid] = first_row[near.keys[texts.rows[valid], 0]]
    far[valid] = np.clip(1.0 - near.alike[texts.rows[valid], 0], 0.0, 1.0)
    return nearest, np.round(far, 6)
