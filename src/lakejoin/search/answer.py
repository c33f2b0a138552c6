"""The answers of a search: sequences of results that print, convert and narrow; and many queries
in a thread pool."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from lakejoin.engines.hits import Counters
from lakejoin.engines.limits import check_k, check_share
from lakejoin.errors import InputError, LakejoinError
from lakejoin.model import Array
from lakejoin.render.answer_base import AnswerBase, Detachable
from lakejoin.search.answer_report import MAX_RESULTS, answer_report
from lakejoin.search.query_columns import ColumnSelection, to_column_list
from lakejoin.search.result import Result, ValueSource
from lakejoin.search.tau_choice import Reach, TauCounts

if TYPE_CHECKING:
    from lakejoin.engines.composite.hits import KeyCounters
    from lakejoin.engines.meaning.hits import VectorCounters
    from lakejoin.render.report import Report
    from lakejoin.search.evidence import SearchedValues


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Detachable, AnswerBase[Result]):
    """The columns that join with one query, or the tables that join with a composite key; best
    first.

    A sequence of `Result`: `answer[0]`, `len(answer)`, and slices, which are answers again. It
    narrows without a new search: `answer.at_least(0.8)`, `answer.top(3)`.

    `seconds` is how long the caller waited: reading the table, searching and gathering evidence.
    With several answers for one table, each counts from the end of the previous one, so they add
    up to the total.

    For a search by meaning or distance, `tau` or `within` is the largest distance of a match and
    `measure` what was counted; `taus` is how many columns would qualify at each tau, if tau was
    chosen automatically. Otherwise these are None.

    >>> answer = lake.overlap("mine.csv", on="city")
    >>> len(answer), answer[0].table, answer.at_least(0.5)[-1].table
    (3, 'cities.csv', 'cities.csv')
    """

    query: SearchedValues
    results: tuple[Result, ...]
    by: str = "overlap"
    k: int | None = None
    min: float | None = None
    counters: Counters | KeyCounters | VectorCounters = field(default_factory=Counters)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    reach: Reach | None = None

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], source: Callable[[int], ValueSource] | None = None
    ) -> Answer:
        """Read the JSON of `to_dict`; `source` lists the values of a result, by rank. Without it,
        `matches`, `unmatched` and `sql` of the results raise an error."""
        from lakejoin.engines.composite.hits import KeyCounters
        from lakejoin.engines.meaning.hits import VectorCounters

        asked, counted = data["query"], data["counters"]
        names = tuple(asked["columns"])
        kinds = (Counters, KeyCounters, VectorCounters)
        kind = next(
            kind for kind in kinds if {count.name for count in fields(kind)} == set(counted)
        )
        results = (
            Result.from_dict(result, names, source(result["rank"]) if source else None)
            for result in data["results"]
        )
        return cls(
            DetachedQuery(asked["table"], names, asked["rows"], asked["size"]),
            tuple(results),
            counters=kind(**counted),
            notes=tuple(data["notes"]),
            reach=Reach.from_dict(data) if data.get("measure") else None,
            **{name: data[name] for name in ("by", "k", "min", "seconds")},
        )

    @property
    def tau(self) -> float | None:
        """The largest distance of a match by meaning, as a share of the largest possible one."""
        return self.reach.tau if self.reach else None

    @property
    def within(self) -> str | None:
        """The largest distance of a match in a search by distance."""
        return self.reach.within if self.reach else None

    @property
    def measure(self) -> str | None:
        """`"hit"` if query values with a match were counted, `"all"` if all pairs were."""
        return self.reach.measure if self.reach else None

    @property
    def taus(self) -> TauCounts | None:
        """How many columns would qualify at each tau, if tau was chosen automatically."""
        return self.reach.taus if self.reach else None

    def at_least(self, containment: float) -> Answer:
        """The results that contain at least this share of the query's values.

        This only filters what was found; a note says so if the search may have left out columns
        that would qualify.
        """
        check_share(containment, "containment")
        enough = tuple(result for result in self.results if result.containment >= containment)
        answer = replace(self, results=enough)
        if self.min is not None and containment < self.min:
            return answer._noted(
                f"the search used min={self.min:g}: columns that contain less were not searched for"
            )
        if enough and len(enough) == len(self.results) == self.k:
            return answer._noted(
                f"the search stopped at k={self.k}: more columns may contain {containment:g}"
            )
        return answer

    def top(self, k: int) -> Answer:
        """The best `k` results."""
        check_k(k)
        answer = replace(self, results=self.results[:k])
        if self.k is not None and len(self.results) == self.k < k:
            return answer._noted(f"the search stopped at k={self.k}")
        return answer

    def _noted(self, sentence: str) -> Answer:
        return self if sentence in self.notes else replace(self, notes=(*self.notes, sentence))

    def to_dict(self) -> dict[str, Any]:
        """The answer as `lakejoin search --json` prints it."""
        columns = self.query.columns
        return {
            "query": {
                "table": self.query.table,
                "column": columns[0] if len(columns) == 1 else None,
                "columns": list(columns),
                "size": len(self.query),
                "rows": self.query.rows,
            },
            "by": self.by,
            "k": self.k,
            "min": self.min,
            **(self.reach.to_dict() if self.reach else {}),
            "results": [result.to_dict() for result in self.results],
            "counters": asdict(self.counters),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def to_arrow(self) -> pa.Table:
        """One row per result with the keys of `Result.to_dict`; `examples` become two columns."""
        rows = [result.to_dict() for result in self.results]
        for row in rows:
            examples = row.pop("examples")
            row.update({f"{kind}_examples": texts for kind, texts in examples.items()})
        return pa.Table.from_pylist(rows, _schema(near=self.reach is not None))

    def report(self, limit: int | None = MAX_RESULTS) -> Report:
        """What the answer shows; beyond `limit` the results are only counted."""
        return answer_report(self, limit)


@dataclass(frozen=True, slots=True)
class DetachedQuery:
    """The query of an answer without its index: its names and sizes, without values."""

    table: str
    columns: tuple[str, ...]
    rows: int
    size: int
    counts: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64), compare=False)

    def __len__(self) -> int:
        return self.size

    def texts_of(self, positions: Array) -> list[pa.LargeStringArray]:
        del positions
        return []


class Answers(tuple[Answer, ...]):
    """The answers for several columns of one table, in column order.

    >>> [answer.query.column for answer in lake.overlap("mine.csv", on="*")]
    ['city', 'country', 'visits']
    """

    __slots__ = ()
    error = None

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "\n".join(answer._repr_html_() for answer in self)

    def to_dict(self) -> dict[str, Any]:
        """A dict with `answers`, a list of `Answer.to_dict()`."""
        return {"answers": [answer.to_dict() for answer in self]}


@dataclass(frozen=True, slots=True)
class Failed:
    """A query of a batch that failed, and why; it is falsy.

    >>> (failed,) = lake.search_many(["missing.csv"])
    >>> failed.table, type(failed.error).__name__
    ('missing.csv', 'UnknownTable')
    """

    table: str
    on: ColumnSelection
    error: LakejoinError

    def __bool__(self) -> bool:
        return False


def _schema(near: bool) -> pa.Schema:
    text, whole, share = pa.string(), pa.int64(), pa.float64()
    return pa.schema(
        {
            "rank": whole,
            "table": text,
            "columns": pa.list_(text),
            "matched": whole,
            "containment": share,
            "query_size": whole,
            "column_size": whole,
            "row_coverage": share,
            "fan_out": share,
            "matched_examples": pa.list_(text),
            "unmatched_examples": pa.list_(text),
            "copy": text,
            "estimate": share,
            "error": share,
            "runner_up": pa.struct({"columns": pa.list_(text), "matched": whole}),
            **({"pairs": whole, "distance": share} if near else {}),
        }
    )


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

    def search_or_fail(query: Any) -> Answered | Failed:
        try:
            return search(query)
        except LakejoinError as problem:
            return Failed(*name_of(query), problem)

    return _run_each(queries, search_or_fail, threads or os.cpu_count() or 1)


def _run_each(
    queries: Iterable[Any], search: Callable[[Any], Answered], threads: int
) -> Iterator[Answered]:
    pending: deque[Future[Answered]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="lakejoin-search") as pool:
        try:
            for query in queries:
                pending.append(pool.submit(search, query))
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
