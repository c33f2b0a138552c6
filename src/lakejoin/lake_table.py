"""A table of the index: `LakeTable`, and how it takes part in a join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lakejoin.errors import import_optional

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join_inputs import Side
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


class LakeTable:
    """A table of the index; its rows are rebuilt from codes on demand."""

    def __init__(self, snapshot: Snapshot, segment: Segment, entry: TableEntry) -> None:
        self._snapshot = snapshot
        self._segment = segment
        self.entry = entry

    def __repr__(self) -> str:
        return f"<LakeTable {self.name}: {self.entry.rows:,} rows, {self.entry.width} columns>"

    @property
    def name(self) -> str:
        """Its path in the lake; a table inside a container is named `path#part`."""
        return self.entry.name

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.entry.rows

    def columns(self) -> list[ColumnEntry]:
        """The columns with their profiles."""
        return self._segment.catalog.columns_of(self.entry)

    @property
    def lakes(self) -> tuple[str, ...]:
        """The paths or URIs that the index was built from."""
        return tuple(self._snapshot.manifest.lakes)

    @property
    def identity(self) -> str:
        """A text that changes whenever the table is indexed again."""
        return f"{self.name}@{self._segment.record.id}/{self.entry.table_id}"

    def to_arrow(
        self, begin: int = 0, end: int | None = None, column_indices: Sequence[int] | None = None
    ) -> pa.Table:
        """Rows [begin, end) with their original texts, as a `pyarrow.Table`; all columns, or those
        with the zero-based indices `places`."""
        return self._segment.to_arrow(self.entry, begin, end, column_indices)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        import_optional("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`."""
        return import_optional("polars").from_arrow(self.to_arrow())


def join_side(table: Any, default: str = "") -> Side:
    """A table as one side of a join; a lake table is read only if its codes do not suffice."""
    from lakejoin.joins.join_inputs import Side, input_name, read_input, side_from_rows

    if isinstance(table, LakeTable):
        stored, snapshot = (table._segment, table.entry), table._snapshot
        rules = snapshot.manifest.options.rules
        losses = table.entry.losses
        return Side(table.name, table.to_arrow, stored, snapshot.location.uri, rules, losses)
    return side_from_rows(input_name(table, default), *read_input(table))
