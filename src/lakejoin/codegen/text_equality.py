"""Count what a join on equal texts would match, compared as written or in lower case."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.query import NO_CELL, ColumnSpellings
from lakejoin.model import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ValueRules

BothSides = tuple[Array, Array]  # of the left and of the right side

# What DuckDB's `trim` removes: Unicode separators, but no tabs or line ends.
_BLANKS = "".join(c for c in map(chr, range(0x3001)) if unicodedata.category(c) == "Zs")


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPair:
    """Two columns that must be equal."""

    left: ColumnSpellings
    right: ColumnSpellings


@dataclass(frozen=True, slots=True)
class EqualityCount:
    """How many shared values the equality joins, and whether it joins exactly their rows."""

    values: int
    shared: int
    exact: bool
    noun: str = "values"

    def notes(self) -> list[str]:
        """A sentence if the equality misses some of the shared values."""
        if self.values < self.shared:
            return [
                f"joins {self.values:,} of the {self.shared:,} shared {self.noun}; the others are "
                "spelled differently in the two tables"
            ]
        if not self.exact:
            return [f"some shared {self.noun} have several spellings, and not all of them match"]
        return []


def count_equality_join(parts: Sequence[ColumnPair], normal: Sequence[bool]) -> EqualityCount:
    """Count what joins if the texts of every pair of columns are equal: as written, or (`normal`)
    trimmed and in lower case. With several pairs, values are combinations."""
    combinations, rows = _distinct_combinations(parts)
    token = _combine(
        [_equal_codes(part.left.tokens, part.right.tokens) for part in parts], combinations
    )
    texts = [
        _equal_codes(_folded(part.left.texts, fold), _folded(part.right.texts, fold))
        for part, fold in zip(parts, normal, strict=True)
    ]
    text = _combine(texts, combinations)
    # One code for a text with its canonical value: what matches in both is joined correctly.
    both = _pair_codes(token, text)
    values = len(np.unique(token[0][np.isin(both[0], both[1])]))
    exact = (
        _count_joined_rows(token, rows)
        == _count_joined_rows(text, rows)
        == _count_joined_rows(both, rows)
    )
    noun = "values" if len(parts) == 1 else "combinations"
    return EqualityCount(values, len(np.intersect1d(*token)), exact, noun)


def _distinct_combinations(
    parts: Sequence[ColumnPair],
) -> tuple[tuple[list[Array], list[Array]], BothSides]:
    """The distinct combinations of texts on both sides: the text ids by column, and how many rows
    hold each combination."""
    mine, theirs = [part.left for part in parts], [part.right for part in parts]
    (own, own_rows), (other, other_rows) = _distinct(mine), _distinct(theirs)
    return (own, other), (own_rows, other_rows)


def _distinct(columns: Sequence[ColumnSpellings]) -> tuple[list[Array], Array]:
    if len(columns) == 1:
        return [np.arange(len(columns[0].texts))], columns[0].rows
    whole = np.logical_and.reduce([column.cells != NO_CELL for column in columns])
    cells = [column.cells[whole].astype(np.int64) for column in columns]
    codes = reduce(_dense_codes, cells)
    _, first, rows = np.unique(codes, return_index=True, return_counts=True)
    return [codes[first] for codes in cells], rows


def _folded(texts: pa.LargeStringArray, normal: bool) -> pa.LargeStringArray:
    import pyarrow.compute as pc

    return pc.utf8_lower(pc.utf8_trim(texts, _BLANKS)) if normal else texts


def _equal_codes(a: pa.LargeStringArray, b: pa.LargeStringArray) -> BothSides:
    """Give equal texts of two arrays equal codes."""
    import pyarrow as pa

    encoded = pa.chunked_array([a, b], pa.large_string()).combine_chunks().dictionary_encode()
    codes = np.asarray(encoded.indices.to_numpy(), dtype=np.int64)
    return codes[: len(a)], codes[len(a) :]


def _combine(
    parts: Sequence[BothSides], combinations: tuple[list[Array], list[Array]]
) -> BothSides:
    """Give equal combinations on both sides equal codes; `parts` are the codes of each column."""
    selected = [
        (codes[0][mine], codes[1][theirs])
        for codes, mine, theirs in zip(parts, *combinations, strict=True)
    ]
    return reduce(_pair_codes, selected)


def _pair_codes(first: BothSides, second: BothSides) -> BothSides:
    """Combine two codes into one, the same way on both sides."""
    codes = _dense_codes(np.concatenate(first), np.concatenate(second))
    return codes[: len(first[0])], codes[len(first[0]) :]


def _dense_codes(first: Array, second: Array) -> Array:
    """Combine two codes into one, renumbered densely so that no product overflows."""
    product = first * (int(second.max(initial=0)) + 1) + second
    return np.asarray(np.unique(product, return_inverse=True)[1])


def _count_joined_rows(codes: BothSides, rows: BothSides) -> int:
    """The rows of the join of two columns of codes, with the rows that hold each code."""
    size = 1 + max(int(side.max(initial=-1)) for side in codes)
    left, right = (np.bincount(n, r, size) for n, r in zip(codes, rows, strict=True))
    return int((left * right).sum())


def find_null_words(rules: ValueRules, part: ColumnPair) -> list[str]:
    """The texts that must not match, as they stand for a missing value on at least one side.

    Empty if one side cannot hold such a text: it has no nulls and none of these texts as a value.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakejoin.values.canonical_values import LETTER_NULLS, SIGN_NULLS, SURE_NULLS

    extra = [word.lower() if rules.fold else word for word in rules.extra_nulls]
    known = [*SURE_NULLS, *LETTER_NULLS, *SIGN_NULLS] if rules.fold else []
    words = pa.array(["", *known, *extra], pa.large_string())
    sides = part.left, part.right
    values = [np.asarray(pc.is_in(words, value_set=side.tokens)) for side in sides]
    lacking = [bool((side.cells == NO_CELL).any()) for side in sides]
    if not all(lacks or has.any() for lacks, has in zip(lacking, values, strict=True)):
        return []
    shared = np.logical_and.reduce(values)
    return list(words.filter(pa.array(~shared)).to_pylist())
