"""The sources and steps of a chain that is exported as code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.server.workspace import ServedLakeTable, ServedTable
from lakejoin.server.jobs.chain_steps import JoinRequest

if TYPE_CHECKING:
    from lakejoin.joins.join import Join


@dataclass(frozen=True, slots=True)
class ChainSource:
    """A table that is read, and its name in the code."""

    called: str
    table: ServedTable
    index: str

    @property
    def in_lake(self) -> bool:
        """Whether it is a table of the lake, not an upload."""
        return isinstance(self.table, ServedLakeTable)


@dataclass(frozen=True, slots=True)
class ChainJoin:
    """A join step: its request, the right table and, if the code needs it, the join itself."""

    asked: JoinRequest
    right: ChainSource
    join: Join | None


@dataclass(frozen=True, slots=True)
class ChainSql:
    """An SQL step over the previous table; `types` has the casts of its text columns."""

    sql: str
    types: dict[str, str]


@dataclass(frozen=True, slots=True)
class ExportedChain:
    """A chain that is exported as code."""

    start: ChainSource
    steps: tuple[ChainJoin | ChainSql, ...]
    index: str

    @property
    def sources(self) -> list[ChainSource]:
        """All tables that are read."""
        joins = [step.right for step in self.steps if isinstance(step, ChainJoin)]
        return [self.start, *joins]
