"""The vectors of a segment that are searched, which columns hold them, and what counts as near."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.meaning.column_counts import CountBoard
from lakejoin.engines.meaning.vector_candidates import CandidateFinder
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.store.compact_vectors import LARGEST, CompactVectors, VectorSource

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, eq=False)
class PostingLists:
    """For every vector the columns that hold it: the posting lists of a segment's values that have
    vectors; `codes` ascend by vector id.

    Lists hold *size ranks*: positions of columns in the posting lists, which differ from their
    indexes in the segment.
    """

    segment: Segment
    codes: Array
    columns: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", self.segment.column_count)

    def spans(self, ids: Array) -> tuple[Array, Array]:
        """Where the lists of vectors start in the entries, and their lengths."""
        return self.segment.postings.spans(self.codes[ids])

    def entries(self, begin: Array, length: Array) -> Array:
        """The array that holds these lists, verified."""
        return self.segment.postings.entries(begin, length)

    def numbers(self, size_ranks: Array) -> Array:
        """The indexes of columns in their segment."""
        return self.segment.postings.columns_at(size_ranks)

    def sizes(self, size_ranks: Array) -> Array:
        return self.segment.postings.set_sizes(self.numbers(size_ranks))

    def allowed(self, excluded: Array | None) -> Array:
        """By size rank, whether a column has vectors and is not among the `excluded` indexes."""
        columns = self.segment.has_meaning.copy()
        if excluded is not None:
            columns[excluded] = False
        return columns[self.numbers(np.arange(self.columns))]

    def ids_of(self, column: int) -> Array:
        """The vectors of a column, by its index in the segment; ascending."""
        return np.searchsorted(self.codes, self.segment.postings.codes_of(column))


MEASURES = ("hit", "all")
METHODS = ("auto", "tree", "flat")


@dataclass(frozen=True, slots=True)
class Nearness:
    """What counts as near, and how columns are scored.

    `radius` is an L2 distance. The `measure` is `hit`, the number of query vectors with a match in
    the column, or `all`, the number of pairs. Columns that score less than `least` are dropped, and
    all but the best `k`. `method` is chosen by estimate unless it is given.

    >>> Nearness(-1.0)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: a distance must be a number from 0 to 1e+12, not -1.0
    """

    radius: float
    measure: str = "hit"
    least: int = 1
    k: int | None = None
    method: str = "auto"

    def __post_init__(self) -> None:
        if not 0 <= self.radius <= LARGEST:
            raise InputError(
                f"a distance must be a number from 0 to {LARGEST:g}, not {self.radius!r}"
            )
        if self.k is not None and self.k < 1:
            raise InputError(f"k must be a whole number of at least 1, not {self.k!r}")
        if self.measure not in MEASURES:
            raise InputError(f"measure must be {' or '.join(MEASURES)}, not {self.measure!r}")
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")


@dataclass(frozen=True, eq=False)
class VectorSpace:
    """The vectors of one segment: in compact form, whole, and by column."""

    compact: CompactVectors
    source: VectorSource
    lists: PostingLists
    boards: list[CountBoard] = field(default_factory=list, repr=False)  # free ones
    slots: list[Array] = field(default_factory=list, repr=False)  # free arrays by vector id

    @cached_property
    def finder(self) -> CandidateFinder:
        return CandidateFinder(self.compact, self.source)


def open_text_space(segment: Segment, encoder: Encoder) -> VectorSpace:
    """Open the vectors of a segment's texts; `encoder` must be the one that the index used."""
    meaning = segment.meaning
    source = meaning.source(segment.dictionary.texts, encoder)
    return VectorSpace(meaning.compact, source, PostingLists(segment, meaning.codes.all()))
