"""Which tables are joined? Each by its name, with rows that are read when needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.given import plain_columns
from lakejoin.model import Loss, ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, eq=False)
class Side:
    """One of the tables. One that lies in an index has its codes there, and `stored` says where;
    `index` is the place of the index, and `rules` say which of its values are equal. `losses` are
    what reading it left out."""

    name: str
    load: Callable[[], pa.Table]
    stored: tuple[Segment, TableEntry] | None = None
    index: str = ""
    rules: ValueRules | None = None
    losses: tuple[Loss, ...] = ()

    @cached_property
    def rows(self) -> pa.Table:
        """Its rows, read once."""
        return plain_columns(self.load())

    @property
    def size(self) -> int:
        """How many rows it has."""
        return self.stored[1].rows if self.stored else self.rows.num_rows

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        if self.stored is None:
            return tuple(self.rows.column_names)
        segment, entry = self.stored
        return tuple(column.name for column in segment.catalog.columns_of(entry))


def side_of_rows(name: str, rows: pa.Table, losses: tuple[Loss, ...] = ()) -> Side:
    """A table that has been read."""
    return Side(name, lambda: rows, losses=losses)


def rules_of(sides: Sequence[Side]) -> ValueRules:
    """Which values are equal: as in the index in which some of the tables lie, else as usual."""
    indexed = {side.rules: side.index for side in sides if side.rules is not None}
    if len(indexed) > 1:
        one, other, *_ = indexed.values()
        raise InputError(
            f"the indexes {one} and {other} differ in which values are equal: make one of them "
            "again with the --values of the other, or give its tables as files or frames"
        )
    return next(iter(indexed), ValueRules())
