"""What a server tells of its lake: rows to append, ways from table to table, the join graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from lakejoin.client.connection import Connection
from lakejoin.client.reading import Json, Several, Told, each
from lakejoin.client.sending import table_id


@dataclass(frozen=True, eq=False, repr=False)
class Aligned(Told):
    """A column of mine and the one of theirs that goes with it, if there is one."""

    mine: str = ""
    theirs: str | None = None
    score: float = 0.0
    signs: tuple[Json, ...] = ()

    def __repr__(self) -> str:
        return f"{self.mine} ← {self.theirs or 'nothing'}"


@dataclass(frozen=True, eq=False, repr=False)
class UnionResult(Told):
    """A table whose rows could be appended to mine; `apart` says why not, if it is none."""

    rank: int = 0
    table: str = ""
    id: str = ""
    score: float = 0.0
    alignment: tuple[Aligned, ...] = ()
    extra: tuple[str, ...] = ()
    rows: int = 0
    new_rows: int = 0
    versions: tuple[str, ...] = ()
    apart: str = ""

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """As JSON has it."""
        return super().of(told, alignment=each(Aligned.of, told.get("alignment")), **others)

    @property
    def pairs(self) -> tuple[Aligned, ...]:
        """The columns that go together."""
        return tuple(one for one in self.alignment if one.theirs is not None)

    @property
    def missing(self) -> tuple[str, ...]:
        """My columns that it has not."""
        return tuple(one.mine for one in self.alignment if one.theirs is None)

    def __repr__(self) -> str:
        told = ", ".join(map(repr, self.pairs))
        return f"{self.table} ({self.score:.2f}): {self.new_rows:,} of {self.rows:,} rows; {told}"


@dataclass(frozen=True, eq=False, repr=False)
class UnionAnswer(Several[UnionResult]):
    """The tables whose rows could be appended to mine, at most `k`, the best first."""

    table: str = ""
    columns: tuple[str, ...] = ()
    misses: tuple[UnionResult, ...] = ()
    k: int = 10
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """As JSON has it."""
        query = told.get("query", {})
        return super().of(
            told,
            table=query.get("table", ""),
            columns=tuple(query.get("columns", ())),
            results=each(UnionResult.of, told.get("results")),
            misses=each(UnionResult.of, told.get("misses")),
            **others,
        )

    def __repr__(self) -> str:
        lines = [f"{self.table}: {len(self)} tables whose rows could be appended"]
        return "\n".join([*lines, *(f"{one.rank}  {one!r}" for one in self.results), *self.notes])


@dataclass(frozen=True, eq=False, repr=False)
class Join(Told):
    """One join of a path, or around a table: `column` equals `other_column` of `other_table`."""

    table: str = ""
    column: str = ""
    other_table: str = ""
    other_column: str = ""
    shared: int = 0
    containment: float = 0.0
    hop: int = 0

    def __repr__(self) -> str:
        return f"{self.table}: {self.column} = {self.other_column} → {self.other_table}"


@dataclass(frozen=True, eq=False, repr=False)
class Path(Told):
    """A chain of joins; `rows` of the `total` of the first table survive it, and the join has
    `joined` rows."""

    rank: int = 0
    joins: tuple[Join, ...] = ()
    rows: int = 0
    total: int = 0
    joined: int = 0

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """As JSON has it."""
        return super().of(told, joins=each(Join.of, told.get("joins")), **others)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables on the way, with both ends."""
        return (self.joins[0].table, *(join.other_table for join in self.joins))

    def sql(self) -> str:
        """DuckDB SQL that makes the join."""
        return str(self.raw["sql"])

    def __repr__(self) -> str:
        steps = [f"{join.column} = {join.other_column} → {join.other_table}" for join in self.joins]
        told = f"{self.rows:,} of {self.total:,} rows survive"
        return f"{self.rank}  {self.joins[0].table}: {', then '.join(steps)} ({told})"


@dataclass(frozen=True, eq=False, repr=False)
class Paths(Several[Path]):
    """The paths from one table to another; where there is none, `none` says what comes nearest."""

    table: str = ""
    other_table: str = ""
    none: str = ""
    searched: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    _key = "paths"

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """As JSON has it."""
        return super().of(told, results=each(Path.of, told.get("paths")), **others)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths, those that most rows survive first."""
        return self.results

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.results)) or self.none


@dataclass(frozen=True, eq=False, repr=False)
class Around(Several[Join]):
    """The tables around one, the nearest and best first; a sequence of joins that lead there.

    `kept` is false where the index has no join graph, and the joins were searched for just now.
    """

    table: str = ""
    reached: tuple[int, ...] = ()
    complete: bool = True
    kept: bool = True

    _key = "steps"

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """As JSON has it."""
        return super().of(told, results=each(Join.of, told.get("steps")), **others)

    @property
    def steps(self) -> tuple[Join, ...]:
        """The joins, each to a table that was not met before."""
        return self.results

    def hops(self) -> list[int]:
        """How many tables each further join leads to."""
        return list(self.reached)

    def __repr__(self) -> str:
        lines = [f"{self.table}: {', '.join(map(str, self.reached)) or 'no'} tables by join"]
        return "\n".join([*lines, *(f"{one.hop}  {one!r}" for one in self.results)])


@dataclass(frozen=True, eq=False, repr=False)
class Statistics(Told):
    """The figures of the join graph of the whole lake."""

    tables: int = 0
    joined: int = 0
    columns: int = 0
    edges: int = 0
    number_edges: int = 0
    quartiles: tuple[int, ...] = ()
    most: int = 0
    components: int = 0
    largest: int = 0
    sample: tuple[Json, ...] = ()
    reach: Json | None = None

    def __repr__(self) -> str:
        return f"<Statistics: {self.joined:,} of {self.tables:,} tables join, {self.edges:,} edges>"


@dataclass(frozen=True)
class RemoteGraph:
    """The join graph of a server's lake."""

    connection: Connection = field(repr=False)

    def statistics(self) -> Statistics:
        """How many tables join, with how many others; refused where no graph is kept."""
        return Statistics.of(self.connection.get("/graph"))

    def around(self, table: Any, hops: int = 1, limit: int | None = None) -> Around:
        """The tables that can be reached from a table by so many joins, at most `limit`; searched
        for where no graph is kept, or the table is none of the lake."""
        asked = table_id(self.connection, table)
        return Around.of(self.connection.get("/graph", table=asked, hops=hops, limit=limit))
