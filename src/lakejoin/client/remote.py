"""A lake on a server, as a Python user has it in hand: the methods of an opened index."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, overload

from lakejoin.client.asking import (
    Names,
    aggregate_asked,
    columns_asked,
    pairs_asked,
    refuse,
    tau_asked,
)
from lakejoin.client.connection import Address, Connection, Json, Progress
from lakejoin.client.join_answers import Predicates, RemoteJoin
from lakejoin.client.lake_answers import Paths, RemoteGraph, UnionAnswer
from lakejoin.client.remote_table import RemoteTable
from lakejoin.client.search_answers import Answer, Answers, Explain, FusedAnswer
from lakejoin.client.sending import table_id, upload
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.search.answer import Failed
    from lakejoin.search.choice import On

_PAGE = 1_000  # tables of a list that are asked for at once
_VALUES = 1_000  # that are asked for where all are wanted: a server hands out no more
_THREADS = 4  # requests under way at once


def connect(url: str, token: str | None = None, *, timeout: float | None = 600) -> RemoteLake:
    """The lake that a server serves (`lakejoin serve`), with the methods of an opened index.

    `url` is the address as the server prints it. A server that others can reach asks for a `token`.
    `timeout` is how many seconds to wait for an answer, None without end; the server has limits of
    its own.

    >>> lake = lakejoin.connect("http://127.0.0.1:8765")  # doctest: +SKIP
    >>> lake.search("mine.csv")[0].table  # doctest: +SKIP
    """
    connection = Connection(Address.of(url, token), timeout)
    return RemoteLake(connection, connection.get("/info"))


class RemoteLake:
    """A lake on a server. What is asked is answered there; tables that are here are brought there.

    Where a method takes a `table`, it is the path of a file here (or `file#part`), the name of a
    table of the lake, a `RemoteTable`, or a frame (pandas, polars, Arrow, DuckDB, a mapping of
    columns, a list of values). A table that is used more than once is better brought there once:
    `mine = lake.upload("mine.csv")`.
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
        """A copy, or one that was pickled, connects again."""
        return connect, (self.url, self._connection.address.token)

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._connection.url

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    # -- what is there -------------------------------------------------------------------------

    def info(self) -> Json:
        """The figures of the index, with the keys of `lakejoin info --json`, and the limits of the
        server."""
        self._info = self._connection.get("/info")
        return self._info

    def tables(self, pattern: str | None = None) -> list[RemoteTable]:
        """The tables by name: all, those that fit a glob, or those whose name contains a text."""
        found: list[RemoteTable] = []
        while True:
            asked = {"pattern": pattern, "begin": len(found), "limit": _PAGE}
            told = self._connection.get("/tables", **asked)
            found += [RemoteTable(self._connection, one) for one in told["tables"]]
            if not told["tables"] or len(found) >= told["total"]:
                return found

    def table(self, name: str) -> RemoteTable:
        """The table of that name, or of an id of the server's (`upload:…`, `result:…`)."""
        told = self._connection.get("/table", table=table_id(self._connection, _named(name)))
        return RemoteTable(self._connection, told)

    def upload(self, table: Any, name: str | None = None) -> RemoteTable:
        """Brings a file or a frame to the server, under its own name or another."""
        return upload(self._connection, table, name)

    def skipped(self) -> NoReturn:
        """Refused: a server tells only of tables; the index knows what was skipped."""
        raise InputError(
            "a server does not tell which files were skipped: ask its index, "
            "lakejoin.open(…).skipped()"
        )

    # -- searching -----------------------------------------------------------------------------

    @overload
    def search(
        self,
        table: Any,
        on: On = ...,
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
        on: On = ...,
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
        on: On = None,
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
        method: str | None = None,
        measure: str | None = None,
        within: float | str | None = None,
        metric: str | None = None,
    ) -> Answer | Answers | FusedAnswer:
        """The tables of the lake that join with `table`, the best first; or, by one engine, the
        columns that do. As `Lake.search`, but that a server takes no `verified`, `algorithm`,
        `initial`, `encoder`, `method`, `measure` and `metric`.

        >>> lake.search("mine.csv")[0].table  # doctest: +SKIP
        >>> lake.search("mine.csv", "city", by="overlap", k=5)  # doctest: +SKIP
        """
        refuse(
            verified=None if verified else False,
            algorithm=None if algorithm == "auto" else algorithm,
            initial=initial,
            encoder=encoder,
            method=method,
            measure=measure,
            metric=metric,
        )
        mine = table_id(self._connection, table)
        options = {"k": k, "by": by, "min": min, "others": others, "within": within}
        options["tau"] = tau_asked(tau)
        if on == "*" and by != "fused":
            columns = [one.name for one in self.table(mine).columns() if one.indexed]
            asked = ({"table": mine, "on": [name], **options} for name in columns)
            return Answers(self._answer(one) for one in asked)
        asked_once = {"table": mine, "on": columns_asked(on, self._names(mine)), **options}
        if by == "fused":
            return self._fused(self._connection.post("/search", asked_once), asked_once)
        return self._answer(asked_once)

    def search_progressively(
        self, table: Any, on: On = None, k: int | None = None
    ) -> Iterator[FusedAnswer]:
        """The answers of a fused search as they get better; the last one is `final`. To stop
        taking them stops the search on the server.

        >>> for answer in lake.search_progressively("mine.csv"):  # doctest: +SKIP
        ...     print(answer[:3])
        """
        mine = table_id(self._connection, table)
        asked = {"table": mine, "on": columns_asked(on, self._names(mine)), "by": "fused", "k": k}
        for name, told in self._connection.events("/search", asked):
            if name == "partial":
                yield FusedAnswer.of({**told, "final": False})
            elif name == "done":
                yield self._fused(told, asked)

    def search_many(
        self, queries: Iterable[Any], on: On = None, threads: int | None = None, **options: Any
    ) -> Iterator[Answer | Answers | FusedAnswer | Failed]:
        """The answers for many queries, in their order, asked for by several threads.

        A query is a table as `search` takes it, or a pair of a table and its column (or columns).
        One that cannot be answered gives a `Failed` with its error.
        """
        from lakejoin.search.choice import in_order
        from lakejoin.search.many import each, table_and_columns

        on = in_order(on)  # once, for every query

        def one(query: Any) -> Answer | Answers | FusedAnswer:
            table, columns = table_and_columns(query, on)
            found: Answer | Answers | FusedAnswer = self.search(table, columns, **options)
            return found

        def name_of(query: Any) -> tuple[str, On]:
            table, columns = table_and_columns(query, on)
            return _query_name(table), columns

        return each(queries, one, name_of, threads or _THREADS)

    def union(self, table: Any, k: int | None = None) -> UnionAnswer:
        """The tables of the lake whose rows could be appended to `table`, the best first."""
        mine = table_id(self._connection, table)
        return UnionAnswer.of(self._connection.post("/union", {"table": mine, "k": k}))

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
        """How two tables join; a `RemoteJoin` that is false where none was found. Options are those
        of `lakejoin.join`; `columns` are those of the result that are kept.

        >>> lake.join("mine.csv", "airports.csv").run().to_pandas()  # doctest: +SKIP
        """
        mine, theirs = (table_id(self._connection, one) for one in (left, right))
        asked = {
            "right": theirs,
            "on": pairs_asked(on, self._names(mine), self._names(theirs)),
            "how": how,
            "by": by,
            "one_to_one": one_to_one or None,
            "aggregate": aggregate_asked(aggregate),
            "precision": precision,
            "within": within,
            "tau": tau,
            "columns": None if columns is None else list(columns),
        }
        told = self._connection.post("/join", {"left": mine, **asked}, progress)
        step = {"kind": "join", **{name: one for name, one in asked.items() if one is not None}}
        return RemoteJoin.of(told, _run=lambda: self._chained(mine, step))

    def predicates(
        self,
        left: Any,
        right: Any,
        *,
        prefer: str = "compact",
        n: int = 5,
        progress: Progress | None = None,
    ) -> Predicates:
        """Which columns should be equated? The best predicates for what is wanted of the join:
        `coverage`, `groups`, `compact`, `balanced` or `strength`."""
        mine, theirs = (table_id(self._connection, one) for one in (left, right))
        asked = {"left": mine, "right": theirs, "prefer": prefer, "n": n}
        return Predicates.of(self._connection.post("/predicate", asked, progress))

    def sql(self, table: Any, sql: str) -> RemoteTable:
        """What one SELECT (or WITH, PIVOT, SUMMARIZE, …) makes of a table, which is called
        `result` in it; kept on the server.

        >>> lake.sql("airports.csv", "select count(*) from result").to_arrow()  # doctest: +SKIP
        """
        asked = {"table": table_id(self._connection, table), "sql": sql}
        return RemoteTable(self._connection, self._connection.post("/sql", asked))

    # -- the lake as a graph -------------------------------------------------------------------

    def graph(self) -> RemoteGraph:
        """The join graph: figures of the whole lake, and what lies around a table."""
        return RemoteGraph(self._connection)

    def paths(self, table: Any, other_table: Any, k: int = 5, joins: int = 4) -> Paths:
        """How to get from one table to another by at most so many `joins`: the `k` paths that most
        rows of the first table survive, each with its SQL."""
        ends = {"table": table, "other_table": other_table}
        named = {name: table_id(self._connection, one) for name, one in ends.items()}
        asked = {**named, "k": k, "joins": joins}
        return Paths.of(self._connection.post("/paths", asked))

    # -- beneath -------------------------------------------------------------------------------

    def _answer(self, asked: Json) -> Answer:
        return Answer.of(self._connection.post("/search", asked), explain=self._explain(asked))

    def _fused(self, told: Json, asked: Json) -> FusedAnswer:
        both = {"explain": self._explain(asked), "explain_miss": self._explain(asked, miss=True)}
        return FusedAnswer.of(told, **both)

    def _explain(self, asked: Json, miss: bool | None = None) -> Explain:
        search = {name: one for name, one in asked.items() if one is not None}

        def explain(rank: int, limit: int | None) -> Json:
            body = {"search": search, "rank": rank, "limit": limit or _VALUES, "miss": miss}
            return self._connection.post("/explain", body)

        return explain

    def _names(self, table: str) -> Names:
        return lambda: self.table(table).names

    def _chained(self, start: str, step: Json) -> RemoteTable:
        told = self._connection.post("/chains", {"start": start, "steps": [step]})
        return RemoteTable(self._connection, told["tables"][-1])


def _named(name: str) -> str:
    """A name of a table on the server, and never of a file here."""
    return name if name.startswith(("lake:", "upload:", "result:")) else f"lake:{name}"


def _query_name(table: Any) -> str:
    if isinstance(table, RemoteTable):
        return table.name
    return os.fspath(table) if isinstance(table, str | os.PathLike) else "my_table"
