"""Samples to learn from: text columns with cached derived data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.codegen.arrow_programs import Applier
from lakejoin.joins.learned.examples import Examples, folded, folded_examples
from lakejoin.joins.learned.substrings import RewriteCache
from lakejoin.joins.learned.row_pairs import RowPairer, RowPair, DistinctTexts, distinct_texts

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_LISTED = 2000  # largest number of rows whose texts are cached


@dataclass(eq=False)
class TextColumn:
    """A text column."""

    array: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def distinct(self) -> DistinctTexts:
        """Its distinct texts, for pairing."""
        return distinct_texts(self.array)

    def texts(self, rows: list[int]) -> list[str]:
        """The texts of some rows, empty for null."""
        if len(self) > _LISTED:
            return [text or "" for text in self.array.take(rows).to_pylist()]
        return [self._texts[row] for row in rows]

    def folded(self, rows: list[int]) -> list[str]:
        """The texts of some rows in lower case, empty for null."""
        if len(self) > _LISTED:
            return [folded(text) for text in self.texts(rows)]
        return [self._folded[row] for row in rows]

    @cached_property
    def _texts(self) -> list[str]:
        return [text or "" for text in self.array.to_pylist()]

    @cached_property
    def _folded(self) -> list[str]:
        return [folded(text) for text in self._texts]

    def without(self, rows: Array) -> TextColumn:
        """The column without the marked rows."""
        import pyarrow as pa

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
        """Finds rows that may match rows of a target."""
        return RowPairer([column.distinct for column in self.columns.values()], target.distinct)

    def examples(self, target: TextColumn, pairs: list[RowPair]) -> Examples:
        """Convert pairs of rows to examples."""
        source_rows, target_rows = [pair.source for pair in pairs], [pair.target for pair in pairs]
        columns = {name: column.folded(source_rows) for name, column in self.columns.items()}
        return folded_examples(columns, target.folded(target_rows), target.texts(target_rows))

    def without(self, rows: Array) -> Sample:
        """The sample without the marked rows."""
        import pyarrow as pa

        if not rows.any():
            return self
        return Sample(self.table.filter(pa.array(~rows)), self.memory)
