"""Many queries at once: a pool of threads, answers in the order of the queries."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from lakejoin.errors import InputError, LakejoinError
from lakejoin.search.answer import Failed
from lakejoin.search.choice import in_order

if TYPE_CHECKING:
    from lakejoin.search.choice import On

Result = TypeVar("Result")

_AHEAD = 4  # queries under way or waiting for their turn, per thread


def each(
    queries: Iterable[Any],
    search: Callable[[Any], Result],
    name_of: Callable[[Any], tuple[str, On]],
    threads: int | None = None,
) -> Iterator[Result | Failed]:
    """What `search` gives for each query; an error of ours is carried as `Failed`.

    Few queries are taken ahead of what has been handed out, so that an endless list of them, or a
    slow reader of the answers, takes no more memory.
    """
    if threads is not None and threads < 1:
        raise InputError(f"threads must be at least 1, not {threads}")
    return _each(queries, search, name_of, threads or os.cpu_count() or 1)


def _each(
    queries: Iterable[Any],
    search: Callable[[Any], Result],
    name_of: Callable[[Any], tuple[str, On]],
    threads: int,
) -> Iterator[Result | Failed]:
    def carried(query: Any) -> Result | Failed:
        try:
            return search(query)
        except LakejoinError as problem:
            return Failed(*name_of(query), problem)

    waiting: deque[Future[Result | Failed]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="lakejoin-search") as pool:
        try:
            for query in queries:
                waiting.append(pool.submit(carried, query))
                if len(waiting) >= threads * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def table_and_columns(query: Any, on: On) -> tuple[Any, On]:
    """A query as it was given: a table, or a pair of a table and its columns; else these are `on`.

    >>> table_and_columns(("b.csv", ["first", "last"]), None), table_and_columns("a.csv", "city")
    (('b.csv', ['first', 'last']), ('a.csv', 'city'))
    """
    return query if _is_pair(query) else (query, on)


def _is_pair(query: Any) -> bool:
    if not isinstance(query, tuple) or len(query) != 2:
        return False
    on = query[1]
    several = isinstance(on, list | tuple) and all(isinstance(one, str | int) for one in on)
    return isinstance(on, str | int | None | Mapping) or several or _is_array_of_names(on)


def _is_array_of_names(on: Any) -> bool:
    if not hasattr(on, "tolist") and not hasattr(on, "to_list"):
        return False
    names = in_order(on)  # else it may be a value of a table that is given as a tuple
    return isinstance(names, list) and bool(names) and all(isinstance(one, str) for one in names)
