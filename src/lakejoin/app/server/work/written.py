"""A chain, ready to be written as code: the tables that are read, and the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.app.server.tables import OfLake, OpenTable
from lakejoin.app.server.work.joined import JoinAsked

if TYPE_CHECKING:
    from lakejoin.joins.join import Join


@dataclass(frozen=True, slots=True)
class Source:
    """A table that is read: what it is called in the code, and the table."""

    called: str
    table: OpenTable
    index: str

    @property
    def in_lake(self) -> bool:
        """Whether it is a table of the lake, and not one that was brought."""
        return isinstance(self.table, OfLake)


@dataclass(frozen=True, slots=True)
class JoinStep:
    """A step that joins: how it was asked for, with which table, and, where it is needed, the join
    itself."""

    asked: JoinAsked
    right: Source
    join: Join | None


@dataclass(frozen=True, slots=True)
class SqlStep:
    """A step of SQL over what was there before; `types` are those that its columns of text get."""

    sql: str
    types: dict[str, str]


@dataclass(frozen=True, slots=True)
class Written:
    """A chain, ready to be written."""

    start: Source
    steps: tuple[JoinStep | SqlStep, ...]
    index: str

    @property
    def sources(self) -> list[Source]:
        """All tables that are read."""
        joins = [step.right for step in self.steps if isinstance(step, JoinStep)]
        return [self.start, *joins]
