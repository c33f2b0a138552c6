"""Answers of a server about joins, predicates, rows to append, paths between tables, and the join
graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from lakejoin.client.connection import Connection
from lakejoin.client.remote_table import table_id
from lakejoin.client.search_answers import Json, ServerObject, ServerSequence, read_each
from lakejoin.errors import NoJoin

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.client.remote_table import RemoteTable


@dataclass(frozen=True, eq=False, repr=False)
class AlignedColumns(ServerObject):
    """A column of the query table and the lake column that corresponds to it, if there is one."""

    mine: str = ""
    theirs: str | None = None
    score: float = 0.0
    signs: tuple[Json, ...] = ()

    def __repr__(self) -> str:
        return f"{self.mine} ← {self.theirs or 'nothing'}"


@dataclass(frozen=True, eq=False, repr=False)
class UnionResult(ServerObject):
    """A table whose rows could be appended; for a miss, `apart` says why they should not be."""

    rank: int = 0
    table: str = ""
    id: str = ""
    score: float = 0.0
    alignment: tuple[AlignedColumns, ...] = ()
    extra: tuple[str, ...] = ()
    rows: int = 0
    new_rows: int = 0
    versions: tuple[str, ...] = ()
    apart: str = ""

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON."""
        return super().of(
            data, alignment=read_each(AlignedColumns.of, data.get("alignment")), **others
        )

    @property
    def pairs(self) -> tuple[AlignedColumns, ...]:
        """The columns that correspond."""
        return tuple(pair for pair in self.alignment if pair.theirs is not None)

    @property
    def missing(self) -> tuple[str, ...]:
        """The columns of the query table that it lacks."""
        return tuple(pair.mine for pair in self.alignment if pair.theirs is None)

    def __repr__(self) -> str:
        pairs = ", ".join(map(repr, self.pairs))
        rows = f"{self.new_rows:,} of {self.rows:,} rows are new"
        return f"{self.table} ({self.score:.2f}): {rows}; {pairs}"


@dataclass(frozen=True, eq=False, repr=False)
class UnionAnswer(ServerSequence[UnionResult]):
    """The tables whose rows could be appended to the query table, at most `k`, best first."""

    table: str = ""
    columns: tuple[str, ...] = ()
    misses: tuple[UnionResult, ...] = ()
    k: int = 10
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON."""
        query = data.get("query", {})
        return super().of(
            data,
            table=query.get("table", ""),
            columns=tuple(query.get("columns", ())),
            results=read_each(UnionResult.of, data.get("results")),
            misses=read_each(UnionResult.of, data.get("misses")),
            **others,
        )

    def __repr__(self) -> str:
        lines = [f"{self.table}: {len(self)} tables whose rows could be appended"]
        return "\n".join(
            [*lines, *(f"{result.rank}  {result!r}" for result in self.results), *self.notes]
        )


@dataclass(frozen=True, eq=False, repr=False)
class Join(ServerObject):
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
class Path(ServerObject):
    """A chain of joins; `rows` of the `total` rows of the first table survive it, and the result
    has `joined` rows."""

    rank: int = 0
    joins: tuple[Join, ...] = ()
    rows: int = 0
    total: int = 0
    joined: int = 0

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON."""
        return super().of(data, joins=read_each(Join.of, data.get("joins")), **others)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables on the path, including both ends."""
        return (self.joins[0].table, *(join.other_table for join in self.joins))

    def sql(self) -> str:
        """DuckDB SQL that makes the join."""
        return str(self.raw["sql"])

    def __repr__(self) -> str:
        steps = [f"{join.column} = {join.other_column} → {join.other_table}" for join in self.joins]
        survivors = f"{self.rows:,} of {self.total:,} rows survive"
        return f"{self.rank}  {self.joins[0].table}: {', then '.join(steps)} ({survivors})"


@dataclass(frozen=True, eq=False, repr=False)
class Paths(ServerSequence[Path]):
    """The paths from one table to another; if there are none, `none` says what comes closest."""

    table: str = ""
    other_table: str = ""
    none: str = ""
    searched: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    _key = "paths"

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON."""
        return super().of(data, results=read_each(Path.of, data.get("paths")), **others)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths, sorted by the rows that survive, most first."""
        return self.results

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.results)) or self.none


@dataclass(frozen=True, eq=False, repr=False)
class Around(ServerSequence[Join]):
    """The tables around a table, nearest and best first; a sequence of the joins that reach them.

    `kept` is false if the index has no join graph and the joins were searched for just now.
    """

    table: str = ""
    reached: tuple[int, ...] = ()
    complete: bool = True
    kept: bool = True

    _key = "steps"

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON."""
        return super().of(data, results=read_each(Join.of, data.get("steps")), **others)

    @property
    def steps(self) -> tuple[Join, ...]:
        """The joins, each to a table that was not reached before."""
        return self.results

    def hops(self) -> list[int]:
        """How many more tables each further join reaches."""
        return list(self.reached)

    def __repr__(self) -> str:
        lines = [f"{self.table}: {', '.join(map(str, self.reached)) or 'no'} tables reached"]
        return "\n".join([*lines, *(f"{step.hop}  {step!r}" for step in self.results)])


