"""The sources and steps of a chain that is exported as code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.app.server.tables import OfLake, OpenTable
from lakejoin.app.server.work.joined import JoinAsked

if TYPE_CHECKING:
    from lakejoin.joins.join import Join


@dataclass(frozen=True, slots=True)
class Source:
    """A table that is read, and its name in the code."""

    called: str
    table: OpenTable
    index: str

    @property
    def in_lake(self) -> bool:
        """Whether it is a table of the lake, not an upload."""
        return isinstance(self.table, OfLake)


@dataclass(frozen=True, slots=True)
class JoinStep:
    """A join step: its request, the right table and, if the code needs it, the join itself."""

    asked: JoinAsked
    right: Source
    join: Join | None


@dataclass(frozen=True, slots=True)
class SqlStep:
    """An SQL step over the previous table; `types` has the casts of its text columns."""

    sql: str
    types: dict[str, str]


@dataclass(frozen=True, slots=True)
class Written:
    """A chain that is exported as code."""

    start: Source
    steps: tuple[JoinStep | SqlStep, ...]
    index: str

    @property
    def sources(self) -> list[Source]:
        """All tables that are read."""
        joins = [step.right for step in self.steps if isinstance(step, JoinStep)]
        return [self.start, *joins]
