"""A lake on a server: `connect` and `RemoteLake`, with the methods of an opened index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias

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
)
from lakejoin.client.remote_answers import (
    PreliminaryValues,
    RemoteGraph,
    RemoteJoin,
    RemoteValues,
)
from lakejoin.client.remote_table import RemoteTable, table_id, upload
from lakejoin.errors import InputError
from lakejoin.joins.options import MatchOptions, aggregate_functions
from lakejoin.lake_search import check_column_count, distance_options, search_method
from lakejoin.search.options import DEFAULT_K, ByMeaning, SearchOptions, VectorDistance

if TYPE_CHECKING:
    from lakejoin.joins.predicates.join_predicate import Predicates
    from lakejoin.paths.answer import Paths
    from lakejoin.ranking.answer import FusedAnswer
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.search.query_columns import ColumnSelection
    from lakejoin.union.answer import UnionAnswer

    SearchAnswer: TypeAlias = Answer | Answers | FusedAnswer

_PAGE = 1_000  # tables per request
_THREADS = 4  # concurrent requests


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


class RemoteLake:
    """A lake on a server. All work is done on the server; local tables are uploaded.

    A `table` is the path of a local file (or `file#part`), the name of a table of the lake, a
    `RemoteTable`, or a frame (pandas, polars, Arrow, DuckDB, a mapping of columns, a list of
    values). To use a local table several times, upload it once: `mine = lake.upload("mine.csv")`.

    >>> with lakejoin.connect(server.url) as lake:
    ...     lake.overlap("mine.csv", on="city")[0].table
    'cities.csv'
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

    def search(self, table: Any, on: ColumnSelection = None, k: int = DEFAULT_K) -> FusedAnswer:
        """Find the `k` tables of the lake that join best with `table`, like `Lake.search`."""
        query_id = table_id(self._connection, table)
        columns = column_fields(on, self._names(query_id))
        request = {"table": query_id, "on": columns, "k": k, "by": "fused"}
        return self._fused(self._connection.post("/search", request), request)

    def overlap(
        self,
        table: Any,
        on: ColumnSelection = None,
        k: int = DEFAULT_K,
        *,
        min_share: float | None = None,
        skip_copies: bool = False,
        algorithm: str = "auto",
    ) -> Answer | Answers:
        """Find the columns that share the most values with a column, like `Lake.overlap`; servers
        choose the algorithm."""
        options = SearchOptions("overlap", k, min_share, skip_copies, algorithm=algorithm)
        return self._search_columns(table, on, options, is_key=False)

    def containment(
        self,
        table: Any,
        on: ColumnSelection = None,
        *,
        min_share: float | None = None,
        k: int | None = None,
        skip_copies: bool = False,
        verify: bool = True,
    ) -> Answer | Answers:
        """Find every column that contains enough of a column's values, like `Lake.containment`;
        servers always verify."""
        options = SearchOptions("containment", k, min_share, skip_copies, verify)
        return self._search_columns(table, on, options, is_key=False)

    def composite(
        self,
        table: Any,
        on: ColumnSelection,
        k: int | None = DEFAULT_K,
        *,
        min_share: float | None = None,
        skip_copies: bool = False,
        initial: str | int | None = None,
    ) -> Answer:
        """Find the tables with the most combinations of several columns, like `Lake.composite`;
        servers choose the initial column."""
        by = "containment" if k is None else "overlap"
        options = SearchOptions(by, k, min_share, skip_copies, initial=initial)
        answer = self._search_columns(table, on, options, is_key=True)
        assert not isinstance(answer, tuple), "a key has one answer"
        return answer

    def similar(
        self,
        table: Any,
        on: ColumnSelection = None,
        k: int | None = None,
        *,
        tau: float | str | None = None,
        measure: str = "hit",
        min_share: float | None = None,
        skip_copies: bool = False,
    ) -> Answer | Answers:
        """Find text columns of similar meaning or spelling, like `Lake.similar`; servers count
        values that have a partner."""
        near = ByMeaning(tau, None, measure)
        options = SearchOptions("meaning", k, min_share, skip_copies, near=near)
        return self._search_columns(table, on, options, is_key=False)

    def nearby(
        self,
        table: Any,
        on: ColumnSelection = None,
        k: int | None = None,
        *,
        within: float | str | VectorDistance,
        measure: str = "hit",
        min_share: float | None = None,
        skip_copies: bool = False,
    ) -> Answer:
        """Find columns of close numbers, coordinates or vectors, like `Lake.nearby`; servers count
        values that have a partner, and compare vectors by L2."""
        near = distance_options(within, measure)
        options = SearchOptions("distance", k, min_share, skip_copies, near=near)
        answer = self._search_columns(table, on, options)
        assert not isinstance(answer, tuple), "points have one answer"
        return answer

    def search_with(self, table: Any, on: ColumnSelection, options: SearchOptions) -> SearchAnswer:
        """Search as `options` say, like `Lake.search_with`."""
        if options.by == "fused":
            return self.search(table, on, options.k or DEFAULT_K)
        return self._search_columns(table, on, options)

    def _search_columns(
        self, table: Any, on: ColumnSelection, options: SearchOptions, is_key: bool | None = None
    ) -> Answer | Answers:
        """Search with one engine; `is_key` says whether it takes a composite key or one column."""
        from lakejoin.search.answer import Answers

        fields = search_fields(options)
        query_id = table_id(self._connection, table)
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
        query_id = table_id(self._connection, table)
        request = {
            "table": query_id,
            "on": column_fields(on, self._names(query_id)),
            "by": "fused",
            "k": k,
        }
        for name, data in self._connection.events("/search", request):
            if name == "partial":
                yield self._fused(data, None)
            elif name == "done":
                yield self._fused(data, request)

    def search_many(
        self,
        queries: Iterable[Any],
        on: ColumnSelection = None,
        method: str | Callable[..., SearchAnswer] = "search",
        threads: int | None = None,
        **options: Any,
    ) -> Iterator[SearchAnswer | Failed]:
        """Search for many queries with several threads, like `Lake.search_many`; yields the answers
        in order."""
        from lakejoin.search.answer import search_each, split_query
        from lakejoin.search.query_columns import to_column_list

        search = search_method(self, method)
        on = to_column_list(on)  # an iterator can be read only once, and every query needs it

        def search_one(query: Any) -> SearchAnswer:
            answer: SearchAnswer = search(*split_query(query, on), **options)
            return answer

        def name_of(query: Any) -> tuple[str, ColumnSelection]:
            table, columns = split_query(query, on)
            return _query_name(table), columns

        return search_each(queries, search_one, name_of, threads or _THREADS)

    def union(self, table: Any, k: int = DEFAULT_K) -> UnionAnswer:
        """Find the tables of the lake whose rows could be appended to `table`, best first."""
        query_id = table_id(self._connection, table)
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
        left_id, right_id = (table_id(self._connection, table) for table in (left, right))
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
        step = {name: value for name, value in request.items() if value is not None}

        def run(columns: Sequence[str] | None) -> RemoteTable:
            chosen = {} if columns is None else {"columns": list(columns)}
            return self._run_step(left_id, {"kind": "join", **step, **chosen})

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
        """Find the best predicates (columns to equate) for a preference: `coverage`, `groups`,
        `compact`, `balanced` or `strength`."""
        from lakejoin.joins.predicates.join_predicate import Predicates

        left_id, right_id = (table_id(self._connection, table) for table in (left, right))
        request = {"left": left_id, "right": right_id, "prefer": prefer, "n": n}
        return Predicates.from_dict(self._connection.post("/predicate", request, progress))

    def sql(self, table: Any, sql: str) -> RemoteTable:
        """Run one SELECT (or WITH, PIVOT, SUMMARIZE, …) on a table, which is called `result` in the
        SQL; the result is kept on the server."""
        request = {"table": table_id(self._connection, table), "sql": sql}
        return RemoteTable(self._connection, self._connection.post("/sql", request))

    # -- the lake as a graph -------------------------------------------------------------------

    def graph(self) -> RemoteGraph:
        """The join graph: figures about the whole lake, and the tables around a table."""
        return RemoteGraph(self._connection)

    def paths(self, table: Any, other_table: Any, k: int = 5, joins: int = 4) -> Paths:
        """Find paths of at most `joins` joins from one table to another: the `k` paths that keep
        the most rows of the first table, each with its SQL."""
        from lakejoin.paths.answer import Paths

        start, end = (table_id(self._connection, side) for side in (table, other_table))
        request = {"table": start, "other_table": end, "k": k, "joins": joins}
        return Paths.from_dict(self._connection.post("/paths", request))

    # -- helpers -------------------------------------------------------------------------------

    def _answer(self, request: Json) -> Answer:
        from lakejoin.search.detached_answer import read_answer

        return read_answer(self._connection.post("/search", request), self._values(request))

    def _fused(self, data: Json, request: Json | None) -> FusedAnswer:
        """Read an answer; without a request it is preliminary."""
        from lakejoin.ranking.answer import FusedAnswer

        values = self._values(request), self._values(request, miss=True)
        return FusedAnswer.from_dict(data, *values, final=request is not None)

    def _values(
        self, request: Json | None, miss: bool | None = None
    ) -> Callable[[int], RemoteValues | PreliminaryValues]:
        """What lists the values of a result, by its rank."""
        if request is None:
            return lambda rank: PreliminaryValues()
        search = {name: value for name, value in request.items() if value is not None}
        return lambda rank: RemoteValues(self._connection, search, rank, miss)

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
