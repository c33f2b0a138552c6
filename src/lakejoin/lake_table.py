"""A table of the index: `LakeTable`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lakejoin.errors import import_optional

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


class LakeTable:
    """A table of the index; its rows are rebuilt from codes on demand.

    >>> table = lake.table("cities.csv")
    >>> table.rows, [column.name for column in table.columns()][:2]
    (7, ['name', 'land'])
    """

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
        with these zero-based indices."""
        return self._segment.to_arrow(self.entry, begin, end, column_indices)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        import_optional("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`."""
        return import_optional("polars").from_arrow(self.to_arrow())
