"""Choose sample sizes, and samples of rows with cached derived data to learn from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from lakejoin.codegen.arrow_programs import Applier
from lakejoin.joins.learned.row_pairs import DistinctTexts, RowPair, RowPairer, distinct_texts
from lakejoin.joins.learned.substrings import Examples, RewriteCache, build_examples, fold_case
from lakejoin.model import Array

_LISTED = 2000  # largest number of rows whose texts are cached


@dataclass(eq=False)
class TextColumn:
    array: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def distinct(self) -> DistinctTexts:
        return distinct_texts(self.array)

    def texts(self, rows: list[int]) -> list[str]:
        """The texts of some rows, empty for null."""
        if len(self) > _LISTED:
            return [text or "" for text in self.array.take(rows).to_pylist()]
        return [self._texts[row] for row in rows]

    def folded_texts(self, rows: list[int]) -> list[str]:
        """The texts of some rows in lower case, empty for null."""
        if len(self) > _LISTED:
            return [fold_case(text) for text in self.texts(rows)]
        return [self._folded[row] for row in rows]

    @cached_property
    def _texts(self) -> list[str]:
        return [text or "" for text in self.array.to_pylist()]

    @cached_property
    def _folded(self) -> list[str]:
        return [fold_case(text) for text in self._texts]

    def without(self, rows: Array) -> TextColumn:
        return TextColumn(self.array.filter(pa.array(~rows))) if rows.any() else self


@dataclass(eq=False)
class Sample:
    """Rows of a table of text columns."""

    table: pa.Table
    memory: RewriteCache = field(default_factory=RewriteCache)  # of its rewritten texts

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def columns(self) -> dict[str, TextColumn]:
        table = self.table
        return {n: TextColumn(table[n].combine_chunks()) for n in table.column_names}

    @cached_property
    def applier(self) -> Applier:
        """Applies programs to these rows, and caches their parts."""
        return Applier(self.table)

    def pairer(self, target: TextColumn) -> RowPairer:
        return RowPairer([column.distinct for column in self.columns.values()], target.distinct)

    def examples(self, target: TextColumn, pairs: list[RowPair]) -> Examples:
        source_rows, target_rows = [pair.source for pair in pairs], [pair.target for pair in pairs]
        columns = {name: column.folded_texts(source_rows) for name, column in self.columns.items()}
        return build_examples(columns, target.folded_texts(target_rows), target.texts(target_rows))

    def without(self, rows: Array) -> Sample:
        if not rows.any():
            return self
        return Sample(self.table.filter(pa.array(~rows)), self.memory)


PARTICIPATION = 0.01  # the assumed share of rows that match
# Matching pairs that samples contain on average, so that at least 4 are nearly always in them.
EXPECTED_PAIRS = 20.0


def sample_sizes(source: int, target: int, participation: float) -> tuple[int, int]:
    """The number of rows needed of each table; all of them for small tables.

    >>> sample_sizes(1_000_000, 1_000_000, 0.1)
    (14143, 14143)
    >>> sample_sizes(100, 50, 0.01)
    (100, 50)
    >>> sample_sizes(1_000_000, 5_000, 0.01)
    (400000, 5000)
    """
    if not source or not target:
        return source, target
    needed = EXPECTED_PAIRS / participation * source  # the product of both sizes
    each = math.sqrt(needed)
    source_size = min(source, math.ceil(max(each, needed / target)))
    target_size = min(target, math.ceil(max(each, needed / source)))
    return source_size, target_size


def sample_rows(rows: int, size: int, seed: int) -> Array:
    """A sorted random sample of row indexes; the same for the same seed."""
    if size >= rows:
        return np.arange(rows, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).choice(rows, size, replace=False))
