"""A lake on a server: `connect` and `RemoteLake`, with the methods of an opened index."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, overload

from lakejoin.client.connection import (
    Address,
    Connection,
    Json,
    Names,
    Progress,
    aggregate_fields,
    column_fields,
    pair_fields,
    refuse_options,
    tau_field,
)
from lakejoin.client.lake_answers import Paths, Predicates, RemoteGraph, RemoteJoin, UnionAnswer
from lakejoin.client.remote_table import RemoteTable, table_id, upload
from lakejoin.client.search_answers import Answer, Answers, Explain, FusedAnswer
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.search.answer import Failed
    from lakejoin.search.query_columns import ColumnSelection

_PAGE = 1_000  # tables per request
_VALUES = 1_000  # the most values that a server returns
_THREADS = 4  # concurrent requests


def connect(url: str, token: str | None = None, *, timeout: float | None = 600) -> RemoteLake:
    """Connect to a server (`lakejoin serve`); returns a lake with the methods of an opened index.

    `url` is the address that the server prints. A server that is open to other machines requires a
    `token`. `timeout` is how many seconds to wait for an answer (None: forever); the server has its
    own limits.

    >>> lake = lakejoin.connect("http://127.0.0.1:8765")  # doctest: +SKIP
    >>> lake.search("mine.csv")[0].table  # doctest: +SKIP
    """
    connection = Connection(Address.of(url, token), timeout)
    return RemoteLake(connection, connection.get("/info"))


class RemoteLake:
    """A lake on a server. All work is done on the server; local tables are uploaded.

    A `table` is the path of a local file (or `file#part`), the name of a table of the lake, a
    `RemoteTable`, or a frame (pandas, polars, Arrow, DuckDB, a mapping of columns, a list of
    values). To use a local table several times, upload it once: `mine = lake.upload("mine.csv")`.
    """

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
        data = self._connection.get("/table", table=table_id(self._connection, _named(name)))
        return RemoteTable(self._connection, data)

    def upload(self, table: Any, name: str | None = None) -> RemoteTable:
        """Upload a file or a frame, under its own name or another."""
        return upload(self._connection, table, name)

    def skipped(self) -> NoReturn:
        """Not supported by servers; use `lakejoin.open(…).skipped()` on the index."""
        raise InputError(
            "servers do not list skipped files: open the index with lakejoin.open(…).skipped()"
        )

    # -- searching -----------------------------------------------------------------------------

    @overload
    def search(
        self,
        table: Any,
        on: ColumnSelection = ...,
        k: int | None = ...,
        by: Literal["fused"] = ...,
        *,
        others: bool = ...,
    ) -> FusedAnswer: ...
    @overload
    def search(
        self,
        table: Any,
        on: Literal["*"],
        k: int | None = ...,
        *,
        by: str,
        min: float | None = ...,
        others: bool = ...,
        tau: float | str | None = ...,
        within: float | str | None = ...,
    ) -> Answers: ...
    @overload
    def search(
        self,
        table: Any,
        on: ColumnSelection = ...,
        k: int | None = ...,
        *,
        by: str,
        min: float | None = ...,
        others: bool = ...,
        tau: float | str | None = ...,
        within: float | str | None = ...,
    ) -> Answer: ...
    def search(
        self,
        table: Any,
        on: ColumnSelection = None,
        k: int | None = None,
        by: str = "fused",
        min: float | None = None,
        others: bool = False,
        verified: bool = True,
        algorithm: str = "auto",
        initial: str | int | None = None,
        *,
        tau: float | str | None = None,
        encoder: Any = None,
        measure: str | None = None,
        within: float | str | None = None,
        metric: str | None = None,
    ) -> Answer | Answers | FusedAnswer:
        """Find the tables of the lake that join with `table`, best first; with a single engine,
        find the columns that join with one column. Like `Lake.search`, but servers do not support
        `verified`, `algorithm`, `initial`, `encoder`, `measure` and `metric`.

        >>> lake.search("mine.csv")[0].table  # doctest: +SKIP
        >>> lake.search("mine.csv", "city", by="overlap", k=5)  # doctest: +SKIP
        """
        refuse_options(
            verified=None if verified else False,
            algorithm=None if algorithm == "auto" else algorithm,
            initial=initial,
            encoder=encoder,
            measure=measure,
            metric=metric,
        )
        query_id = table_id(self._connection, table)
        options = {"k": k, "by": by, "min": min, "others": others, "within": within}
        options["tau"] = tau_field(tau)
        if on == "*" and by != "fused":
            columns = [column.name for column in self.table(query_id).columns() if column.indexed]
            requests = ({"table": query_id, "on": [name], **options} for name in columns)
            return Answers(map(self._answer, requests))
        request = {"table": query_id, "on": column_fields(on, self._names(query_id)), **options}
        if by == "fused":
            return self._fused(self._connection.post("/search", request), request)
        return self._answer(request)

    def search_progressively(
        self, table: Any, on: ColumnSelection = None, k: int | None = None
    ) -> Iterator[FusedAnswer]:
        """Yield the answers of a fused search as they improve; the last one is `final`. Closing
        the iterator stops the search on the server.

        >>> for answer in lake.search_progressively("mine.csv"):  # doctest: +SKIP
        ...     print(answer[:3])
        """
        query_id = table_id(self._connection, table)
        request = {
            "table": query_id,
            "on": column_fields(on, self._names(query_id)),
            "by": "fused",
            "k": k,
        }
        for name, data in self._connection.events("/search", request):
            if name == "partial":
                yield FusedAnswer.of({**data, "final": False})
            elif name == "done":
                yield self._fused(data, request)

    def search_many(
        self,
        queries: Iterable[Any],
        on: ColumnSelection = None,
        threads: int | None = None,
        **options: Any,
    ) -> Iterator[Answer | Answers | FusedAnswer | Failed]:
        """Search for many queries with several threads; yields the answers in order.

        A query is a table as for `search`, or a pair of a table and its column (or columns). A
        query that fails yields a `Failed` with its error.
        """
        from lakejoin.search.answer import search_each, split_query
        from lakejoin.search.query_columns import to_column_list

        on = to_column_list(on)  # an iterator can be read only once, and every query needs it

        def search_one(query: Any) -> Answer | Answers | FusedAnswer:
            table, columns = split_query(query, on)
            answer: Answer | Answers | FusedAnswer = self.search(table, columns, **options)
            return answer

        def name_of(query: Any) -> tuple[str, ColumnSelection]:
            table, columns = split_query(query, on)
            return _query_name(table), columns

        return search_each(queries, search_one, name_of, threads or _THREADS)

    def union(self, table: Any, k: int | None = None) -> UnionAnswer:
        """Find the tables of the lake whose rows could be appended to `table`, best first."""
        query_id = table_id(self._connection, table)
        return UnionAnswer.of(self._connection.post("/union", {"table": query_id, "k": k}))

    # -- joining -------------------------------------------------------------------------------

    def join(
        self,
        left: Any,
        right: Any,
        on: Any = None,
        how: str = "inner",
        by: str | None = None,
        *,
        one_to_one: bool = False,
        aggregate: str | Sequence[str] | Mapping[str, str] = (),
        precision: float | None = None,
        within: float | str | None = None,
        tau: float | None = None,
        columns: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> RemoteJoin:
        """Find out how two tables join; returns a `RemoteJoin`, which is false if no join was
        found. The options are those of `lakejoin.join`; `columns` selects columns of the result.

        >>> lake.join("mine.csv", "airports.csv").run().to_pandas()  # doctest: +SKIP
        """
        left_id, right_id = (table_id(self._connection, table) for table in (left, right))
        request = {
            "right": right_id,
            "on": pair_fields(on, self._names(left_id), self._names(right_id)),
            "how": how,
            "by": by,
            "one_to_one": one_to_one or None,
            "aggregate": aggregate_fields(aggregate),
            "precision": precision,
            "within": within,
            "tau": tau,
            "columns": None if columns is None else list(columns),
        }
        data = self._connection.post("/join", {"left": left_id, **request}, progress)
        options = {name: value for name, value in request.items() if value is not None}
        step = {"kind": "join", **options}
        return RemoteJoin.of(data, _run=lambda: self._run_step(left_id, step))

    def predicates(
        self,
        left: Any,
        right: Any,
        *,
        prefer: str = "compact",
        n: int = 5,
        progress: Progress | None = None,
    ) -> Predicates:
        """Find the best predicates (columns to equate) for a preference: `coverage`, `groups`,
        `compact`, `balanced` or `strength`."""
        left_id, right_id = (table_id(self._connection, table) for table in (left, right))
        request = {"left": left_id, "right": right_id, "prefer": prefer, "n": n}
        return Predicates.of(self._connection.post("/predicate", request, progress))

    def sql(self, table: Any, sql: str) -> RemoteTable:
        """Run one SELECT (or WITH, PIVOT, SUMMARIZE, …) on a table, which is called `result` in the
        SQL; the result is kept on the server.

        >>> lake.sql("airports.csv", "select count(*) from result").to_arrow()  # doctest: +SKIP
        """
        request = {"table": table_id(self._connection, table), "sql": sql}
        return RemoteTable(self._connection, self._connection.post("/sql", request))

    # -- the lake as a graph -------------------------------------------------------------------

    def graph(self) -> RemoteGraph:
        """The join graph: figures about the whole lake, and the tables around a table."""
        return RemoteGraph(self._connection)

    def paths(self, table: Any, other_table: Any, k: int = 5, joins: int = 4) -> Paths:
        """Find paths of at most `joins` joins from one table to another: the `k` paths that keep
        the most rows of the first table, each with its SQL."""
        start, end = (table_id(self._connection, side) for side in (table, other_table))
        request = {"table": start, "other_table": end, "k": k, "joins": joins}
        return Paths.of(self._connection.post("/paths", request))

    # -- helpers -------------------------------------------------------------------------------

    def _answer(self, request: Json) -> Answer:
        return Answer.of(self._connection.post("/search", request), explain=self._explain(request))

    def _fused(self, data: Json, request: Json) -> FusedAnswer:
        both = {
            "explain": self._explain(request),
            "explain_miss": self._explain(request, miss=True),
        }
        return FusedAnswer.of(data, **both)

    def _explain(self, request: Json, miss: bool | None = None) -> Explain:
        search = {name: value for name, value in request.items() if value is not None}

        def explain(rank: int, limit: int | None) -> Json:
            body = {"search": search, "rank": rank, "limit": limit or _VALUES, "miss": miss}
            return self._connection.post("/explain", body)

        return explain

    def _names(self, table: str) -> Names:
        return lambda: self.table(table).names

    def _run_step(self, start: str, step: Json) -> RemoteTable:
        data = self._connection.post("/chains", {"start": start, "steps": [step]})
        return RemoteTable(self._connection, data["tables"][-1])


def _named(name: str) -> str:
    """The id of a table on the server, never a local file."""
    return name if name.startswith(("lake:", "upload:", "result:")) else f"lake:{name}"


def _query_name(table: Any) -> str:
    if isinstance(table, RemoteTable):
        return table.name
    return os.fspath(table) if isinstance(table, str | os.PathLike) else "my_table"
