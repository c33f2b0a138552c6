"""The tables of a join, with rows that are read when needed."""

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
    """One of the tables. If it is in an index, `stored` says where its codes are, `index` is the
    location of the index and `rules` are its value rules. `losses` were lost in reading."""

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
        """The number of rows."""
        return self.stored[1].rows if self.stored else self.rows.num_rows

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        if self.stored is None:
            return tuple(self.rows.column_names)
        segment, entry = self.stored
        return tuple(column.name for column in segment.catalog.columns_of(entry))


def side_from_rows(name: str, rows: pa.Table, losses: tuple[Loss, ...] = ()) -> Side:
    """A side with rows that are already read."""
    return Side(name, lambda: rows, losses=losses)


def common_value_rules(sides: Sequence[Side]) -> ValueRules:
    """The value rules of the index that the tables are in, else the defaults."""
    indexed = {side.rules: side.index for side in sides if side.rules is not None}
    if len(indexed) > 1:
        first, second, *_ = indexed.values()
        raise InputError(
            f"indexes {first} and {second} were built with different --values: rebuild one of "
            "them, or pass its tables as files or data frames"
        )
    return next(iter(indexed), ValueRules())
