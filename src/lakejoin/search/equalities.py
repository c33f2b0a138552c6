"""What does an equality of texts join? Pairs of columns, compared as they are or in lower case."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.mine import NO_CELL, Originals

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ValueRules

Array = np.ndarray[Any, Any]
Both = tuple[Array, Array]  # of my side, and of theirs

# What DuckDB's `trim` takes for a blank: the separators of Unicode, and no tab or line end.
_BLANKS = "".join(c for c in map(chr, range(0x3001)) if unicodedata.category(c) == "Zs")


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A column of mine and the column of theirs that must equal it."""

    mine: Originals
    theirs: Originals


@dataclass(frozen=True, slots=True)
class Joined:
    """How many of the shared values an equality joins, and whether it joins just their rows."""

    values: int
    shared: int
    exact: bool
    noun: str = "values"

    def said(self) -> list[str]:
        """A sentence where it does not."""
        if self.values < self.shared:
            return [
                f"joins {self.values:,} of the {self.shared:,} shared {self.noun}; the others are "
                "written differently on the two sides"
            ]
        if not self.exact:
            return [
                f"some of the shared {self.noun} are written in several ways, not all of which meet"
            ]
        return []


def joined_by(parts: Sequence[Part], normal: Sequence[bool]) -> Joined:
    """What joins where the texts of every part are equal: as they are, or (`normal`) in lower case
    without blanks around. With several parts a value is a combination of values."""
    written, rows = _combinations(parts)
    token = _together([_numbers(part.mine.tokens, part.theirs.tokens) for part in parts], written)
    texts = [
        _numbers(_written(part.mine.texts, fold), _written(part.theirs.texts, fold))
        for part, fold in zip(parts, normal, strict=True)
    ]
    text = _together(texts, written)
    # A text and its canonical value as one number: what meets by both is joined rightly.
    both = _paired(token, text)
    values = len(np.unique(token[0][np.isin(both[0], both[1])]))
    exact = _pairs(token, rows) == _pairs(text, rows) == _pairs(both, rows)
    noun = "values" if len(parts) == 1 else "combinations"
    return Joined(values, len(np.intersect1d(*token)), exact, noun)


def _combinations(parts: Sequence[Part]) -> tuple[tuple[list[Array], list[Array]], Both]:
    """The distinct combinations of texts on both sides: by part the numbers of the texts, and in
    how many rows each stands. Those of a single column are its texts."""
    mine, theirs = [part.mine for part in parts], [part.theirs for part in parts]
    (own, own_rows), (other, other_rows) = _distinct(mine), _distinct(theirs)
    return (own, other), (own_rows, other_rows)


def _distinct(columns: Sequence[Originals]) -> tuple[list[Array], Array]:
    if len(columns) == 1:
        return [np.arange(len(columns[0].texts))], columns[0].rows
    whole = np.logical_and.reduce([column.cells != NO_CELL for column in columns])
    cells = [column.cells[whole].astype(np.int64) for column in columns]
    numbers = reduce(_dense_pair, cells)
    _, first, rows = np.unique(numbers, return_index=True, return_counts=True)
    return [numbers[first] for numbers in cells], rows


def _written(texts: pa.LargeStringArray, normal: bool) -> pa.LargeStringArray:
    import pyarrow.compute as pc

    return pc.utf8_lower(pc.utf8_trim(texts, _BLANKS)) if normal else texts


def _numbers(a: pa.LargeStringArray, b: pa.LargeStringArray) -> Both:
    """Equal texts of two arrays by equal numbers."""
    import pyarrow as pa

    encoded = pa.chunked_array([a, b], pa.large_string()).combine_chunks().dictionary_encode()
    numbers = np.asarray(encoded.indices.to_numpy(), dtype=np.int64)
    return numbers[: len(a)], numbers[len(a) :]


def _together(parts: Sequence[Both], written: tuple[list[Array], list[Array]]) -> Both:
    """Equal combinations on both sides by equal numbers; `parts` number the texts of each part."""
    taken = [
        (numbers[0][mine], numbers[1][theirs])
        for numbers, mine, theirs in zip(parts, *written, strict=True)
    ]
    return reduce(_paired, taken)


def _paired(first: Both, second: Both) -> Both:
    """Two numbers as one, on both sides alike."""
    numbers = _dense_pair(np.concatenate(first), np.concatenate(second))
    return numbers[: len(first[0])], numbers[len(first[0]) :]


def _dense_pair(first: Array, second: Array) -> Array:
    """Two numbers as one, counted densely again so that no product overflows."""
    product = first * (int(second.max(initial=0)) + 1) + second
    return np.asarray(np.unique(product, return_inverse=True)[1])


def _pairs(numbers: Both, rows: Both) -> int:
    """The rows of the join of two columns of numbers, each of which stands in so many rows."""
    size = 1 + max(int(side.max(initial=-1)) for side in numbers)
    left, right = (np.bincount(n, r, size) for n, r in zip(numbers, rows, strict=True))
    return int((left * right).sum())


def null_words(rules: ValueRules, part: Part) -> list[str]:
    """The texts that must not meet, since for one side at least they stand for a missing value.

    None where one side can hold no such text: it lacks no value, and has none of them for one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakejoin.lake.nulls import LETTER_NULLS, SIGN_NULLS, SURE_NULLS

    extra = [word.lower() if rules.fold else word for word in rules.extra_nulls]
    known = [*SURE_NULLS, *LETTER_NULLS, *SIGN_NULLS] if rules.fold else []
    words = pa.array(["", *known, *extra], pa.large_string())
    sides = part.mine, part.theirs
    values = [np.asarray(pc.is_in(words, value_set=side.tokens)) for side in sides]
    lacking = [bool((side.cells == NO_CELL).any()) for side in sides]
    if not all(lacks or has.any() for lacks, has in zip(lacking, values, strict=True)):
        return []
    shared = np.logical_and.reduce(values)
    return list(words.filter(pa.array(~shared)).to_pylist())
