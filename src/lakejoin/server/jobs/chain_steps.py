"""A requested join and how to compute it, and the sources and steps of a chain that is exported as
code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lakejoin import api
from lakejoin.joins.options import MatchOptions
from lakejoin.server.job_loop import ProgressReporter
from lakejoin.server.workspace import ServedLakeTable, ServedTable, Workspace

if TYPE_CHECKING:
    from lakejoin.joins.join import Join


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """How to join two tables, given by id; `columns` are those to keep in the result."""

    left: str
    right: str
    on: tuple[tuple[str, str], ...] | None = None
    how: str = "inner"
    by: str | None = None
    within: str | float | None = None
    tau: float | None = None
    precision: float = 0.9
    one_to_one: bool = False
    aggregate: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> JoinRequest:
        """From the JSON of a request, ignoring unknown and null fields.

        >>> fields = {"left": "lake:a", "right": "lake:b", "on": [{"left": "x", "right": "y"}]}
        >>> JoinRequest.from_fields({**fields, "rows": 5, "tau": None}).on
        (('x', 'y'),)
        """
        settings = {name: fields[name] for name in cls.__slots__ if fields.get(name) is not None}
        if "on" in settings:
            settings["on"] = tuple((p["left"], p["right"]) for p in settings["on"]) or None
        for name in ("aggregate", "columns"):
            if name in settings:
                settings[name] = tuple(settings[name])
        return cls(**settings)

    def settings(self) -> dict[str, Any]:
        """Everything except the tables, for the id of the result."""
        return {key: value for key, value in asdict(self).items() if key not in ("left", "right")}


def compute_join(
    workspace: Workspace, request: JoinRequest, tell: ProgressReporter | None = None
) -> Join:
    """Join two tables; the result is falsy if there is no join."""
    left, right = workspace.tables.open(request.left), workspace.tables.open(request.right)

    def progress(doing: str) -> None:
        if tell is not None:
            tell("progress", {"doing": doing})

    options = MatchOptions(
        one_to_one=request.one_to_one,
        aggregate=request.aggregate,
        precision=request.precision,
        within=request.within,
        tau=request.tau,
    )
    on = list(request.on) if request.on else None
    tables = left.as_input(), right.as_input()
    return api.join(*tables, on, request.how, request.by, options=options, progress=progress)


@dataclass(frozen=True, slots=True)
class ChainSource:
    """A table that is read, and its name in the code."""

    alias: str
    table: ServedTable
    index: str

    @property
    def in_lake(self) -> bool:
        """Whether it is a table of the lake, not an upload."""
        return isinstance(self.table, ServedLakeTable)


@dataclass(frozen=True, slots=True)
class ChainJoin:
    """A join step: its request, the right table and, if the code needs it, the join itself."""

    request: JoinRequest
    right: ChainSource
    join: Join | None


@dataclass(frozen=True, slots=True)
class ColumnCast:
    """A text column that is cast to a DuckDB type, and the expression; does it parse dates?"""

    column: str
    type: str
    sql: str
    parses_dates: bool = False


@dataclass(frozen=True, slots=True)
class ChainSql:
    """An SQL step over the previous table, with the casts of its text columns."""

    sql: str
    casts: tuple[ColumnCast, ...]


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
