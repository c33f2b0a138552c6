"""Run many queries in a thread pool; answers come in the order of the queries."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from lakejoin.errors import InputError, LakejoinError
from lakejoin.search.answer import Failed
from lakejoin.search.query_columns import to_column_list

if TYPE_CHECKING:
    from lakejoin.search.query_columns import ColumnSelection

Answered = TypeVar("Answered")

_AHEAD = 4  # queries in flight per thread


def search_each(
    queries: Iterable[Any],
    search: Callable[[Any], Answered],
    name_of: Callable[[Any], tuple[str, ColumnSelection]],
    threads: int | None = None,
) -> Iterator[Answered | Failed]:
    """Run `search` for each query; lakejoin's own errors become `Failed`.

    Only a few queries are read ahead, so that endless queries or a slow consumer take no memory.
    """
    if threads is not None and threads < 1:
        raise InputError(f"threads must be at least 1, not {threads}")
    return _run_each(queries, search, name_of, threads or os.cpu_count() or 1)


def _run_each(
    queries: Iterable[Any],
    search: Callable[[Any], Answered],
    name_of: Callable[[Any], tuple[str, ColumnSelection]],
    threads: int,
) -> Iterator[Answered | Failed]:
    def search_or_fail(query: Any) -> Answered | Failed:
        try:
            return search(query)
        except LakejoinError as problem:
            return Failed(*name_of(query), problem)

    pending: deque[Future[Answered | Failed]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="lakejoin-search") as pool:
        try:
            for query in queries:
                pending.append(pool.submit(search_or_fail, query))
                if len(pending) >= threads * _AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def split_query(query: Any, on: ColumnSelection) -> tuple[Any, ColumnSelection]:
    """Split a query into its table and columns; the columns default to `on`.

    >>> split_query(("b.csv", ["first", "last"]), None), split_query("a.csv", "city")
    (('b.csv', ['first', 'last']), ('a.csv', 'city'))
    """
    return query if _is_pair(query) else (query, on)


def _is_pair(query: Any) -> bool:
    if not isinstance(query, tuple) or len(query) != 2:
        return False
    on = query[1]
    several = isinstance(on, list | tuple) and all(isinstance(name, str | int) for name in on)
    return isinstance(on, str | int | None | Mapping) or several or _is_array_of_names(on)


def _is_array_of_names(on: Any) -> bool:
    if not hasattr(on, "tolist") and not hasattr(on, "to_list"):
        return False
    names = to_column_list(on)  # otherwise the tuple may be a table of its own
    return isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names)
