"""TableStream, a table read batch by batch, and Table, a table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakejoin.errors import MissingDependency
from lakejoin.values.plain_columns import plain_batch
from lakejoin.values.losses import Losses
from lakejoin.model import Dialect, Loss, ReadLimits

if TYPE_CHECKING:
    import pyarrow as pa


DEFAULT_LIMITS = ReadLimits()

BatchReader = Callable[[Losses], "Iterator[pa.RecordBatch]"]


@dataclass(slots=True)
class TableStream:
    """A table of a file, read batch by batch.

    `column_names` are unique. `losses` is complete once `batches()` is exhausted. `notes` say what
    was changed without loss, such as a column's name.
    """

    name: str
    format: str
    column_names: tuple[str, ...]
    reading: BatchReader
    dialect: Dialect | None = None
    notes: tuple[str, ...] = ()
    limits: ReadLimits = DEFAULT_LIMITS
    _losses: Losses = field(default_factory=Losses)

    @property
    def losses(self) -> list[Loss]:
        """What was lost so far."""
        return self._losses.listed()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in order; each call reads the table from its start."""
        self._losses = Losses()
        for batch in self.reading(self._losses):
            yield plain_batch(batch, self.limits, self._losses)


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory: its rows, the dialect of its file, and what was lost in reading."""

    name: str
    format: str
    rows: pa.Table = field(repr=False)
    dialect: Dialect | None = None
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(stream: TableStream) -> Table:
        """Read a stream to its end."""
        import pyarrow as pa

        batches = list(stream.batches())
        if batches:
            rows = pa.Table.from_batches(_same_schema(batches))
        else:
            rows = pa.table({name: pa.array([], pa.string()) for name in stream.column_names})
        losses = tuple(stream.losses)
        return Table(stream.name, stream.format, rows, stream.dialect, losses, stream.notes)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.rows.column_names)

    def to_arrow(self) -> pa.Table:
        """The rows as a `pyarrow.Table`."""
        return self.rows

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`; needs pandas."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingDependency("to_pandas needs pandas: pip install pandas") from None
        return self.rows.to_pandas()

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`; needs polars."""
        try:
            import polars
        except ImportError:
            raise MissingDependency("to_polars needs polars: pip install polars") from None
        return polars.from_arrow(self.rows)

    def __repr__(self) -> str:
        shape = f"{self.rows.num_rows} rows x {self.rows.num_columns} columns"
        return f"Table({self.name!r}, {self.format}, {shape})"


def _same_schema(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Batches of one schema: a column whose type changes between batches becomes text."""
    import pyarrow as pa

    first = batches[0].schema
    if all(b.schema.equals(first) for b in batches):
        return batches
    fields = [
        f
        if all(b.schema.field(i).type == f.type for b in batches)
        else pa.field(f.name, pa.string())
        for i, f in enumerate(first)
    ]
    schema = pa.schema(fields)
    return [b.cast(schema) for b in batches]
