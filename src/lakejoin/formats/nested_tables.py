"""Read nested records as a table and the tables nested in it, whatever holds the records: Python
objects from JSON and Avro, or Arrow arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.formats.nested_shapes import NestedColumn, NestedTable, descendants
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import Array, ReadLimits
from lakejoin.values.plain_columns import Losses

_PARTS_NAMED = 5
_CELLS = 2_000_000  # of a batch


class RecordKind(Protocol):
    """How to take values out of records; values are a list or an Arrow array."""

    def step(self, values: Any, key: str) -> Any:
        """What the objects among the values have under a key, else null."""

    def explode(self, values: Any, is_map: bool) -> tuple[Any, Array]:
        """The elements of all lists, or the pairs of all maps, and the position of the value that
        each is in."""

    def column(self, values: Any, column: NestedColumn, losses: Losses) -> pa.Array:
        """The values as a column."""

    def finish(self, batch: pa.RecordBatch, losses: Losses) -> pa.RecordBatch:
        """Repair what has to be repaired in the columns together."""


# Yields the records block by block; with a name, only this key of them need be there.
RecordReader = Callable[[Losses, tuple[str, ...]], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class NestedRecords:
    """The records of a file, how to read them, and the tables that they become. `first_row` is the
    number of rows of the file before them."""

    name: str
    format: str
    plan: NestedTable
    kind: RecordKind
    read: RecordReader
    limits: ReadLimits
    first_row: int = 0

    def stream(self, notes: tuple[str, ...] = ()) -> TableStream:
        """The table, with the tables nested in it as its children."""
        children = tuple(self._child(above) for above in descendants(self.plan))
        names, all_notes = self.plan.names, (*notes, *self._note_nested(), *self.plan.notes)
        return TableStream(
            self.name, self.format, names, self._rows, None, all_notes, self.limits, children
        )

    def _note_nested(self) -> Iterator[str]:
        """Say that the columns are not those of the file: code that reads the file must know."""
        if self.plan.children or any(len(column.path) > 1 for column in self.plan.columns):
            parts = ", ".join(f"#{child.part}" for child in self.plan.children[:_PARTS_NAMED])
            tables = f"; nested tables: {parts}" if parts else ""
            yield f"nested values are columns with dotted names{tables}"

    def _rows(self, losses: Losses) -> Iterator[pa.RecordBatch]:
        row = self.first_row
        for block in self.read(losses, ()):
            columns = self._columns(block, self.plan.columns, losses)
            if self.plan.children:
                columns.append(self._row_ids(row, len(block)))
            row += len(block)
            batch = pa.RecordBatch.from_arrays(columns, names=list(self.plan.names))
            yield self.kind.finish(batch, losses)

    def _child(self, above: tuple[NestedTable, ...]) -> TableStream:
        table = above[-1]
        needed = [above[0].path[0]]
        if above[0].parent_id is not None:
            needed.append(above[0].parent_id.path[0])
        step = max(1, min(50_000, _CELLS // max(1, len(table.names))))

        def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
            row = self.first_row
            for block in self.read(Losses(), tuple(needed)):
                records, ids = block, self._row_ids(row, len(block))
                row += len(block)
                outer, parents = records, np.zeros(0, np.int64)
                for hop in above:
                    outer, parent_ids = records, ids
                    lists = self._at(records, hop.path)
                    records, parents = self.kind.explode(lists, hop.is_map)
                    ids = _element_ids(parent_ids, parents)
                keys = [parent_ids]
                if table.parent_id is not None:
                    keys += self._columns(outer, (table.parent_id,), Losses())
                for start in range(0, len(records), step):
                    some = slice(start, start + step)
                    columns = [key.take(pa.array(parents[some])) for key in keys]
                    columns += self._columns(records[some], table.columns, losses)
                    if table.children:
                        columns.append(ids[some])
                    batch = pa.RecordBatch.from_arrays(columns, names=list(table.names))
                    yield self.kind.finish(batch, losses)

        name = f"{self.name}#{table.part}"
        return TableStream(
            name, self.format, table.names, reading, None, table.notes, self.limits,
            part=table.part,
        )  # fmt: skip

    def _columns(
        self, records: Any, columns: Sequence[NestedColumn], losses: Losses
    ) -> list[pa.Array]:
        return [self.kind.column(self._at(records, c.path), c, losses) for c in columns]

    def _at(self, records: Any, path: tuple[str, ...]) -> Any:
        values = records
        for key in path:
            values = self.kind.step(values, key)
        return values

    def _row_ids(self, first: int, count: int) -> pa.Array:
        """The key of some rows: unique in the lake, so that it equals nothing by chance."""
        stamp = hashlib.sha256(self.name.encode("utf-8", "surrogateescape")).hexdigest()[:10]
        numbers = pa.array(np.arange(first + 1, first + count + 1)).cast(pa.string())
        return pc.binary_join_element_wise(pa.scalar(f"r{stamp}"), numbers, ":")


def _element_ids(parent_ids: pa.Array, parents: Array) -> pa.Array:
    """The key of elements: that of the parent, and which element of it."""
    starts = np.searchsorted(parents, parents)
    numbers = pa.array(np.arange(1, len(parents) + 1) - starts).cast(pa.string())
    return pc.binary_join_element_wise(parent_ids.take(pa.array(parents)), numbers, ".")
