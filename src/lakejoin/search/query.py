"""A column of mine, ready to be searched for: its distinct values and in how many rows each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One column to search for.

    `tokens` are its distinct canonical values, `counts[i]` the number of my rows that hold
    `tokens[i]`, `rows` all my rows (nulls too). `shown[i]` is how I wrote `tokens[i]` first.
    `home` is (segment number, column number) where the column is one of the lake.
    """

    table: str
    column: str
    tokens: pa.LargeStringArray
    counts: Array
    rows: int
    shown: pa.LargeStringArray
    home: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.tokens)


def locate(query: Query, number: int, segment: Segment) -> Array:
    """The code of each of the query's tokens in a segment, `NOT_FOUND` where it has none."""
    if query.home is not None and query.home[0] == number:
        return np.asarray(segment.postings.codes_of(query.home[1]))
    return segment.dictionary.find(query.tokens)
