"""A lake on a server: `connect`, `RemoteLake` with the methods of an opened index, and what its
answers fetch when they are used: values that match, joined tables, the join graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

from lakejoin.client.connection import (
    Address,
    Connection,
    Json,
    Names,
    Progress,
    column_fields,
    pair_fields,
    refuse_options,
    search_fields,
    without_none,
)
from lakejoin.client.remote_table import KINDS, RemoteTable, table_id, upload
from lakejoin.errors import InputError, NoJoin
from lakejoin.joins.options import MatchOptions, aggregate_functions
from lakejoin.lake_search import LakeSearch, check_column_count
from lakejoin.render.answer_base import PrintedReport
from lakejoin.render.report import Report
from lakejoin.search.options import DEFAULT_K, SearchOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.graph.graph_statistics import GraphStatistics
    from lakejoin.graph.neighborhood import Neighborhood
    from lakejoin.joins.predicates.join_predicate import Predicates
    from lakejoin.paths.answer import Paths
    from lakejoin.ranking.answer import FusedAnswer
    from lakejoin.search.answer import Answer, Answers
    from lakejoin.search.query_columns import ColumnSelection
    from lakejoin.union.answer import UnionAnswer


_PAGE = 1_000  # tables per request


def connect(url: str, token: str | None = None, *, timeout: float | None = 600) -> RemoteLake:
    """Connect to a server (`lakejoin serve`); returns a lake with the methods of an opened index.

    `url` is the address that the server prints. A server that is open to other machines requires a
    `token`. `timeout` is how many seconds to wait for an answer (None: forever); the server has its
    own limits.

    >>> lake = lakejoin.connect(server.url)
    >>> lake.search("mine.csv", on="city")[0].table
    'cities.csv'
    >>> lake.close()
    """
    connection = Connection(Address.of(url, token), timeout)
    return RemoteLake(connection, connection.get("/info"))


class RemoteLake(LakeSearch):
    """A lake on a server. All work is done on the server; local tables are uploaded.

    A `table` is the path of a local file (or `file#part`), the name of a table in the lake, a
    `RemoteTable`, or a frame (pandas, polars, Arrow, DuckDB, a mapping of columns, a list of
    values). To use a local table several times, upload it once: `mine = lake.upload("mine.csv")`.

    Servers choose the algorithm of `overlap` and the initial column of `composite`, verify every
    count, count values that have a match, and compare vectors by L2.

    >>> with lakejoin.connect(server.url) as lake:
    ...     lake.overlap("mine.csv", on="city")[0].table
    'cities.csv'
    """

    _table_class = RemoteTable
    _threads = 4  # concurrent requests

    def __init__(self, connection: Connection, info: Json) -> None:
        self._connection = connection
        self._info = info

    def __repr__(self) -> str:
        tables, rows = self._info["tables"], self._info["rows"]
        return f"<RemoteLake {self.url}: {tables:,} tables, {rows:,} rows>"

    def __len__(self) -> int:
        return int(self._info["tables"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, tuple[str, str | None]]:
        """Copies and unpickled lakes connect again."""
        return connect, (self.url, self._connection.address.token)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return self._connection.url

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # -- tables --------------------------------------------------------------------------------

    def info(self) -> Json:
        """Figures about the index, with the keys of `lakejoin info --json`, and the limits of the
        server."""
        self._info = self._connection.get("/info")
        return self._info

    def tables(self, pattern: str | None = None) -> list[RemoteTable]:
        """The tables in order of their names; `pattern` is a glob, or a part of a name."""
        found: list[RemoteTable] = []
        while True:
            page = self._connection.get("/tables", pattern=pattern, begin=len(found), limit=_PAGE)
            found += [RemoteTable(self._connection, table) for table in page["tables"]]
            if not page["tables"] or len(found) >= page["total"]:
                return found

    def table(self, name: str) -> RemoteTable:
        """The table with this name or id (`upload:…`, `result:…`)."""
        id = name if name.startswith(KINDS) else f"lake:{name}"  # never a local file
        return RemoteTable(self._connection, self._connection.get("/table", table=id))

    def upload(self, table: Any, name: str | None = None) -> RemoteTable:
        """Upload a file or a frame, under its own name or another."""
        return upload(self._connection, table, name)

    def skipped(self) -> NoReturn:
        """Not supported by servers; use `lakejoin.open(…).skipped()` on the index."""
        raise InputError(
            "servers do not list skipped files: open the index with lakejoin.open(…).skipped()"
        )

    # -- searching -----------------------------------------------------------------------------

    def search(self, table: Any, on: ColumnSelection = None, k: int = DEFAULT_K) -> FusedAnswer:
        """Find the `k` tables in the lake that join best with `table`, like `Lake.search`."""
        request = self._fused_request(table, on, k)
        return self._fused(self._connection.post("/search", request), request)

    def _search_columns(
        self, table: Any, on: ColumnSelection, options: SearchOptions, is_key: bool | None = None
    ) -> Answer | Answers:
        """Search with one engine; `is_key` says whether it takes a composite key or one column."""
        from lakejoin.search.answer import Answers

        fields = search_fields(options)
        query_id = self._id(table)
        if on == "*" and options.by != "distance":
            columns = [column.name for column in self.table(query_id).columns() if column.indexed]
            requests = ({"table": query_id, "on": [name], **fields} for name in columns)
            return Answers(map(self._answer, requests))
        names = column_fields(on, self._names(query_id))
        if is_key is not None:
            check_column_count(options.by, len(names or ()), is_key)
        return self._answer({"table": query_id, "on": names, **fields})

    def search_progressively(
        self, table: Any, on: ColumnSelection = None, k: int = DEFAULT_K
    ) -> Iterator[FusedAnswer]:
        """Yield the answers of a fused search as they improve; the last one is `final`. Closing
        the iterator stops the search on the server."""
        request = self._fused_request(table, on, k)
        for name, data in self._connection.events("/search", request):
            if name == "partial":
                yield self._fused(data, None)
            elif name == "done":
                yield self._fused(data, request)

    def union(self, table: Any, k: int = DEFAULT_K) -> UnionAnswer:
        """Find the tables in the lake whose rows could be appended to `table`, best first."""
        query_id = self._id(table)
        from lakejoin.union.answer import UnionAnswer

        return UnionAnswer.from_dict(self._connection.post("/union", {"table": query_id, "k": k}))

    # -- joining -------------------------------------------------------------------------------

    def join(
        self,
        left: Any,
        right: Any,
        on: Any = None,
        how: str = "inner",
        by: str | None = None,
        *,
        options: MatchOptions | None = None,
        progress: Progress | None = None,
    ) -> RemoteJoin:
        """Find out how two tables join, like `lakejoin.join`; the `RemoteJoin` is false if no join
        was found. Servers have no `suffix` and no `encoder`."""
        details = options or MatchOptions()
        refuse_options(
            suffix=None if details.suffix == MatchOptions().suffix else details.suffix,
            encoder=details.encoder,
        )
        left_id, right_id = map(self._id, (left, right))
        request = {
            "right": right_id,
            "on": pair_fields(on, self._names(left_id), self._names(right_id)),
            "how": how,
            "by": by,
            "one_to_one": details.one_to_one or None,
            "aggregate": list(aggregate_functions(details.aggregate)) or None,
            "precision": details.precision,
            "within": details.within,
            "tau": details.tau,
        }
        data = self._connection.post("/join", {"left": left_id, **request}, progress)

        def run(columns: Sequence[str] | None) -> RemoteTable:
            kept = None if columns is None else list(columns)
            step = without_none({"kind": "join", **request, "columns": kept})
            made = self._connection.post("/chains", {"start": left_id, "steps": [step]})
            return RemoteTable(self._connection, made["tables"][-1])

        return RemoteJoin(data, run)

    def predicates(
        self,
        left: Any,
        right: Any,
        *,
        prefer: str = "compact",
        n: int = 5,
        progress: Progress | None = None,
    ) -> Predicates:
        """Find the best predicates (columns to join on) for a preference: `coverage`, `groups`,
        `compact`, `balanced` or `strength`."""
        from lakejoin.joins.predicates.join_predicate import Predicates

        left_id, right_id = map(self._id, (left, right))
        request = {"left": left_id, "right": right_id, "prefer": prefer, "n": n}
        return Predicates.from_dict(self._connection.post("/predicate", request, progress))

    def sql(self, table: Any, sql: str) -> RemoteTable:
        """Run one SELECT (or WITH, PIVOT, SUMMARIZE, …) on a table, which is called `result` in the
        SQL; the result is kept on the server."""
        request = {"table": self._id(table), "sql": sql}
        return RemoteTable(self._connection, self._connection.post("/sql", request))

    # -- the lake as a graph -------------------------------------------------------------------

    def graph(self) -> RemoteGraph:
        """The join graph: figures about the whole lake, and the tables around a table."""
        return RemoteGraph(self._connection)

    def paths(self, table: Any, other_table: Any, k: int = 5, joins: int = 4) -> Paths:
        """Find paths of at most `joins` joins from one table to another: the `k` paths that keep
        the most rows of the first table, each with its SQL."""
        from lakejoin.paths.answer import Paths

        start, end = map(self._id, (table, other_table))
        request = {"table": start, "other_table": end, "k": k, "joins": joins}
        return Paths.from_dict(self._connection.post("/paths", request))

    # -- helpers -------------------------------------------------------------------------------

    def _fused_request(self, table: Any, on: ColumnSelection, k: int) -> Json:
        query_id = self._id(table)
        columns = column_fields(on, self._names(query_id))
        return {"table": query_id, "on": columns, "k": k, "by": "fused"}

    def _answer(self, request: Json) -> Answer:
        from lakejoin.search.answer import Answer

        return Answer.from_dict(self._connection.post("/search", request), self._values(request))

    def _fused(self, data: Json, request: Json | None) -> FusedAnswer:
        """Read an answer; without a request it is preliminary."""
        from lakejoin.ranking.answer import FusedAnswer

        values = self._values(request), self._values(request, miss=True)
        answer = FusedAnswer.from_dict(data, *values, final=request is not None)
        return answer if request is None else replace(answer, rest=partial(self._more, request))

    def _more(self, request: Json, start: int, k: int) -> FusedAnswer:
        """The next results of a search."""
        request = {**request, "start": start, "k": k}
        return self._fused(self._connection.post("/search", request), request)

    def _values(
        self, request: Json | None, miss: bool | None = None
    ) -> Callable[[int], RemoteValues]:
        """What lists the values of a result, by its rank."""
        search = None if request is None else without_none(request)
        return lambda rank: RemoteValues(self._connection, search, rank, miss)

    def _id(self, table: Any) -> str:
        return table_id(self._connection, table)

    def _names(self, table: str) -> Names:
        return lambda: self.table(table).names


MAX_VALUES = 1_000  # the most values that a server returns


@dataclass(frozen=True)
class RemoteValues:
    """Lists the values of a result of a search on a server; not of a preliminary one, which has no
    search."""

    connection: Connection
    search: Json | None
    rank: int
    miss: bool | None = None

    def matches(self, limit: int | None) -> pa.Table:
        """The values that match, as many as the server returns."""
        return _to_rows(self._explain(limit)["matches"])

    def unmatched(self, limit: int | None) -> pa.Table:
        """The query values without a match, as many as the server returns."""
        return _to_rows(self._explain(limit)["unmatched"])

    def sql(self) -> str:
        """DuckDB SQL that joins the query table with the result."""
        answer = self._explain(1)
        if not isinstance(answer["sql"], str):
            raise InputError(f"the join with {answer['result']['table']} cannot be written in SQL")
        return answer["sql"]

    def _explain(self, limit: int | None) -> Json:
        if self.search is None:
            raise InputError("this answer is preliminary: use the final one")
        body = {"rank": self.rank, "limit": limit or MAX_VALUES, "miss": self.miss}
        return self.connection.post("/explain", {"search": self.search, **body})


def _to_rows(items: list[Json]) -> pa.Table:
    """JSON objects as rows; the values of a composite key get a column each."""
    import pyarrow as pa

    rows = [
        {**item["value"], **{name: cell for name, cell in item.items() if name != "value"}}
        if isinstance(item.get("value"), dict)
        else item
        for item in items
    ]
    return pa.Table.from_pylist(rows)


@dataclass(frozen=True, eq=False, repr=False)
class RemoteJoin(PrintedReport):
    """How two tables join; false if no join was found.

    The figures of `lakejoin join --json` are attributes (`rows`, `left_joined`, `sure`, …). `run`
    makes the joined table on the server; `table`, `to_pandas` and `to_polars` download it.

    >>> with lakejoin.connect(server.url) as lake:
    ...     lake.join("mine.csv", "cities.csv", on="city=name").table().num_rows
    4
    """

    fields: Mapping[str, Any]
    _run: Callable[[Sequence[str] | None], RemoteTable]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "fields" or name not in self.fields:
            raise AttributeError(f"a join has no {name}")
        value = self.fields[name]
        return tuple(value) if isinstance(value, list) else value

    def __bool__(self) -> bool:
        return bool(self.fields.get("found", True))

    def __len__(self) -> int:
        return int(self.fields["rows"]) if self else 0

    def run(self, columns: Sequence[str] | None = None) -> RemoteTable:
        """Make the joined table, or some of its columns, and keep it on the server; raises `NoJoin`
        if no join was found."""
        if not self:
            raise NoJoin(self.fields["why"])
        return self._run(columns)

    def table(self) -> pa.Table:
        """The joined table as a `pyarrow.Table`."""
        return self.run().to_arrow()

    def to_pandas(self) -> Any:
        """The joined table as a `pandas.DataFrame`."""
        return self.run().to_pandas()

    def to_polars(self) -> Any:
        """The joined table as a `polars.DataFrame`."""
        return self.run().to_polars()

    def to_dict(self) -> dict[str, Any]:
        """The join with the keys of `lakejoin join --json`."""
        return dict(self.fields)

    def report(self) -> Report:
        """What the join shows: its steps, with examples, and how many rows match."""
        from lakejoin.joins.join_report import describe_join

        return describe_join(self.fields)


@dataclass(frozen=True)
class RemoteGraph:
    """The join graph of a server's lake."""

    connection: Connection = field(repr=False)

    def statistics(self) -> GraphStatistics:
        """Figures about the whole graph; an error if the index has no join graph."""
        from lakejoin.graph.graph_statistics import GraphStatistics

        return GraphStatistics.from_dict(self.connection.get("/graph"))

    def around(self, table: Any, hops: int = 1, limit: int | None = None) -> Neighborhood:
        """The tables within `hops` joins of a table, at most `limit`; they are searched for if the
        index has no join graph or the table is not in the lake."""
        from lakejoin.graph.neighborhood import Neighborhood

        start = table_id(self.connection, table)
        answer = self.connection.get("/graph", table=start, hops=hops, limit=limit)
        return Neighborhood.from_dict(answer)
