"""MATE's row filter XASH, and those it was compared with (7.1.2).

`SuperKeyComponent(SuperKeyOptions(bits=128), XashFilter)` builds super keys with one of them, and a
search in a `filtered_segment` uses them. The product uses a Bloom filter fitted to each table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile
from lakejoin.store.segment import Segment
from lakejoin.store.super_keys import (
    BloomFilter,
    SuperKeyComponent,
    SuperKeys,
    best_hash_count,
    searched_texts,
    sum_by_table,
)
from published.simhash import simhash_texts
from published.xash import (
    CLASS_CHARACTERS,
    CLASSES,
    XashParameters,
    count_classes,
    xash_texts,
)

if TYPE_CHECKING:
    pass

MOST_HASHES = 255


@dataclass(frozen=True, slots=True)
class XashFeatures:
    """Which features of XASH are used: all, except to measure the effect of each."""

    length: bool = True
    characters: bool = True
    location: bool = True
    rotation: bool = True


def _read_only(array: Array) -> Array:
    """A read-only view, like mapped arrays, so that compiled code sees one type."""
    view = array.view()
    view.flags.writeable = False
    return view


def ones_needed(bits: int, values: int) -> int:
    """The number of ones a hash needs to distinguish this many values (the paper's equation 5).

    At least two: one for the length and one for a character.

    >>> ones_needed(128, 700_000_000), ones_needed(512, 1_000_000), ones_needed(128, 3)
    (6, 3, 2)
    """
    return next(a for a in range(2, bits) if math.comb(bits, a) > values)


def searched_columns(source: Segment) -> Array:
    """The number of searched columns of each table."""
    return sum_by_table(source, source.indexed)


@dataclass(frozen=True, eq=False)
class XashFilter(BloomFilter):
    """XASH: the paper's hash, see `published.xash`; `features` are those it uses.

    `rank_of` has the rank of each character class, the rarest in the segment's searched values
    first (counting every character of every distinct value; ties in character order).
    """

    hashes: Array = field(init=False, default_factory=lambda: np.zeros(0, dtype=np.uint8))
    rank_of: Array
    numbers: Array  # as in `XashParameters`, without the ranks
    kind: ClassVar[str] = "xash"
    features: ClassVar[XashFeatures] = XashFeatures()

    @classmethod
    def fit(cls, bits: int, source: Segment) -> Self:
        """Derive alpha and the character ranks from the segment's searched values."""
        counts = np.zeros(CLASSES, dtype=np.int64)
        for _, offsets, data in searched_texts(source):
            count_classes(offsets, data, counts)
        order = sorted(range(CLASSES), key=lambda c: (counts[c], CLASS_CHARACTERS[c]))
        rank_of = np.empty(CLASSES, dtype=np.uint8)
        rank_of[order] = np.arange(CLASSES)
        alpha = ones_needed(bits, len(source.dictionary) - source.postings.unsearched)
        return cls(bits, rank_of, xash_numbers(bits, alpha, cls.features))

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> Self:
        """Open it from `rank` and `numbers`."""
        return cls(bits, file.array("rank").all(), file.array("numbers").all())

    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `open` needs."""
        return {"rank": self.rank_of, "numbers": self.numbers}

    def hash_texts(self, offsets: Array, data: Array, table: int, out: Array) -> None:
        """Write the hashes of texts to `out`."""
        layout = XashParameters(_read_only(self.rank_of), *self.numbers.tolist())
        xash_texts(_read_only(offsets), _read_only(data), layout, out)


def xash_with(features: XashFeatures) -> type[XashFilter]:
    """XASH with some of its features (figure 5)."""
    return type("XashVariant", (XashFilter,), {"features": features})


def xash_numbers(bits: int, alpha: int, features: XashFeatures) -> Array:
    """The layout of a hash of `bits` with `alpha` ones (equation 6), as in `XashParameters`.

    >>> xash_numbers(128, 6, XashFeatures()).tolist()
    [3, 3, 5, 17, 1, 1]
    """
    beta = (bits - 1) // CLASSES
    shades = beta if features.location else 1
    rarest = alpha - 1 if features.characters else 0
    rest = bits - CLASSES * beta
    return np.array(
        [beta, shades, rarest, rest, features.length, features.rotation], dtype=np.int64
    )


class AverageBloom(BloomFilter):
    """The Bloom filter of the paper's comparison (7.1.2): one number of functions for all tables,
    the best for a table of average width.
    """

    kind: ClassVar[str] = "bloom"

    @classmethod
    def fit(cls, bits: int, source: Segment) -> Self:
        """Choose the number of functions."""
        columns = searched_columns(source)
        average = float(columns.mean()) if len(columns) else 1.0
        hashes = best_hash_count(bits, average, MOST_HASHES)
        return cls(bits, np.array([hashes], dtype=np.uint8))


class TwoHashes(BloomFilter):
    """LHBF: a Bloom filter of two functions."""

    kind: ClassVar[str] = "lhbf"
    functions: ClassVar[int] = 2

    @classmethod
    def fit(cls, bits: int, source: Segment) -> Self:
        """Nothing to fit."""
        del source
        return cls(bits, np.array([cls.functions], dtype=np.uint8))


class OneHash(TwoHashes):
    """A hash table: a Bloom filter of one function."""

    kind: ClassVar[str] = "hash"
    functions: ClassVar[int] = 1


@dataclass(frozen=True, eq=False)
class SimHashFilter(BloomFilter):
    """SimHash of a text's n-grams: about half of the bits are ones, so it hardly filters."""

    hashes: Array = field(init=False, default_factory=lambda: np.zeros(0, dtype=np.uint8))
    kind: ClassVar[str] = "simhash"

    @classmethod
    def fit(cls, bits: int, source: Segment) -> Self:
        """Nothing to fit."""
        del source
        return cls(bits)

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> Self:
        """Nothing is stored in the file."""
        del file
        return cls(bits)

    def arrays(self) -> Mapping[str, Array]:
        """No arrays."""
        return {}

    def hash_texts(self, offsets: Array, data: Array, table: int, out: Array) -> None:
        """Write the hashes of texts to `out`."""
        simhash_texts(_read_only(offsets), _read_only(data), out)


PUBLISHED: Mapping[str, type[BloomFilter]] = {
    row_filter.kind: row_filter
    for row_filter in (XashFilter, AverageBloom, TwoHashes, OneHash, SimHashFilter)
}
# With the product's own, in the order of the paper's tables.
ALL_FILTERS: Mapping[str, type[BloomFilter]] = {
    kind: {**PUBLISHED, BloomFilter.kind: BloomFilter}[kind]
    for kind in ("xash", "bloom", "fitted", "lhbf", "hash", "simhash")
}


def filtered_segment(segment: Segment, row_filter: type[BloomFilter]) -> Segment:
    """A segment whose super keys this filter made: searches then use them."""
    file = segment.file(SuperKeyComponent.name, SuperKeyComponent.version)
    segment.__dict__ |= {"has_super_keys": True, "superkeys": SuperKeys(file, row_filter)}
    return segment
