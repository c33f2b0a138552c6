"""What is learned from: columns of text, with what learning asks of them again and again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.autojoin.applying import Applier
from lakejoin.joins.autojoin.examples import Examples, folded, folded_examples
from lakejoin.joins.autojoin.rewriting import Memory
from lakejoin.joins.autojoin.rowpairs import Pairer, RowPair, Texts, texts_of

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


@dataclass(eq=False)
class TextColumn:
    """A column of text."""

    array: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def distinct(self) -> Texts:
        """Its distinct texts, to be paired."""
        return texts_of(self.array)

    @cached_property
    def texts(self) -> list[str | None]:
        return list(self.array.to_pylist())

    @cached_property
    def folded(self) -> list[str]:
        """Its texts in lower case, empty for null."""
        return [folded(text or "") for text in self.texts]

    def without(self, rows: Array) -> TextColumn:
        """The column without the rows that are marked."""
        import pyarrow as pa

        return TextColumn(self.array.filter(pa.array(~rows))) if rows.any() else self


@dataclass(eq=False)
class Sample:
    """Rows of a table, of columns of text."""

    table: pa.Table
    memory: Memory = field(default_factory=Memory)  # of what its texts are rewritten to

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def columns(self) -> dict[str, TextColumn]:
        table = self.table
        return {n: TextColumn(table[n].combine_chunks()) for n in table.column_names}

    @cached_property
    def applier(self) -> Applier:
        """Applies programs to these rows, and remembers their parts."""
        return Applier(self.table)

    def pairer(self, target: TextColumn) -> Pairer:
        """Finds rows that may join with a target's."""
        return Pairer([column.distinct for column in self.columns.values()], target.distinct)

    def examples(self, target: TextColumn, pairs: list[RowPair]) -> Examples:
        """Pairs of rows as examples."""
        mine, theirs = [pair.source for pair in pairs], [pair.target for pair in pairs]
        columns = {n: [c.folded[i] for i in mine] for n, c in self.columns.items()}
        goals = [target.folded[i] for i in theirs]
        return folded_examples(columns, goals, [target.texts[i] or "" for i in theirs])

    def without(self, rows: Array) -> Sample:
        """The sample without the rows that are marked."""
        import pyarrow as pa

        if not rows.any():
            return self
        return Sample(self.table.filter(pa.array(~rows)), self.memory)