@dataclass(frozen=True, eq=False, repr=False)
class Statistics(ServerObject):
    """Figures about the join graph of the whole lake."""

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
        """Figures about the whole graph; an error if the index has no join graph."""
        return Statistics.of(self.connection.get("/graph"))

    def around(self, table: Any, hops: int = 1, limit: int | None = None) -> Around:
        """The tables within `hops` joins of a table, at most `limit`; they are searched for if the
        index has no join graph or the table is not in the lake."""
        start = table_id(self.connection, table)
        return Around.of(self.connection.get("/graph", table=start, hops=hops, limit=limit))


@dataclass(frozen=True, eq=False, repr=False)
class RemoteJoin(ServerObject):
    """How two tables join; false if no join was found. `run` makes the joined table on the server;
    `table`, `to_pandas` and `to_polars` download it."""

    left: str = ""
    right: str = ""
    on: tuple[Json, ...] = ()
    how: str = "inner"
    rows: int = 0
    left_rows: int = 0
    right_rows: int = 0
    left_joined: int = 0
    right_joined: int = 0
    pairs: int = 0
    fan_out: float | None = None
    left_columns: tuple[str, ...] = ()
    right_columns: tuple[str, ...] = ()
    steps: tuple[Json, ...] = ()
    sure: float = 0.0
    examples: tuple[Json, ...] = ()
    unmatched: Json = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    preview: Json = field(default_factory=dict)
    found: bool = True
    why: str = ""
    attempt: Json | None = None
    _run: Callable[[], RemoteTable] | None = field(default=None, kw_only=True)

    def __bool__(self) -> bool:
        return self.found

    def __len__(self) -> int:
        return self.rows

    def run(self) -> RemoteTable:
        """Make the joined table and keep it on the server; raises `NoJoin` if no join was found."""
        if not self.found or self._run is None:
            raise NoJoin(self.why or "no join found")
        return self._run()

    def table(self) -> pa.Table:
        """The joined table as a `pyarrow.Table`."""
        return self.run().to_arrow()

    def to_pandas(self) -> Any:
        """The joined table as a `pandas.DataFrame`."""
        return self.run().to_pandas()

    def to_polars(self) -> Any:
        """The joined table as a `polars.DataFrame`."""
        return self.run().to_polars()

    def __repr__(self) -> str:
        if not self.found:
            return f"<RemoteJoin {self.left} with {self.right}: {self.why}>"
        pairs = zip(self.left_columns, self.right_columns, strict=False)
        kinds = ", ".join(str(step.get("kind", "")) for step in self.steps)
        on = " and ".join(f"{one} = {other}" for one, other in pairs)
        return (
            f"<RemoteJoin {self.left} with {self.right} on {on} ({kinds}): {self.rows:,} rows, "
            f"{self.left_joined:,} of {self.left_rows:,} left rows have a partner>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class JoinPredicate(ServerObject):
    """Pairs of columns that must all be equal, and figures about their join."""

    pairs: tuple[tuple[str, str], ...] = ()
    enough: tuple[tuple[str, str], ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    inner_rows: int = 0
    outer_rows: int = 0
    groups: int = 0
    entropy: float = 0.0
    involved: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    first: tuple[tuple[Any, ...], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The equalities as text."""
        return " and ".join(f"{one} = {other}" for one, other in self.pairs)

    def __repr__(self) -> str:
        return f"<JoinPredicate {self.words}: {self.inner_rows:,} rows>"


@dataclass(frozen=True, eq=False, repr=False)
class Predicates(ServerSequence[JoinPredicate]):
    """The best predicates for a preference; `why` explains why there is none."""

    tables: tuple[Json, ...] = ()
    prefer: str = ""
    looked_at: int = 0
    complete: bool = True
    why: str = ""
    notes: tuple[str, ...] = ()

    _key = "predicates"

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON."""
        return super().of(
            data, results=read_each(JoinPredicate.of, data.get("predicates")), **others
        )

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.results)) or self.why
